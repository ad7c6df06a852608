// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "colltune/table_file/table_view.h"
#include "colltune/vocabulary/decision_set.h"
#include "colltune/vocabulary/lookup.h"

namespace colltune {

/// (alpha + beta * size) * exp(growth * position): a time that a fit gives, in ns. The position is
/// that of the size between AnswerRange::from (0) and `to` (1) by position_between().
struct TimeLine {
  double alpha = 0;   ///< in ns
  double beta = 0;    ///< in ns per byte
  double growth = 0;  ///< logarithm of a ratio

  friend bool operator==(const TimeLine&, const TimeLine&) = default;
};

/// What fits say of a range of sizes.
struct AnswerPrediction {
  std::optional<TimeLine> line;           ///< of the variant
  std::optional<TimeLine> baseline_line;  ///< without growth
  FitInterval interval;                   ///< of the variant's time, where it has a model
  std::string model;                      ///< empty: none, and no interval
  FitChoice choice = FitChoice::none;

  friend bool operator==(const AnswerPrediction&, const AnswerPrediction&) = default;
};

/// The answer for all sizes from `first` on, up to the next range.
struct AnswerRange {
  /// A variant's times at the measured sizes that the answer is based on. `Source` says how the
  /// time at another size follows from them.
  struct Times {
    std::chrono::nanoseconds from{};
    std::chrono::nanoseconds to{};

    friend bool operator==(const Times&, const Times&) = default;
  };

  Bytes first;
  std::optional<Variant> variant;  ///< empty: no measured variant can run these sizes
  bool is_baseline = false;
  std::optional<Variant> baseline;  ///< empty: it is not ranked
  Source source = Source::measured;
  Verdict verdict = Verdict::no_baseline;
  DecisionStatus status = DecisionStatus::provisional;
  Bytes from;  ///< the measured sizes that the answer is based on; equal unless interpolated
  Bytes to;
  Times times;
  Times baseline_times;
  std::optional<AnswerPrediction> prediction;  ///< where fits say something; the times then follow
                                               ///< from its lines, where there are

  friend bool operator==(const AnswerRange&, const AnswerRange&) = default;
};

/// The answers to calls that differ only in their message size, asked without members.
struct AnswerGroup {
  TuningKey key;  ///< the message size is 0; the numeric class is the one that a caller demands
  std::string family;
  std::vector<AnswerRange> ranges;  ///< by size, from 0 on; the sizes are rounded ones
};

/// What a table file holds.
struct TableContent {
  DecisionSet set;  ///< of one environment
  std::string environment_digest;
  std::vector<AnswerGroup> groups;  ///< DecisionTable::answer_groups() of `set`
};

/// The bytes of the file; equal contents give equal bytes. Throws Error(invalid_argument) if a
/// decision is of another environment or a group or range is malformed, Error(resource_exhausted)
/// for more than the format can number.
[[nodiscard]] std::string encode_table(const TableContent& content);

}  // namespace colltune
