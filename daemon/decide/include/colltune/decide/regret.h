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

/// One choice, judged by samples that took no part in making it. Speed-ups are over the baseline,
/// by rounds (decide.h), over several passes by ratio_over_passes. Variants are compared over the
/// passes that both ran in.
struct KeyRegret {
  TuningKey key;
  std::string sweep_uuid;  ///< whose choice it is; empty if there is only one sweep
  Verdict verdict = Verdict::no_baseline;
  Variant chosen;
  Variant best;  ///< the fastest in the judging samples
  double chosen_speedup = 0;
  double best_speedup = 0;  ///< at least chosen_speedup and 1
  double regret = 0;        ///< best / chosen - 1

  friend bool operator==(const KeyRegret&, const KeyRegret&) = default;
};

/// What choices are worth, over many keys.
struct Regret {
  std::vector<KeyRegret> keys;
  std::size_t not_judged = 0;  ///< choices for which no samples to judge by exist
  /// Geometric means over the keys; 1 without keys.
  double chosen_speedup = 1;
  double best_speedup = 1;
  double within_five_percent = 0;  ///< share of the keys whose regret is at most 5 %

  friend bool operator==(const Regret&, const Regret&) = default;
};

/// Only the decided keys. Undecided ones, where the baseline stays for lack of proof, are counted
/// separately.
[[nodiscard]] Regret without_undecided(const Regret& regret);

/// Cross-fitting by rounds, within one sweep: decides on the even rounds and judges by the odd
/// ones, and vice versa; each key enters twice. The best variant is the fastest in the judging
/// rounds, among the variants that ran in at least half of them. It profits from their noise, so
/// regret is overstated and never understated. Throws Error(invalid_argument) if a trial occurs
/// twice in a pass.
[[nodiscard]] Regret cross_fitted_regret(std::span<const Measurement> measurements,
                                         const DecisionPolicy& policy);

/// One launch: its measurements and, if it was a sweep, its decisions (those of any_family are
/// judged).
struct Launch {
  std::string sweep_uuid;
  std::vector<Measurement> measurements;
  std::vector<Decision> decisions;
};

/// Judges each launch's decisions by all other launches. The chosen variant's speed-up is the
/// median over them of its median ratio in each. Another variant's is that speed-up times the
/// median of its ratios to the chosen one within each launch, because launches differ and only
/// variants of the same launch can be compared. Cells whose steal (the median of their trials; not
/// observed counts as quiet) reached `steal_limit` judge nothing. The best is chosen among variants
/// known from at least half of the judging launches. Throws Error(invalid_argument) if a trial
/// occurs twice in a pass of a launch.
[[nodiscard]] Regret pooled_regret(std::span<const Launch> launches, double steal_limit = 0.05);

/// The variant that would have been answered for a key of a held-out size.
struct HeldOutAnswer {
  TuningKey key;
  Verdict verdict = Verdict::no_baseline;
  Variant chosen;
};

/// Judges answers for sizes that took no part in deciding by the measurements at these sizes
/// (is_holdout). Variants with few rounds count too, because slow variants leave early there.
[[nodiscard]] Regret held_out_regret(std::span<const Measurement> measurements,
                                     std::span<const HeldOutAnswer> answers);

}  // namespace colltune
