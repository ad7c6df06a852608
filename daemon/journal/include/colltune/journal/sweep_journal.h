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
#include "colltune/sweep/passes/sweep.h"

namespace colltune {

/// Whether a sweep goes on where an earlier launch of the same one stopped.
enum class Resume {
  automatic,  ///< where it was killed or interrupted
  always,     ///< also where it ended by its budget
  never,
};

/// Rank 0's record of a sweep: the tuning database, a results file, or both. What `append` took is
/// on disk when it returns.
class SweepJournal final : public Journal {
 public:
  /// Opens (creates) the database, if one is named, and keeps it as its owner. Throws what Store
  /// throws.
  SweepJournal(const std::optional<std::filesystem::path>& database,
               const std::optional<std::filesystem::path>& results);

  /// Variants that are not to be measured; none without a database.
  [[nodiscard]] std::vector<QuarantineRecord> quarantines() const;
  /// What is published; nothing without a database, or where nothing is.
  [[nodiscard]] std::vector<Decision> decisions() const;
  /// Says what is measured. Continues the unfinished sweep of the same configuration, environment
  /// and launch, as `resume` asks, else begins `sweep`. Throws Error(already_exists) where a new
  /// sweep's results file is there already: results of another sweep are never overwritten.
  void file_under(SweepRecord sweep, Environment environment, Resume resume);

  [[nodiscard]] const std::string& sweep_uuid() const { return sweep_.uuid; }
  /// What an earlier launch of this sweep measured; empty for a new one.
  [[nodiscard]] const std::vector<Measurement>& stored() const { return stored_; }

  void begin(const SweepPlan& plan) override;
  void append(std::span<const Measurement> measurements) override;
  /// Publishes `published`, where there are any, and closes the sweep's record; a results file gets
  /// `found`, what this sweep alone decides. The generation is empty without a database, and where
  /// nothing is published.
  std::optional<Generation> finish(SweepState state, std::span<const Decision> found,
                                   std::span<const Decision> published, const std::string& summary);

 private:
  void open_results(bool replaces);

  std::optional<std::filesystem::path> database_;
  std::optional<Store> store_;
  std::optional<std::filesystem::path> results_path_;
  std::ofstream results_;
  std::optional<JournalLineWriter> lines_;
  SweepRecord sweep_;
  Environment environment_;
  bool is_continued_ = false;
  std::vector<Measurement> stored_;
};

/// The time now, UTC, ISO 8601 with seconds.
[[nodiscard]] std::string utc_now();
/// A random UUID from the kernel.
[[nodiscard]] std::string random_uuid();

}  // namespace colltune
