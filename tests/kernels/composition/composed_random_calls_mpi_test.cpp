// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Mesh reductions and collectives by groups whose calls change from one to the next, over MPI, with
// as many ranks as the launcher starts.

#include <gtest/gtest.h>

#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "composed_choices.h"
#include "random_calls.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

void make_random_calls(const PretendedMachine& pretended) {
  AbortFlag abort_flag;
  const auto world = make_mpi_world(abort_flag, soon_enough(), pretended);
  const Implementations catalogue = make_catalogue();
  ChosenVariants known;
  constexpr int calls_of_a_set = 200;
  for (int made = 0; made < number_of_random_calls() / 10; made += calls_of_a_set)
    make_composed_random_calls(*world, catalogue, known, calls_of_a_set,
                               static_cast<std::size_t>(made) + 11);
}

TEST(ComposedRandomCallsOverMpi, AreRight) { make_random_calls({}); }

TEST(ComposedRandomCallsOverMpi, AreRightAcrossNodes) { make_random_calls({.ranks_per_node = 2}); }

}  // namespace
}  // namespace colltune::test
