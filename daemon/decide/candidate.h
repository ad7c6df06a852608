// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "colltune/decide/decision_policy.h"
#include "colltune/decide/duel.h"
#include "colltune/decide/rounds.h"
#include "colltune/decide/statistics.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// A trial that may rank (or a twin), with what is derived from its samples in all passes.
struct Candidate {
  const Measurement* measurement = nullptr;  ///< of its first pass: what is the same in all
  PassRounds rounds;                         ///< see round_medians; of each pass it took part in
  std::size_t samples = 0;                   ///< that count
  std::uint64_t verified_calls = 0;
  /// Of the median of the rounds, ns per call, each pass by its weight; of all samples where none
  /// counts.
  MedianInterval per_call;
  /// lost_in_counted() of all passes, by samples.
  double lost = 0;
};

/// The trials of one key.
struct Contest {
  std::vector<Candidate> candidates;  ///< without twins; simpler ones first
  std::vector<Candidate> twins;
  PassWeights weights;  ///< of the key's passes
  /// kept_waiting_of() all trials of the key, or of its world where that is more: a load that was
  /// there all the time does not show in each key.
  double load = -1;

  /// Whether something else ran there, so that bounds must allow for it.
  [[nodiscard]] bool is_loaded(const DecisionPolicy& policy) const;
  /// `rival` beside `reference`, with bounds that allow for a load where there was one.
  [[nodiscard]] Duel duel(const Candidate& reference, const Candidate& rival, double risk,
                          const DecisionPolicy& policy) const;
  /// How many rivals a baseline has: what the risk is divided by.
  [[nodiscard]] std::size_t rivals() const;
  /// The twin of that baseline against it.
  [[nodiscard]] Duel twin_duel(const Candidate& baseline, double risk,
                               const DecisionPolicy& policy) const;
};

/// `is_holdout` picks the trials of held-out sizes, or those of all others. A trial that was not ok
/// in some pass may not rank. Throws Error(invalid_argument) where a trial occurs twice in a pass.
[[nodiscard]] std::map<TuningKey, Contest> contests_of(std::span<const Measurement> measurements,
                                                       bool is_holdout, double confidence);

/// Baselines first; then by what they guarantee of the bits, fewer roundings, not emulated, fewer
/// parameters, name.
[[nodiscard]] bool is_simpler(const Measurement& a, const Measurement& b);

/// The fastest baseline among `candidates`, by median; null where there is none.
[[nodiscard]] const Candidate* fastest_baseline(std::span<const Candidate* const> candidates);

}  // namespace colltune
