// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Collectives by groups, on ranks that are threads.

#include <gtest/gtest.h>

#include <mutex>

#include "conformance.h"
#include "grouped_checks.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

struct World {
  int ranks = 1;
  RankPlaces places{};
};

class GroupedOverThreads : public testing::TestWithParam<World> {};

TEST_P(GroupedOverThreads, IsRight) {
  const Implementations catalogue = make_catalogue();
  GroupedRuns all;
  auto turn = static_cast<std::size_t>(GetParam().ranks);
  for (const std::vector<int>& groups : groupings_of(GetParam().ranks)) {
    run_ranks(
        GetParam().ranks,
        [&](Communicator& communicator) {
          const GroupedRuns runs = run_grouped(communicator, catalogue, groups, turn);
          if (communicator.rank() != 0) return;
          all.calls += runs.calls;
          all.unlike += runs.unlike;
        },
        GetParam().places);
    ++turn;
  }
  EXPECT_GT(all.calls, 50);
  EXPECT_GT(all.unlike, GetParam().ranks > 3 ? 50 : -1);
}

INSTANTIATE_TEST_SUITE_P(Worlds, GroupedOverThreads,
                         testing::Values(World{2}, World{3}, World{4}, World{5}, World{8},
                                         World{4, {.node = {0, 0, 1, 1}}}),
                         [](const auto& of) {
                           return std::to_string(of.param.ranks) +
                                  (of.param.places.node.empty() ? "" : "_on_nodes");
                         });

}  // namespace
}  // namespace colltune::test
