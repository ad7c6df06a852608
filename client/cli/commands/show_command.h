// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <optional>
#include <string>

#include "text/regime_choice.h"

namespace colltune {

/// `colltune show …` as typed.
struct ShowOptions {
  std::string database;
  std::string table;   ///< in place of the database, for decisions
  std::string sweep;  ///< only measurements of this sweep; empty: all
  std::optional<std::uint64_t> generation;
  std::string topology;    ///< only members of worlds whose digest starts with this; empty: all
  bool all = false;        ///< include released quarantines
  std::string family;      ///< only decisions of this family; empty: any_family; "all": every
                           ///< family
  std::string collective;  ///< only decisions about this collective; empty: all
  std::string world;       ///< only worlds whose description contains this; empty: all
  RegimeOptions regime;    ///< only decisions of this regime; empty: all
  bool is_wide = false;    ///< tables may take more than 80 columns
  bool json = false;
};

/// Each prints a table, or one JSON array unless stated otherwise.
void run_show_sweeps(const ShowOptions& options, std::ostream& out);
void run_show_decisions(const ShowOptions& options, std::ostream& out);
void run_show_generations(const ShowOptions& options, std::ostream& out);
void run_show_measurements(const ShowOptions& options, std::ostream& out);
void run_show_environments(const ShowOptions& options, std::ostream& out);
/// With `json`, prints the members of one world in the form that `lookup --members` reads.
/// Error(invalid_argument) if several worlds match, Error(not_found) if none does.
void run_show_members(const ShowOptions& options, std::ostream& out);
void run_show_failures(const ShowOptions& options, std::ostream& out);
void run_show_quarantines(const ShowOptions& options, std::ostream& out);

}  // namespace colltune
