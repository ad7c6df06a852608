// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Reductions over a process mesh, over MPI, with as many ranks as the launcher starts.

#include <gtest/gtest.h>

#include "colltune/kernels/mpi_communicator.h"
#include "mesh_checks.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

MeshRuns run_all(Communicator& world) {
  const Implementations catalogue = make_catalogue();
  const Capability capability = detect_capability(catalogue, world);
  Subgroups ranks(world);
  MeshRuns all;
  auto turn = static_cast<std::size_t>(world.size());
  const std::vector<DataType> types{DataType::f32, DataType::bf16, DataType::i32};
  for (const MeshReduction& mesh : meshes_of(world.size())) {
    // Types in turn: libraries make communicators for each call.
    for (std::size_t i = 0; i < types.size(); ++i)
      if (world.size() <= 4 || i == turn % types.size())
        all += run_operators(ranks, capability, catalogue, mesh, {types[i]}, turn);
    ++turn;
  }
  return all;
}

TEST(MeshOverMpi, IsRight) {
  AbortFlag abort_flag;
  const auto world = make_mpi_world(abort_flag, soon_enough());
  const MeshRuns runs = run_all(*world);
  EXPECT_GT(runs.sequential, 10);
  EXPECT_GT(runs.merged, 10);
  if (world->size() == 1) return;
  EXPECT_GT(runs.hierarchical, 5);
  EXPECT_GT(runs.by_library, 5);
}

TEST(MeshOverMpi, IsRightAcrossNodes) {
  AbortFlag abort_flag;
  const auto world = make_mpi_world(abort_flag, soon_enough(), {.ranks_per_node = 2});
  if (world->size() != 4) GTEST_SKIP() << "two nodes of two ranks are enough";
  const MeshRuns runs = run_all(*world);
  EXPECT_GT(runs.sequential, 10);
  EXPECT_GT(runs.merged, 10);
  EXPECT_GT(runs.hierarchical, 5);
}

}  // namespace
}  // namespace colltune::test
