// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Calls that change from one to the next, over MPI, with as many ranks as the launcher starts.

#include <gtest/gtest.h>

#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "random_calls.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

void make_random_calls(const PretendedMachine& pretended) {
  AbortFlag abort_flag;
  const auto world = make_mpi_world(abort_flag, soon_enough(), pretended);
  const Implementations catalogue = make_catalogue();
  constexpr int calls_of_a_set = 500;
  for (int made = 0; made < number_of_random_calls(); made += calls_of_a_set)
    ASSERT_EQ(find_fault_in_random_calls(
                  *world, catalogue,
                  {.calls = calls_of_a_set, .seed = static_cast<std::uint64_t>(made) + 7}),
              "");
}

TEST(RandomCallsOverMpi, AreRight) { make_random_calls({}); }

TEST(RandomCallsOverMpi, AreRightAcrossNodes) { make_random_calls({.ranks_per_node = 2}); }

}  // namespace
}  // namespace colltune::test
