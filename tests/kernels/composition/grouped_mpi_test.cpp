// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Collectives by groups, over MPI, with as many ranks as the launcher starts.

#include <gtest/gtest.h>

#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "grouped_checks.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

GroupedRuns run_all(Communicator& world) {
  const Implementations catalogue = make_catalogue();
  ChosenVariants known;
  GroupedRuns all;
  auto turn = static_cast<std::size_t>(world.size());
  for (const std::vector<int>& groups : groupings_of(world.size())) {
    const GroupedRuns runs = run_grouped(world, catalogue, known, groups, turn++);
    all.calls += runs.calls;
    all.by_library += runs.by_library;
  }
  return all;
}

TEST(GroupedOverMpi, IsRight) {
  AbortFlag abort_flag;
  const auto world = make_mpi_world(abort_flag, soon_enough());
  const GroupedRuns runs = run_all(*world);
  EXPECT_GT(runs.calls, 20);
  EXPECT_GT(runs.by_library, 5);
}

TEST(GroupedOverMpi, IsRightAcrossNodes) {
  AbortFlag abort_flag;
  const auto world = make_mpi_world(abort_flag, soon_enough(), {.ranks_per_node = 2});
  if (world->size() != 4) GTEST_SKIP() << "two nodes of two ranks are enough";
  EXPECT_GT(run_all(*world).calls, 20);
}

}  // namespace
}  // namespace colltune::test
