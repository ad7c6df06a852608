// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/launch_comparison.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

/// Eight ranks on four hosts, of the kinds 0 0 0 1 2 2 0 1.
LaunchProcesses launch() {
  LaunchProcesses processes{.kinds = std::vector<ProcessFacts>(3),
                            .kind_of_rank = {0, 0, 0, 1, 2, 2, 0, 1},
                            .hosts = {"a", "a", "b", "b", "c", "c", "d", "d"}};
  for (ProcessFacts& kind : processes.kinds) {
    kind.provenance.colltune_version = "1.0";
    kind.provenance.build = "gcc 12 Release";
  }
  return processes;
}

std::string refusal(const LaunchProcesses& processes, bool may_differ) {
  try {
    EXPECT_TRUE(are_builds_unlike(processes, may_differ));
    return "";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::failed_precondition);
    return error.what();
  }
}

TEST(LaunchComparison, RanksOfOneBuildMayDifferInOtherThings) {
  LaunchProcesses processes = launch();
  EXPECT_FALSE(are_builds_unlike(processes, false));
  EXPECT_THAT(differences_of(processes), IsEmpty());
  processes.kinds[1].environment.gpu_driver = "580.1";
  processes.kinds[2].environment.fabric = "1x ethernet 1000 Mb/s";
  EXPECT_FALSE(are_builds_unlike(processes, false));
  EXPECT_THAT(differences_of(processes),
              ElementsAre("ranks differ in gpu_driver: '' on rank 0-2,4-6, '580.1' on rank 3,7",
                          "ranks differ in fabric: '' on rank 0-3,6-7, '1x ethernet 1000 Mb/s' on "
                          "rank 4-5"));
  EXPECT_EQ(describe(processes), "8 ranks on a:2,b:2,c:2,d:2");
}

TEST(LaunchComparison, UnlikeBuildsAreATableOfRanksAndHosts) {
  LaunchProcesses processes = launch();
  processes.kinds[1].environment.mpi_library = "Open MPI v5.0.6";
  processes.kinds[2].provenance.build = "clang 19 Debug";
  EXPECT_EQ(refusal(processes, false),
            "the ranks run different builds; install one on all hosts, or let each do its part: "
            "--unlike-builds group\n"
            "  build                                  ranks  hosts\n"
            "  1.0 (clang 19 Debug)                   4-5    c\n"
            "  1.0 (gcc 12 Release)                   0-2,6  a, b, d\n"
            "  1.0 (gcc 12 Release), Open MPI v5.0.6  3,7    b, d");
  EXPECT_EQ(refusal(processes, true), "");
  processes.kinds[1].provenance.colltune_version = "1.1";
  EXPECT_EQ(refusal(processes, true),
            "the ranks run different builds; install one on all hosts\n"
            "  build                                  ranks  hosts\n"
            "  1.0 (clang 19 Debug)                   4-5    c\n"
            "  1.0 (gcc 12 Release)                   0-2,6  a, b, d\n"
            "  1.1 (gcc 12 Release), Open MPI v5.0.6  3,7    b, d");
}

TEST(LaunchComparison, OfManyHostsTheFirstAreNamed) {
  LaunchProcesses processes{.kinds = std::vector<ProcessFacts>(2), .kind_of_rank = {}, .hosts = {}};
  processes.kinds[1].provenance.build = "other";
  for (int rank = 0; rank < 20; ++rank) {
    processes.kind_of_rank.push_back(rank < 10 ? 0 : 1);
    processes.hosts.push_back("n" + std::to_string(10 + rank));
  }
  EXPECT_THAT(refusal(processes, false),
              ::testing::HasSubstr("0-9    n10, n11, n12, n13, n14, n15, n16, n17 and 2 more"));
}

}  // namespace
}  // namespace colltune
