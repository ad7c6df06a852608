// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fstream>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/db/store.h"
#include "colltune/json/journal_lines.h"
#include "colltune/sweep/sweep.h"

namespace colltune {

/// Rank 0's record of a sweep: the tuning database, a results file, or both. What `append` took is
/// on disk when it returns.
class SweepJournal final : public Journal {
 public:
  /// Opens (creates) what is named; at least one is. Throws what Store throws;
  /// Error(already_exists) where the results file is there already: results of another sweep are
  /// never overwritten.
  SweepJournal(const std::optional<std::filesystem::path>& database,
               const std::optional<std::filesystem::path>& results);

  /// What the sweep is filed under; set before `begin`.
  void describe(SweepRecord sweep, Environment environment);

  void begin(const SweepPlan& plan) override;
  void append(std::span<const Measurement> measurements) override;
  /// Publishes the decisions and closes the sweep's record. The generation is empty without a
  /// database.
  std::optional<Generation> finish(SweepState state, std::span<const Decision> decisions,
                                   const std::string& summary);

 private:
  std::optional<Store> store_;
  std::string results_name_;
  std::ofstream results_;
  std::optional<JournalLineWriter> lines_;
  SweepRecord sweep_;
  Environment environment_;
};

/// The time now, UTC, ISO 8601 with seconds.
[[nodiscard]] std::string utc_now();
/// A random UUID from the kernel.
[[nodiscard]] std::string random_uuid();

}  // namespace colltune
