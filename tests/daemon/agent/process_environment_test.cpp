// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/process_environment.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

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

TEST_F(ProcessEnvironment, RecordsWhatTheKernelWasToldAndWhetherItBoosts) {
  EXPECT_EQ(read_kernel_settings(root_), "");
  write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n");
  write("proc/sys/kernel/yama/ptrace_scope", "1\n");
  EXPECT_EQ(read_kernel_settings(root_), "huge_pages=madvise ptrace_scope=1");
  write("sys/devices/system/cpu/vulnerabilities/meltdown", "Vulnerable\n");
  const std::string vulnerable = read_kernel_settings(root_);
  write("sys/devices/system/cpu/vulnerabilities/meltdown", "Mitigation: PTI\n");
  EXPECT_NE(read_kernel_settings(root_), vulnerable);
  write("sys/devices/system/cpu/intel_pstate/no_turbo", "1\n");
  EXPECT_EQ(read_frequency_policy(root_), "not visible, no boost");
}

TEST_F(ProcessEnvironment, LockedMemoryCountsWhereNetworkCardsRegisterIt) {
  EXPECT_EQ(read_limits(root_, 64 << 10), std::nullopt);
  write("sys/class/infiniband/mlx5_0/node_type", "1: CA\n");
  EXPECT_EQ(read_limits(root_, 64 << 10), "locked_memory=64KiB");
  EXPECT_EQ(read_limits(root_, RLIM_INFINITY), std::nullopt);
}

TEST(Environment, OfTheKernelOnlyTheVersionAndTheSettingsCount) {
  EXPECT_EQ(kernel_version("6.1.0-18-amd64"), "6.1");
  EXPECT_EQ(kernel_version("5.14.0-362.8.1.el9_3.x86_64"), "5.14");
  EXPECT_EQ(kernel_version("6.12"), "6.12");
  EXPECT_EQ(kernel_version("6.12-rc1"), "6.12");
  for (const char* other : {"", "6", "6.", "custom", ".1"}) EXPECT_EQ(kernel_version(other), other);
  const Environment environment = detect_environment({});
  const Provenance provenance = detect_provenance();
  EXPECT_EQ(environment.kernel.substr(0, environment.kernel.find(' ')),
            kernel_version(provenance.kernel_release));
  EXPECT_FALSE(provenance.colltune_version.empty());
  EXPECT_FALSE(provenance.build.empty());
}

/// The environment as a process sees it that may use one core.
TEST(Environment, OfTheMachineDoesNotDependOnTheShareThatAProcessGot) {
  cpu_set_t all;
  ASSERT_EQ(sched_getaffinity(0, sizeof all, &all), 0);
  const std::string layout = detect_environment({}).cpu_layout;
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; CPU_COUNT(&one) == 0; ++cpu)
    if (CPU_ISSET(cpu, &all)) CPU_SET(cpu, &one);
  ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  const Environment bound = detect_environment({});
  EXPECT_EQ(bound.cpu_layout, layout);
  EXPECT_EQ(bound.mpi_binding, "one hardware thread per rank");
  ASSERT_EQ(sched_setaffinity(0, sizeof all, &all), 0);
  if (CPU_COUNT(&all) > 1) {
    EXPECT_EQ(detect_environment({}).mpi_binding, "not bound");
  }
}

}  // namespace
}  // namespace colltune
