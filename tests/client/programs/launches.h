// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <set>
#include <string>
#include <vector>

#include "../process.h"
#include "support/full_run.h"

/// Programs that are launched with a planted table.
namespace colltune::testing {

struct Ended {
  int code = 0;
  std::string out;
  std::string errors;
  std::chrono::steady_clock::duration took{};
};

class Launches : public ::testing::Test {
 protected:
  // Communicators are set up at their third call: these programs make few.
  Launches() { ::setenv("OMPI_MCA_coll_colltune_patience", "0", 1); }

  /// What was planted with this seed, for the worlds of these tests and their halves.
  static std::string table(int seed) {
    static TemporaryFolder tables;
    static std::set<int> planted;
    const std::string file = tables.file("planted." + std::to_string(seed));
    if (planted.insert(seed).second) {
      EXPECT_EQ(run({PLANTED_TABLE, file, std::to_string(seed), "1x2", "1x3", "1x4", "1x8"}).code,
                0);
    }
    return file;
  }

  static Ended run(const std::vector<std::string>& command) {
    const TemporaryFolder folder;
    const auto begin = std::chrono::steady_clock::now();
    const int code =
        wait_for_process(start_process(command, folder.file("out"), folder.file("errors")));
    return {code, read_file(folder.file("out")), read_file(folder.file("errors")),
            std::chrono::steady_clock::now() - begin};
  }

  /// By the report, kernels of ours ran for each of the eight collectives.
  static void expect_kernels_of_all_collectives(const Ended& ended, const std::string& program) {
    // A reduce's kernels are not those of reduce_scatter.
    for (const char* ran : {"all_reduce_", "all_gather_", "reduce_scatter_", "broadcast_",
                            "reduce_[^s]", "all_to_all_", "gather_", "scatter_"})
      EXPECT_THAT(ended.errors, ::testing::ContainsRegex(std::string(" ms less  cpu\\.") + ran))
          << program;
  }

  /// The random programs in Fortran, one for each of its bindings: all in a full run, else they
  /// take turns over the numbers of ranks. One empty name where there is no compiler for them.
  static std::vector<std::string> random_fortran_programs(int ranks) {
    const std::vector<std::string> all{RANDOM_FORTRAN_PROGRAMS};
    if (test::is_full_run()) return all;
    return {all[static_cast<std::size_t>(ranks) % all.size()]};
  }

  static std::vector<std::string> launch(int ranks) {
    std::vector<std::string> command{COLLTUNE_MPIRUN};
    command.insert(command.end(), {"-n", std::to_string(ranks)});
    return command;
  }
  static std::vector<std::string> with(std::vector<std::string> command,
                                       const std::vector<std::string>& more) {
    command.insert(command.end(), more.begin(), more.end());
    return command;
  }
};

}  // namespace colltune::testing
