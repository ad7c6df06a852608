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

/// A trial that may rank (or a twin), with statistics of its samples in all passes.
struct RankedCandidate {
  const Measurement* measurement = nullptr;  ///< of its first pass, for what is equal in all
  PassRounds rounds;                         ///< see round_medians; for each pass it ran in
  std::size_t samples = 0;                   ///< that count
  std::uint64_t verified_calls = 0;
  /// Of the median over the rounds, in ns per call, each pass by its weight; over all samples if no
  /// round counts.
  MedianInterval per_call;
  /// waited_in_counted() over all passes, weighted by samples.
  double waited = 0;
};

/// The trials of one key.
struct Contest {
  std::vector<RankedCandidate> candidates;  ///< without twins; simpler ones first
  std::vector<RankedCandidate> twins;
  PassWeights weights;  ///< of the key's passes
  /// kept_waiting_of() all trials of the key, or of its world if that is more: a constant load does
  /// not show in each key.
  double load = -1;

  /// Whether ranks were kept waiting so much that bounds must allow for a load.
  [[nodiscard]] bool is_loaded(const DecisionPolicy& policy) const;
  /// The duel of `rival` with `reference`; the bounds allow for a load if there was one.
  [[nodiscard]] Duel duel(const RankedCandidate& reference, const RankedCandidate& rival,
                          double risk, const DecisionPolicy& policy) const;
  /// How many rivals the baselines have; the risk is divided by this number.
  [[nodiscard]] std::size_t rivals() const;
  /// The duel of that baseline's twin with it.
  [[nodiscard]] Duel twin_duel(const RankedCandidate& baseline, double risk,
                               const DecisionPolicy& policy) const;
};

/// The trials of held-out sizes (`is_holdout`), or those of all other sizes. A trial that was not
/// ok in some pass may not rank. Throws Error(invalid_argument) if a trial occurs twice in a pass.
[[nodiscard]] std::map<TuningKey, Contest> contests_of(std::span<const Measurement> measurements,
                                                       bool is_holdout, double confidence);

/// The order of preference at equal speed: baselines first, then the stronger numeric class, fewer
/// roundings, not emulated, no composition, fewer parameters, name.
[[nodiscard]] bool is_simpler(const Measurement& a, const Measurement& b);

/// The baseline among `candidates` with the lowest median; null if there is none.
[[nodiscard]] const RankedCandidate* fastest_baseline(
    std::span<const RankedCandidate* const> candidates);

}  // namespace colltune
