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

/// Whether a sweep continues where an earlier launch of the same sweep stopped.
enum class Resume {
  automatic,  ///< if that one was killed or interrupted
  always,     ///< also if its budget ended it
  never,
};

/// Rank 0's record of a sweep: the tuning database, a results file, or both. What `append` was
/// given is on disk when it returns.
class SweepJournal final : public Journal {
 public:
  /// Opens the database, if one is named, creating it if needed, and keeps it as its owner. Throws
  /// what Store throws.
  SweepJournal(const std::optional<std::filesystem::path>& database,
               const std::optional<std::filesystem::path>& results);

  /// Variants that must not be measured; none without a database.
  [[nodiscard]] std::vector<QuarantineRecord> quarantines() const;
  /// The published decisions; none without a database or a publication.
  [[nodiscard]] std::vector<Decision> decisions() const;
  /// Names what `plan` measures. Depending on `resume`, continues the unfinished sweep of the same
  /// configuration, environment, provenance and launch; otherwise begins `sweep`. Throws
  /// Error(failed_precondition) if what is stored of the unfinished sweep is of another regime than
  /// the plan, since the configuration's defaults meant another one then. Throws
  /// Error(already_exists) if the results file of a new sweep exists: results of another sweep are
  /// never overwritten.
  void file_under(SweepRecord sweep, Environment environment, const SweepPlan& plan, Resume resume);

  [[nodiscard]] const std::string& sweep_uuid() const { return sweep_.uuid; }
  /// What an earlier launch measured for this sweep; empty for a new sweep.
  [[nodiscard]] const std::vector<Measurement>& stored() const { return stored_; }

  void begin(const SweepPlan& plan) override;
  void append(std::span<const Measurement> measurements) override;
  /// Publishes `published`, if not empty, and closes the sweep's record. A results file gets
  /// `found`, the decisions of this sweep alone. The generation is empty without a database or if
  /// nothing is published. Its fits are what `fits_of` makes of all its decisions.
  std::optional<Generation> finish(SweepState state, std::span<const Decision> found,
                                   std::span<const Decision> published, const std::string& summary,
                                   const FitMaker& fits_of);

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

/// The current time: UTC, ISO 8601 with seconds.
[[nodiscard]] std::string utc_now();
/// A random UUID from the kernel.
[[nodiscard]] std::string random_uuid();

}  // namespace colltune
