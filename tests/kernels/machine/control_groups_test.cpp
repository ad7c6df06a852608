// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/machine/control_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <string>

namespace colltune {
namespace {

using testing::ElementsAre;

/// A folder with the files that hierarchies of control groups have.
class ControlGroups : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "colltune_control_XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& file, const std::string& text) const {
    std::filesystem::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text << '\n';
  }
  std::filesystem::path root_;
};

TEST_F(ControlGroups, AreThoseAroundTheProcessInBothVersions) {
  EXPECT_THAT(control_groups("0::/jobs/one\n", "/c", "memory"),
              ElementsAre("/c/jobs/one", "/c/jobs", "/c"));
  EXPECT_THAT(
      control_groups("5:memory:/jobs\n4:cpu,cpuacct:/\n1:name=systemd:/x\n", "/c", "memory"),
      ElementsAre("/c/memory/jobs", "/c/memory"));
  std::filesystem::create_directories(root_ / "cpu,cpuacct");
  EXPECT_THAT(control_groups("4:cpu,cpuacct:/\n", root_, "cpu"),
              ElementsAre(root_ / "cpu,cpuacct"));
  EXPECT_THAT(control_groups("4:cpu,cpuacct:/a\n", "/c", "cpu"), ElementsAre("/c/cpu/a", "/c/cpu"));
  EXPECT_TRUE(control_groups("", "/c", "cpu").empty());
  EXPECT_TRUE(control_groups("nonsense", "/c", "cpu").empty());
}

TEST_F(ControlGroups, TheLimitThatLeavesTheLeastCountsInVersion2) {
  write("jobs/memory.max", "1000");
  write("jobs/memory.current", "900");
  write("jobs/one/memory.max", "500");
  write("jobs/one/memory.current", "100");
  const auto found = find_memory_limit("0::/jobs/one\n", root_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->group, root_ / "jobs");
  EXPECT_EQ(found->free(), Bytes{100});
  // Pages of files that the kernel gives back are free.
  write("jobs/memory.stat", "anon 10\ninactive_file 700\n");
  EXPECT_EQ(find_memory_limit("0::/jobs/one\n", root_)->free(), Bytes{400});
  write("jobs/memory.max", "max");
  write("jobs/one/memory.max", "max");
  EXPECT_FALSE(find_memory_limit("0::/jobs/one\n", root_));
}

TEST_F(ControlGroups, LimitsOfVersion1AreRead) {
  write("memory/jobs/memory.limit_in_bytes", "314572800");
  write("memory/jobs/memory.usage_in_bytes", "104857600");
  write("memory/memory.limit_in_bytes", "9223372036854771712");
  const std::string membership = "5:memory:/jobs\n0::/\n";
  const auto found = find_memory_limit(membership, root_);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->limit, Bytes{300 << 20});
  EXPECT_EQ(found->free(), Bytes{200 << 20});
  // A container sees its own group as the root, by the host's path.
  EXPECT_FALSE(find_memory_limit("5:memory:/docker/abc\n", root_));
  write("memory/memory.limit_in_bytes", "1000");
  EXPECT_EQ(find_memory_limit("5:memory:/docker/abc\n", root_)->limit, Bytes{1000});
  // More is used than allowed, for a moment.
  write("memory/memory.usage_in_bytes", "2000");
  EXPECT_EQ(find_memory_limit("5:memory:/docker/abc\n", root_)->free(), Bytes{0});
}

TEST_F(ControlGroups, KillsForMemoryAreCounted) {
  EXPECT_FALSE(count_memory_kills("0::/jobs\n", root_));
  write("jobs/memory.events", "low 0\noom 3\noom_kill 2");
  EXPECT_EQ(count_memory_kills("0::/jobs\n", root_), 2u);
  write("memory/a/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 5");
  EXPECT_EQ(count_memory_kills("5:memory:/a\n", root_), 5u);
}

TEST(OwnMemory, IsSome) { EXPECT_GT(available_memory(), Bytes{1 << 20}); }

}  // namespace
}  // namespace colltune
