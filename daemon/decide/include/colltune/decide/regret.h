// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "colltune/decide/decision_policy.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// One choice judged by samples that took no part in making it. Speed-ups are over the baseline, by
/// rounds (decide.h), of several passes ratio_over_passes; variants are compared by the passes
/// that both ran in.
struct KeyRegret {
  TuningKey key;
  std::string sweep_uuid;  ///< whose choice it is; empty where there is but one
  Verdict verdict = Verdict::no_baseline;
  Variant chosen;
  Variant best;  ///< the fastest in the judging samples
  double chosen_speedup = 0;
  double best_speedup = 0;  ///< at least chosen_speedup and 1
  double regret = 0;        ///< best / chosen - 1

  friend bool operator==(const KeyRegret&, const KeyRegret&) = default;
};

/// What choices are worth, over keys.
struct Regret {
  std::vector<KeyRegret> keys;
  std::size_t not_judged = 0;  ///< choices for which there are no samples to judge by
  /// Geometric means over the keys; 1 without keys.
  double chosen_speedup = 1;
  double best_speedup = 1;
  double within_five_percent = 0;  ///< share of the keys whose regret is at most 5 %

  friend bool operator==(const Regret&, const Regret&) = default;
};

/// Of the keys that were decided: undecided ones, where the baseline stays for want of proof, are
/// counted apart.
[[nodiscard]] Regret without_undecided(const Regret& regret);

/// Cross-fitting by rounds, of one sweep: decides on the even rounds and judges by the odd ones,
/// and the other way round; each key enters twice. The best is the fastest in the judging rounds,
/// among the variants that ran in at least half of them: it profits from their noise, so regret is
/// overstated, never understated. Throws Error(invalid_argument) where a trial occurs twice in a
/// pass.
[[nodiscard]] Regret cross_fitted_regret(std::span<const Measurement> measurements,
                                         const DecisionPolicy& policy);

/// One launch: what it measured and, where it was a sweep, decided (any_family is judged).
struct Launch {
  std::string sweep_uuid;
  std::vector<Measurement> measurements;
  std::vector<Decision> decisions;
};

/// Judges each launch's decisions by all other launches: the chosen variant's speed-up is the
/// median over them of its median ratio there, another variant's that times the median of its
/// ratios to the chosen one within each launch (launches differ; only what ran in the same one
/// compares). Cells in which steal reached `steal_limit` (the median of their trials; not observed
/// counts as quiet) judge nothing. The best is taken among the variants known from at least half of
/// the judging launches. Throws Error(invalid_argument) where a trial occurs twice in a pass of a
/// launch.
[[nodiscard]] Regret pooled_regret(std::span<const Launch> launches, double steal_limit = 0.05);

/// Which variant would have been answered for a key of a held-out size.
struct HeldOutAnswer {
  TuningKey key;
  Verdict verdict = Verdict::no_baseline;
  Variant chosen;
};

/// Judges answers for sizes that took no part in deciding by what was measured there (is_holdout):
/// also by few rounds, since who is slow there leaves them early.
[[nodiscard]] Regret held_out_regret(std::span<const Measurement> measurements,
                                     std::span<const HeldOutAnswer> answers);

}  // namespace colltune
