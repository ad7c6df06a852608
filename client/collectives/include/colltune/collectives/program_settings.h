// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "colltune/collectives/choices.h"
#include "colltune/collectives/program_defaults.h"

namespace colltune {

/// What a user sets in the environment of his program.
struct ProgramSettings {
  std::string table;         ///< COLLTUNE_TABLE: the table file; empty: none
  std::string table_digest;  ///< COLLTUNE_TABLE_DIGEST: the one that it must have; empty: any
  Bytes memory{std::uint64_t{256}
               << 20U};  ///< COLLTUNE_MEMORY: symmetric memory of each rank and communicator
  ProgramNumerics numerics = ProgramNumerics::same_bits;  ///< COLLTUNE_NUMERICS
  /// COLLTUNE_PATIENCE, in milliseconds: what a communicator's ranks spend in the library's
  /// collectives before the component sets it up, which takes about as long; and what set-ups take
  /// of a program's time: at 10 ms a hundredth (bridge/looks.h).
  std::chrono::nanoseconds patience = std::chrono::milliseconds(COLLTUNE_DEFAULT_PATIENCE_MS);
  bool reports = false;  ///< COLLTUNE_REPORT=1
  /// Open MPI reads a file of rules: OMPI_MCA_coll_tuned_ and coll_han_dynamic_rules_filename, or
  /// what switches such rules on, is set.
  bool library_follows_rules = false;
  /// The MPI library that runs what colltune does not ("Open MPI 4.1"): a table that was measured
  /// with another one is refused. Not a variable; empty: none is compared.
  std::string mpi_library;
};

/// Throws Error(invalid_argument) that names the variable, its value and what is allowed.
/// `variable` is getenv.
[[nodiscard]] ProgramSettings read_program_settings(
    const std::function<const char*(const char*)>& variable);

/// What must be equal on all ranks that take part in a call: the build, and the settings that
/// decide what runs. Which table, rank 0 says alone.
[[nodiscard]] std::string fingerprint_of(const ProgramSettings& settings);

}  // namespace colltune
