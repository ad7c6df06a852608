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
  bool all = false;  ///< also quarantines that were released
  bool json = false;
};

/// Each prints a table, or one JSON array.
void run_show_sweeps(const ShowOptions& options, std::ostream& out);
void run_show_decisions(const ShowOptions& options, std::ostream& out);
void run_show_measurements(const ShowOptions& options, std::ostream& out);
void run_show_environments(const ShowOptions& options, std::ostream& out);
void run_show_failures(const ShowOptions& options, std::ostream& out);
void run_show_quarantines(const ShowOptions& options, std::ostream& out);

}  // namespace colltune
