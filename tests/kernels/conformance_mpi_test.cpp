// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Every implementation of the catalogue, over MPI, with as many ranks as the launcher starts.

#include <gtest/gtest.h>

#include "colltune/kernels/mpi_communicator.h"
#include "conformance.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

TEST(ConformanceOverMpi, EveryImplementationIsRight) {
  AbortFlag abort_flag;
  const auto world = make_mpi_world(abort_flag, soon_enough());
  EXPECT_GT(run_conformance(*world, make_catalogue()), 0);
}

TEST(ConformanceOverMpi, EveryImplementationIsRightAcrossNodes) {
  for (const int ranks_per_node : {1, 2}) {
    AbortFlag abort_flag;
    const auto world =
        make_mpi_world(abort_flag, soon_enough(), {.ranks_per_node = ranks_per_node});
    if (world->is_one_node()) continue;
    EXPECT_GT(run_conformance(*world, make_catalogue()), 0);
  }
}

TEST(ConformanceOverMpi, TreesOverTheMachineAreRightOverDomains) {
  Implementations leaders = make_catalogue();
  std::erase_if(leaders, [](const auto& one) { return !one->name().ends_with("_leaders"); });
  AbortFlag abort_flag;
  const auto world = make_mpi_world(abort_flag, soon_enough(), {.ranks_per_domain = 2});
  if (world->size() < 3) GTEST_SKIP() << "needs a domain with several ranks and another one";
  EXPECT_GT(run_conformance(*world, leaders), 0);
}

}  // namespace
}  // namespace colltune::test
