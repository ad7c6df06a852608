// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/machine/usable_cores.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <initializer_list>
#include <string>
#include <vector>

namespace colltune {
namespace {

RankCores bound_to(std::initializer_list<int> threads, CpuQuota quota = {}) {
  RankCores rank{.threads = {}, .quota = quota};
  CPU_ZERO(&rank.threads);
  for (const int thread : threads) CPU_SET(thread, &rank.threads);
  return rank;
}

bool share(const std::vector<RankCores>& ranks) { return have_to_share_cores(ranks); }

TEST(UsableCores, AreEnoughForAsManyRanksAsTheyAre) {
  EXPECT_FALSE(share({bound_to({0, 1}), bound_to({0, 1})}));
  EXPECT_TRUE(share({bound_to({0, 1}), bound_to({0, 1}), bound_to({0, 1})}));
  EXPECT_FALSE(share({bound_to({0}), bound_to({1}), bound_to({2})}));
}

TEST(UsableCores, AreNotEnoughWhereTwoRanksAreBoundToOne) {
  EXPECT_TRUE(share({bound_to({0}), bound_to({0}), bound_to({1, 2, 3})}));
  // One more rank within a wider set than that has threads left.
  EXPECT_FALSE(share({bound_to({0}), bound_to({0, 1}), bound_to({2, 3})}));
  EXPECT_TRUE(share({bound_to({0}), bound_to({0, 1}), bound_to({1, 0}), bound_to({2, 3})}));
  // No set of a rank's own holds too many, all together do.
  EXPECT_TRUE(share({bound_to({0, 1}), bound_to({1, 2}), bound_to({2, 0}), bound_to({0, 1})}));
}

TEST(UsableCores, AreSharedByARankOfWhichNothingIsKnown) { EXPECT_TRUE(share({bound_to({})})); }

TEST(UsableCores, AreNoMoreThanAQuotaAllows) {
  const CpuQuota two{.cores = 2, .group = 7};
  const RankCores rank = bound_to({0, 1, 2, 3}, two);
  EXPECT_FALSE(share({rank, rank}));
  EXPECT_TRUE(share({rank, rank, rank}));
  // Each group has its own.
  const RankCores other = bound_to({0, 1, 2, 3}, {.cores = 2, .group = 8});
  EXPECT_FALSE(share({rank, rank, other, other}));
}

TEST(CpuQuotas, AreRoundedUpToCores) {
  EXPECT_EQ(cores_of_quota("max 100000\n"), 0);
  EXPECT_EQ(cores_of_quota("100000 100000\n"), 1);
  EXPECT_EQ(cores_of_quota("150000 100000\n"), 2);
  EXPECT_EQ(cores_of_quota("50000 100000\n"), 1);
  EXPECT_EQ(cores_of_quota(""), 0);
  EXPECT_EQ(cores_of_quota("100000"), 0);
  EXPECT_EQ(cores_of_quota("100000 0"), 0);
}

/// A folder that is mounted nowhere, with the files that a hierarchy of control groups has.
class Groups : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "colltune_groups_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void limit(const std::string& group, const std::string& cpu_max) const {
    std::filesystem::create_directories(root_ / group);
    std::ofstream(root_ / group / "cpu.max") << cpu_max << '\n';
  }
  std::uint64_t number_of(const std::string& group) const {
    struct stat found {};
    EXPECT_EQ(::stat((root_ / group).c_str(), &found), 0);
    return found.st_ino;
  }
  CpuQuota find(std::string_view membership) const { return find_cpu_quota(membership, root_); }

  std::filesystem::path root_;
};

TEST_F(Groups, TheTightestOfThoseAroundAProcessCounts) {
  limit("jobs", "300000 100000");
  limit("jobs/one", "max 100000");
  limit("jobs/two", "400000 100000");
  limit("jobs/two/inner", "120000 100000");
  EXPECT_EQ(find("0::/jobs/one\n").cores, 3);
  EXPECT_EQ(find("0::/jobs/one\n").group, number_of("jobs"));
  EXPECT_EQ(find("0::/jobs/two\n").cores, 3);
  EXPECT_EQ(find("0::/jobs/two/inner\n").cores, 2);
  EXPECT_EQ(find("0::/jobs/two/inner\n").group, number_of("jobs/two/inner"));
}

TEST_F(Groups, WithoutALimitThereIsNone) {
  limit("jobs", "max 100000");
  EXPECT_EQ(find("0::/jobs\n").cores, 0);
  EXPECT_EQ(find("0::/\n").cores, 0);
  EXPECT_EQ(find("0::/gone/for/good\n").cores, 0);
  EXPECT_EQ(find("").cores, 0);
}

TEST_F(Groups, BothVersionsAreLookedAt) {
  limit("jobs", "100000 100000");
  EXPECT_EQ(find("9:cpu:/\n0::/jobs\n").cores, 1);
  // A container sees its own group as the root.
  limit(".", "200000 100000");
  EXPECT_EQ(find("0::/\n").cores, 2);
  const auto limit_in_version_1 = [&](const std::string& group, const std::string& quota) {
    std::filesystem::create_directories(root_ / group);
    std::ofstream(root_ / group / "cpu.cfs_quota_us") << quota << '\n';
    std::ofstream(root_ / group / "cpu.cfs_period_us") << "100000\n";
  };
  limit_in_version_1("cpu,cpuacct/batch", "150000");
  limit_in_version_1("cpu,cpuacct/batch/free", "-1");
  EXPECT_EQ(find("4:cpu,cpuacct:/batch/free\n").cores, 2);
  EXPECT_EQ(find("4:cpu,cpuacct:/batch/free\n").group, number_of("cpu,cpuacct/batch"));
  EXPECT_EQ(find("4:cpu,cpuacct:/\n").cores, 0);
}

TEST(UsableCores, OfThisThreadAreSome) {
  const RankCores own = own_cores();
  EXPECT_GE(CPU_COUNT(&own.threads), 1);
}

TEST(UsableCores, AreCountedOnceForAllTheirThreads) {
  const auto cpus = std::filesystem::temp_directory_path() / ("cpus." + std::to_string(::getpid()));
  const auto tell = [&](int thread, const char* siblings) {
    const auto folder = cpus / ("cpu" + std::to_string(thread)) / "topology";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "thread_siblings_list") << siblings << '\n';
  };
  tell(0, "0,2");
  tell(1, "1,3");
  tell(2, "0,2");
  tell(3, "1,3");
  const auto cores_of = [&](std::initializer_list<int> threads) {
    return count_cores(bound_to(threads).threads, cpus);
  };
  EXPECT_EQ(cores_of({0, 1, 2}), 2);
  EXPECT_EQ(cores_of({0, 2}), 1);
  EXPECT_EQ(cores_of({}), 0);
  EXPECT_EQ(cores_of({0, 2, 7, 8}), 3) << "nothing is known of 7 and 8";
  std::filesystem::remove_all(cpus);
  EXPECT_GE(count_cores(own_cores().threads), 1);
}

}  // namespace
}  // namespace colltune
