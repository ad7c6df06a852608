// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

#include "text/regime_choice.h"

namespace colltune {

/// `colltune diff` as typed.
struct DiffOptions {
  std::string database;
  std::optional<std::uint64_t> from;  ///< empty: the generation before `to`
  std::optional<std::uint64_t> to;    ///< empty: the newest
  std::string family;                 ///< empty: any_family; "all": every family
  RegimeOptions regime;               ///< empty: all
  bool json = false;
};

/// `colltune rollback` as typed.
struct RollbackOptions {
  std::string database;
  std::optional<std::uint64_t> to;  ///< empty: the generation before the newest
};

/// Prints how two generations differ: decisions added or removed, winners, verdicts, and how far
/// the decisions may be trusted. Error(not_found) if one of the generations does not exist.
void run_diff(const DiffOptions& options, std::ostream& out);

/// Publishes an earlier generation's decisions again as a new generation. Measurements stay, so the
/// next sweep's evidence is judged together with all of them.
void run_rollback(const RollbackOptions& options, std::ostream& out);

}  // namespace colltune
