// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "process_environment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "colltune/vocabulary/error.h"
#include "daemon/temporary_folder.h"

namespace colltune {
namespace {

namespace fs = std::filesystem;

class ProcessEnvironment : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "colltune-root-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }
  void write(const fs::path& path, std::string_view text) const {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  fs::path root_;
};

TEST_F(ProcessEnvironment, SaysWhatItCannotSee) {
  EXPECT_EQ(read_operating_system(root_), "unknown");
  EXPECT_EQ(read_cpu_model(root_), "unknown");
  EXPECT_EQ(read_hypervisor(root_), "none");
  EXPECT_EQ(read_frequency_policy(root_), "not visible");
  EXPECT_EQ(read_fabric(root_), "none");
}

TEST_F(ProcessEnvironment, ReadsSystemFiles) {
  write("etc/os-release", "NAME=\"Debian\"\nPRETTY_NAME=\"Debian GNU/Linux 12 (bookworm)\"\n");
  write("proc/cpuinfo", "processor\t: 0\nmodel name\t: AMD EPYC\nflags\t\t: fpu hypervisor avx2\n");
  write("sys/class/dmi/id/sys_vendor", "QEMU\n");
  write("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance\n");
  write("sys/devices/system/cpu/cpu1/cpufreq/scaling_governor", "powersave\n");
  EXPECT_EQ(read_operating_system(root_), "Debian GNU/Linux 12 (bookworm)");
  EXPECT_EQ(read_cpu_model(root_), "AMD EPYC");
  EXPECT_EQ(read_hypervisor(root_), "QEMU");
  EXPECT_EQ(read_frequency_policy(root_), "performance+powersave");
}

TEST_F(ProcessEnvironment, CountsHardwareNicsThatAreUp) {
  for (const std::string nic : {"eth0", "eth1"}) {
    write("sys/class/net/" + nic + "/device/vendor", "0x15b3");
    write("sys/class/net/" + nic + "/operstate", "up\n");
    write("sys/class/net/" + nic + "/speed", "10000\n");
  }
  write("sys/class/net/eth2/device/vendor", "0x15b3");
  write("sys/class/net/eth2/operstate", "down\n");
  write("sys/class/net/docker0/operstate", "up\n");  // no device behind it
  write("sys/class/infiniband/mlx5_0/ports/1/state", "4: ACTIVE\n");
  write("sys/class/infiniband/mlx5_0/ports/1/link_layer", "InfiniBand\n");
  write("sys/class/infiniband/mlx5_0/ports/1/rate", "200 Gb/sec (4X HDR)\n");
  EXPECT_EQ(read_fabric(root_), "2x ethernet 10000 Mb/s, 1x infiniband 200 Gb/sec (4X HDR)");
}

TEST_F(ProcessEnvironment, RecordsMallocAsTheUserSetItOrAsPinned) {
  unsetenv("MALLOC_MMAP_THRESHOLD_");
  setenv("MALLOC_TRIM_THRESHOLD_", "1000000", 1);
  EXPECT_EQ(pin_malloc(), "mmap_threshold=131072 trim_threshold=1000000");
  unsetenv("MALLOC_TRIM_THRESHOLD_");
}

/// The variables of the tests, not there before and behind each.
class ProcessVariables : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name :
         {"NCCL_BUFFSIZE", "NCCL_ALGO", "NCCL_DEBUG", "UCX_TLS", "NCCL_HOSTID",
          "OMPI_MCA_btl_vader_eager_limit", "NCCL_TUNER_PLUGIN", "NCCL_CONF_FILE"})
      unsetenv(name);
  }
};

TEST_F(ProcessVariables, ThoseThatChangeNoWinnerAreNoPartOfTheEnvironment) {
  setenv("NCCL_DEBUG", "INFO", 1);
  setenv("NCCL_HOSTID", "rank-1", 1);
  setenv("OMPI_MCA_btl_vader_eager_limit", "8192", 1);  // recorded in mpi_transport
  EXPECT_EQ(read_variables({}), std::nullopt);
}

TEST_F(ProcessVariables, AreRecordedByNameWhereverTheyCameFrom) {
  setenv("UCX_TLS", "rc, sm", 1);
  EXPECT_TRUE(set_variables(std::vector<std::string>{"NCCL_BUFFSIZE=8388608", "NCCL_ALGO=ring"}));
  EXPECT_EQ(read_variables({}), "NCCL_ALGO=ring NCCL_BUFFSIZE=8388608 UCX_TLS=\"rc, sm\"");
  EXPECT_STREQ(getenv("NCCL_BUFFSIZE"), "8388608");
}

TEST_F(ProcessVariables, AreRecordedAlsoWhereAFileOfNcclsSetsThem) {
  const literals::TemporaryFolder folder;
  const NcclFiles files{.user = folder / "user.conf", .system = folder / "system.conf"};
  std::ofstream(files.user) << "NCCL_BUFFSIZE=1\nNCCL_DEBUG=INFO\nOFI_NCCL_PROTOCOL=RDMA\n";
  std::ofstream(files.system) << "NCCL_BUFFSIZE=2\nNCCL_PROTO=Simple\n"
                              << "OMPI_MCA_btl_vader_eager_limit=8192\n";
  setenv("NCCL_ALGO", "ring", 1);
  EXPECT_EQ(read_variables(files),
            "NCCL_ALGO=ring NCCL_BUFFSIZE=1 NCCL_PROTO=Simple OFI_NCCL_PROTOCOL=RDMA");
  EXPECT_EQ(read_variables({}), "NCCL_ALGO=ring");
  setenv("NCCL_CONF_FILE", files.system.c_str(), 1);
  EXPECT_EQ(detect_environment({}, {}).mpi_transport, "default") << "MPI reads no file of NCCL's";
}

TEST_F(ProcessVariables, ChangeNothingWhereAFileOfNcclsSaysTheSame) {
  const literals::TemporaryFolder folder;
  std::ofstream(folder / "nccl.conf") << "NCCL_BUFFSIZE=1\n";
  setenv("NCCL_CONF_FILE", (folder / "nccl.conf").c_str(), 1);
  EXPECT_FALSE(set_variables(std::vector<std::string>{"NCCL_BUFFSIZE=1"}));
  EXPECT_TRUE(set_variables(std::vector<std::string>{"NCCL_BUFFSIZE=2"}));
}

TEST_F(ProcessVariables, SayWhereTheyChangeNothing) {
  setenv("NCCL_BUFFSIZE", "1", 1);
  EXPECT_FALSE(set_variables(std::vector<std::string>{"NCCL_BUFFSIZE=1"}));
  EXPECT_TRUE(set_variables(std::vector<std::string>{"NCCL_BUFFSIZE=1", "NCCL_ALGO=ring"}));
  EXPECT_TRUE(set_variables(std::vector<std::string>{"NCCL_BUFFSIZE=2"}));
  EXPECT_STREQ(getenv("NCCL_BUFFSIZE"), "2");
}

TEST_F(ProcessVariables, ThatAreNotRecordedAreRefused) {
  try {
    (void)set_variables(std::vector<std::string>{"LD_PRELOAD=x.so"});
    FAIL() << "no Error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::invalid_argument);
    EXPECT_NE(std::string(error.what()).find("LD_PRELOAD: the environment's digest"),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(getenv("LD_PRELOAD"), nullptr);
}

}  // namespace
}  // namespace colltune
