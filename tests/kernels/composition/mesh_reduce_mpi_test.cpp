// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Reductions over a process mesh, over MPI, with as many ranks as the launcher starts.

#include <gtest/gtest.h>

#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "mesh_checks.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

MeshRuns run_all(Communicator& world) {
  const Implementations catalogue = make_catalogue();
  ChosenVariants known;
  const Capability capability = detect_capability(catalogue, world);
  Subgroups ranks(world);
  MeshRuns all;
  const std::vector<DataType> types{DataType::f32, DataType::bf16, DataType::i32};
  // Operators and types in turn: libraries make communicators for each call.
  auto turn = static_cast<std::size_t>(world.size());
  for (const MeshReduction& mesh : meshes_of(world.size())) {
    for (const std::vector<ReduceOp>& ops : operators_in_turn())
      if (++turn % 2 == 0)
        all += run_mesh(ranks, capability, catalogue, known, with_operators(mesh, ops),
                        types[turn / 2 % types.size()], turn / 2);
    ++turn;  // the next mesh takes the other operators
  }
  return all;
}

TEST(MeshOverMpi, IsRight) {
  AbortFlag abort_flag;
  const auto world = make_mpi_world(abort_flag, soon_enough());
  const MeshRuns runs = run_all(*world);
  EXPECT_GT(runs.sequential, 5);
  EXPECT_GT(runs.merged, 5);
  if (world->size() == 1) return;
  EXPECT_GT(runs.by_library, 0);
  // Fewer ranks have no groups with anything across.
  if (world->size() >= 4) {
    EXPECT_GT(runs.hierarchical, 3);
  }
}

TEST(MeshOverMpi, IsRightAcrossNodes) {
  AbortFlag abort_flag;
  const auto world = make_mpi_world(abort_flag, soon_enough(), {.ranks_per_node = 2});
  if (world->size() != 4) GTEST_SKIP() << "two nodes of two ranks are enough";
  const MeshRuns runs = run_all(*world);
  EXPECT_GT(runs.sequential, 5);
  EXPECT_GT(runs.merged, 5);
  EXPECT_GT(runs.hierarchical, 3);
}

}  // namespace
}  // namespace colltune::test
