// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

namespace colltune {

/// `colltune show …` as typed.
struct ShowOptions {
  std::string database;
  std::string sweep;  ///< measurements of this sweep only; empty: all
  std::optional<std::uint64_t> generation;
  std::string topology;    ///< members of the worlds whose digest begins so only; empty: all
  bool all = false;        ///< also quarantines that were released
  std::string family;      ///< decisions of this one; empty: any_family, "all": of each
  std::string collective;  ///< decisions about it only; empty: all
  std::string world;       ///< decisions for worlds whose description has it; empty: all
  bool is_wide = false;    ///< tables may take more than 80 columns
  bool json = false;
};

/// Each prints a table, or one JSON array where nothing else is said.
void run_show_sweeps(const ShowOptions& options, std::ostream& out);
void run_show_decisions(const ShowOptions& options, std::ostream& out);
void run_show_generations(const ShowOptions& options, std::ostream& out);
void run_show_measurements(const ShowOptions& options, std::ostream& out);
void run_show_environments(const ShowOptions& options, std::ostream& out);
/// With `json` the members of one world, as `lookup --members` reads them: Error(invalid_argument)
/// where several are left, Error(not_found) where none is.
void run_show_members(const ShowOptions& options, std::ostream& out);
void run_show_failures(const ShowOptions& options, std::ostream& out);
void run_show_quarantines(const ShowOptions& options, std::ostream& out);

}  // namespace colltune
