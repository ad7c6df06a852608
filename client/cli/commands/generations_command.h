// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <iosfwd>
#include <optional>
#include <string>

namespace colltune {

/// `colltune diff` as typed.
struct DiffOptions {
  std::string database;
  std::optional<std::uint64_t> from;  ///< empty: the one before `to`
  std::optional<std::uint64_t> to;    ///< empty: the newest
  std::string family;                 ///< empty: any_family, "all": each
  bool json = false;
};

/// `colltune rollback` as typed.
struct RollbackOptions {
  std::string database;
  std::optional<std::uint64_t> to;  ///< empty: the one before the newest
};

/// Prints what differs between two generations: decisions that came or went, winners, verdicts and
/// how far they may be trusted. Error(not_found) where one of them is not there.
void run_diff(const DiffOptions& options, std::ostream& out);

/// Publishes an earlier generation's decisions again as a new one. Measurements stay: the next
/// sweep's evidence is judged with all of them.
void run_rollback(const RollbackOptions& options, std::ostream& out);

}  // namespace colltune
