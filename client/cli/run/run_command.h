// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "source/origin.h"

namespace colltune {

/// `colltune run` as typed.
struct RunOptions {
  Origin origin;              ///< none, if it only records
  std::string environment;    ///< `--environment`; empty: the only one
  std::string numerics;       ///< `--numerics`; empty: the component's default
  std::string memory;         ///< `--memory`; likewise
  std::string files;          ///< `--files DIR`; empty: a folder of this user's caches
  std::string dry_run;        ///< `--dry-run=FORM`; empty: runs
  std::string trace;          ///< `--record FILE`; empty: records nothing
  bool is_preloaded = false;  ///< `--preload`: libcolltune_mpi.so in the component's place
  int comparisons = 0;        ///< `--ab N`; 0: runs once
  bool is_quiet = false;
  std::vector<std::string> command;
};

/// Launches the command so that its collectives run what was decided, and says on `log` what that
/// is. Without --dry-run and --ab it does not return: this process becomes the command. Returns the
/// exit code of the first comparison that failed, else 0.
///
/// Throws Error(not_found) with the reasons if no decision can run in a program.
[[nodiscard]] int run_run(const RunOptions& options, std::ostream& out, std::ostream& log);

}  // namespace colltune
