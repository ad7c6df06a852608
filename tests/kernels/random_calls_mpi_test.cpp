// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Calls that change from one to the next, over MPI, with as many ranks as the launcher starts.

#include <gtest/gtest.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <string>

#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "random_calls.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

constexpr int calls_of_a_set = 500;

void make_random_calls(const PretendedMachine& pretended) {
  AbortFlag abort_flag;
  const auto world = make_mpi_world(abort_flag, soon_enough(), pretended);
  const Implementations catalogue = make_catalogue();
  for (int made = 0; made < number_of_random_calls(); made += calls_of_a_set)
    ASSERT_EQ(find_fault_in_random_calls(
                  *world, catalogue,
                  {.calls = calls_of_a_set, .seed = static_cast<std::uint64_t>(made) + 7}),
              "");
}

TEST(RandomCallsOverMpi, AreRight) { make_random_calls({}); }

TEST(RandomCallsOverMpi, AreRightAcrossNodes) { make_random_calls({.ranks_per_node = 2}); }

/// How much symmetric memory this process maps at least, of all ranks, by the system's own account:
/// of each file that ranks share its pages less one, of which a byte may be all that was asked for.
std::uint64_t mapped_symmetric_bytes() {
  const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint64_t all = 0;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    if (line.find("/memfd:colltune") == std::string::npos) continue;
    std::size_t read = 0;
    const std::uint64_t begin = std::stoull(line, &read, 16);
    all += std::stoull(line.substr(read + 1), nullptr, 16) - begin - page;
  }
  return all;
}

// As a program's calls, which may have so much memory and no more: set up within it, and nothing is
// taken later.
TEST(RandomCallsOverMpi, StayWithinTheMemoryOfAProgram) {
  constexpr std::uint64_t most = std::uint64_t{2} << 20U;
  AbortFlag abort_flag;
  const MPI_Comm comm = MPI_COMM_WORLD;
  const auto program = make_program_communicator(&comm, abort_flag, {most});
  const std::uint64_t limit = static_cast<std::uint64_t>(program->size()) * most;
  const Implementations catalogue = make_host_catalogue();
  const std::uint64_t before = mapped_symmetric_bytes();
  std::uint64_t largest = 0;
  for (int made = 0; made < number_of_random_calls(); made += calls_of_a_set) {
    std::uint64_t prepared = 0;
    const auto inspect = [&]() -> std::string {
      const std::uint64_t mapped = mapped_symmetric_bytes() - before;
      if (prepared == 0) prepared = mapped;
      largest = std::max(largest, mapped);
      if (mapped > limit)
        return std::to_string(mapped) + " bytes are mapped, more than " + std::to_string(limit);
      if (mapped != prepared)
        return std::to_string(mapped) + " bytes are mapped, not the " + std::to_string(prepared) +
               " of the beginning";
      return {};
    };
    ASSERT_EQ(find_fault_in_random_calls(*program, catalogue,
                                         {.calls = calls_of_a_set,
                                          .seed = static_cast<std::uint64_t>(made) + 11,
                                          .most_without_memory = 20,
                                          .inspect = inspect}),
              "");
  }
  EXPECT_EQ(mapped_symmetric_bytes(), before);
  EXPECT_GT(largest, limit / 2) << "the limit was never near";
}

}  // namespace
}  // namespace colltune::test
