// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/process_settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "colltune/vocabulary/error.h"
#include "daemon/temporary_folder.h"
#include "launch/loaded_objects.h"

namespace colltune {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;

namespace fs = std::filesystem;

std::optional<std::string> read_variables(const NcclFiles& files) {
  return read_process_settings(MallocRegime::grown, {}, files).variables;
}

/// The variables of the tests, not there before and behind each.
class ProcessVariables : public ::testing::Test {
 protected:
  void SetUp() override { clear(); }
  void TearDown() override { clear(); }
  static void clear() {
    for (const char* name : {"NCCL_BUFFSIZE", "NCCL_ALGO", "NCCL_DEBUG", "UCX_TLS", "NCCL_HOSTID",
                             "OMPI_MCA_btl_vader_eager_limit", "NCCL_TUNER_PLUGIN",
                             "NCCL_CONF_FILE", "COLLTUNE_MALLOC", "MALLOC_ARENA_MAX", "LD_PRELOAD",
                             "MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"})
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
  EXPECT_EQ(read_process_settings(MallocRegime::grown, {}).mpi_transport, "default")
      << "MPI reads no file of NCCL's";
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
    EXPECT_NE(std::string(error.what()).find("LD_PRELOAD: it is read when a process starts"),
              std::string::npos)
        << error.what();
  }
  EXPECT_EQ(getenv("LD_PRELOAD"), nullptr);
}

TEST_F(ProcessVariables, OfMpiAreRecordedAsTheyAreInForceWhereverTheyWereSet) {
  setenv("OMPI_MCA_btl_vader_eager_limit", "4096", 1);
  const MpiSettings in_file{.in_force = {{"btl_vader_eager_limit", "8192"},
                                         {"coll_tuned_allreduce_algorithm", "3"},
                                         {"orte_tmpdir_base", "/tmp"},
                                         {"mpi_oversubscribe", "0"}}};
  const ProcessSettings settings = read_process_settings(MallocRegime::grown, in_file);
  EXPECT_EQ(settings.mpi_transport, "btl_vader_eager_limit=8192 coll_tuned_allreduce_algorithm=3");
  EXPECT_EQ(settings.of_launch.at("OMPI_MCA_coll_tuned_allreduce_algorithm"), "3");
  EXPECT_FALSE(settings.of_launch.contains("OMPI_MCA_orte_tmpdir_base"));
}

TEST_F(ProcessVariables, ThatPutTheUsersAlgorithmsInForceAreRecorded) {
  const MpiSettings rules{.uses_dynamic_rules = true};
  EXPECT_EQ(read_process_settings(MallocRegime::grown, rules).mpi_transport,
            "coll_tuned_use_dynamic_rules=1");
}

TEST_F(ProcessVariables, OfALibraryThatTellsNoSourcesAreRecordedByOneDigest) {
  const MpiSettings all{.in_force = {{std::string(all_variables), "0123abcd"}}};
  EXPECT_EQ(read_process_settings(MallocRegime::grown, all).mpi_transport,
            "control_variables=0123abcd");
}

TEST_F(ProcessVariables, ThatNameDevicesAreRecordedAndMayDifferBetweenRanks) {
  const MpiSettings mpi{.in_force = {{"btl_tcp_if_include", "eth0"}}};
  const ProcessSettings settings = read_process_settings(MallocRegime::grown, mpi);
  EXPECT_EQ(settings.mpi_transport, "btl_tcp_if_include=eth0");
  EXPECT_FALSE(settings.of_launch.contains("OMPI_MCA_btl_tcp_if_include"));
}

TEST_F(ProcessVariables, OfTheLoaderAreRecordedByTheObjectsThatTheyName) {
  const literals::TemporaryFolder folder;
  std::ofstream(folder / "ld.so.preload") << "/lib/libhuge.so.1 /lib/libother.so\n";
  setenv("LD_PRELOAD", "/opt/a/libfast.so:libc.so.6", 1);
  const auto facts = read_loader_facts((folder / "ld.so.preload").string());
  EXPECT_EQ(facts.at("/etc/ld.so.preload"), "libhuge.so.1 libother.so");
  // Of an object that is there the build is told, and not only the name.
  EXPECT_THAT(facts.at("LD_PRELOAD"), MatchesRegex("libfast.so libc.so.6 .[0-9a-f]{12}."));
}

/// Whether malloc maps a block of `bytes` anew.
bool is_mapped(std::size_t bytes) {
  const std::size_t before = mallinfo2().hblks;
  void* volatile block = std::malloc(bytes);
  const bool is = mallinfo2().hblks > before;
  std::free(block);
  return is;
}

/// Not a test: what the next one runs in a process of its own, whose malloc has freed nothing yet.
TEST(MallocProbe, DISABLED_Prints) {
  const MallocRegime regime = read_malloc_regime();
  prepare_malloc(regime);
  const bool is_anew = is_mapped(std::size_t{1} << 20);
  std::printf("probe: %s %s\n", is_anew ? "maps" : "keeps", describe_malloc(regime).c_str());
}

std::string probe(const std::string& environment) {
  const std::string self = fs::read_symlink("/proc/self/exe").string();
  const std::string command =
      environment + " " + self + " --gtest_also_run_disabled_tests --gtest_filter=MallocProbe.*";
  FILE* const output = popen(command.c_str(), "r");
  std::array<char, 4096> line{};
  std::string found;
  while (output != nullptr && std::fgets(line.data(), line.size(), output) != nullptr)
    if (const std::string text(line.data()); text.starts_with("probe: ")) found = text;
  if (output != nullptr) pclose(output);
  return found;
}

TEST_F(ProcessVariables, MallocIsGrownAsAProgramsThatHasFreedSomethingLarge) {
  EXPECT_THAT(probe("COLLTUNE_MALLOC="), MatchesRegex("probe: keeps glibc [0-9.]+ grown\n"));
  EXPECT_THAT(probe("COLLTUNE_MALLOC=fresh"), MatchesRegex("probe: maps glibc [0-9.]+ fresh\n"));
  EXPECT_THAT(probe("MALLOC_MMAP_THRESHOLD_=131072"),
              MatchesRegex("probe: maps glibc [0-9.]+ set MALLOC_MMAP_THRESHOLD_=131072\n"));
}

TEST_F(ProcessVariables, OfMallocRuleAndAreRecorded) {
  setenv("MALLOC_ARENA_MAX", "1", 1);
  EXPECT_THAT(describe_malloc(MallocRegime::fresh), testing::EndsWith("fresh MALLOC_ARENA_MAX=1"));
  setenv("MALLOC_MMAP_THRESHOLD_", "268435456", 1);
  setenv("MALLOC_TRIM_THRESHOLD_", "1073741824", 1);
  EXPECT_THAT(describe_malloc(MallocRegime::grown), HasSubstr(" raised MALLOC_ARENA_MAX=1 "));
  EXPECT_EQ(read_malloc_facts().at("MALLOC_MMAP_THRESHOLD_"), "268435456");
}

TEST_F(ProcessVariables, NameTheRegimeOfMalloc) {
  EXPECT_EQ(read_malloc_regime(), MallocRegime::grown);
  setenv("COLLTUNE_MALLOC", "fresh", 1);
  EXPECT_EQ(read_malloc_regime(), MallocRegime::fresh);
  setenv("COLLTUNE_MALLOC", "pinned", 1);
  EXPECT_THROW((void)read_malloc_regime(), Error);
}

}  // namespace
}  // namespace colltune
