// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// What fresh launches must show to confirm a winner.
struct ConfirmPolicy {
  /// Confidence of each one-sided bound of a speed-up over the launches. With fewer than five
  /// launches no 95 % bound exists; the smallest and the largest launch are used instead.
  double confidence = 0.95;
  /// A speed-up whose upper bound is below this is a loss and not noise.
  double loss = 0.95;
  /// Launches that must have measured both variants; with fewer the result stays open.
  std::size_t launches = 5;
  /// A launch in which the ranks of the key's world waited for a core for a larger share of the
  /// time was under load. It counts only with that part of the difference which the load cannot
  /// explain (duel.h, widened), and not at all if the load may explain all of it. If empty, all
  /// launches count as measured.
  std::optional<double> most_kept_waiting = 0.05;
};

/// The two variants of a decision that a fresh launch compares.
struct ConfirmContest {
  Variant candidate;  ///< the winner
  /// The baseline; if the family has none, the next variant in the ranking.
  Variant reference;

  friend bool operator==(const ConfirmContest&, const ConfirmContest&) = default;
};

/// Empty if there is nothing to confirm: the baseline leads, there is only one variant, or the
/// winner leads a family without a baseline and is slower than the key's baseline.
[[nodiscard]] std::optional<ConfirmContest> contest_of(const Decision& decision);

/// What confirmation did to a decision.
enum class ConfirmResult {
  confirmed,  ///< the winner held in the launches
  vetoed,     ///< it did not hold; another variant leads now, still provisional
  open,       ///< no conclusion is possible (ConfirmStep::why_open)
};

struct ConfirmStep {
  Decision decision;
  ConfirmResult result = ConfirmResult::open;
  std::string why_open{};  ///< for a person
  /// Of a result that is open: how many launches are lacking that measured both variants (in others
  /// time was used up, or the reference failed), if any did. Further launches may settle it.
  std::size_t launches_missed = 0;
};

/// What `launches` (the measurements of each) say about a provisional decision. Pure.
///
/// - Nothing is confirmed without launches that count. Without a contest the result is open.
/// - In each launch the winner's speed-up is the median over the common rounds of reference /
///   winner (over several passes: balanced_ratio). Over the launches it is the median of these; the
///   launch is the unit. A winner below 1 is vetoed: either it is a loss (upper bound below `loss`)
///   or it was not reproduced. A winner that was wrong or failed in any launch is vetoed too.
///   Otherwise it is confirmed.
/// - A vetoed winner moves behind the baseline. The next proven variant leads, or else the
///   baseline, which is then confirmed (`kept`).
/// - In a family without a baseline the winner is vetoed only by a loss against the next variant or
///   by a fault. After a loss the next variant leads and is confirmed, because it won in the same
///   launches.
/// - The reason says what happened.
[[nodiscard]] ConfirmStep confirm(Decision decision,
                                  std::span<const std::vector<Measurement>> launches,
                                  const ConfirmPolicy& policy);

/// The decision after too many vetoes: everything ahead of the baseline moves behind it, and the
/// baseline is confirmed. Without a baseline the decision stays unchanged and provisional.
[[nodiscard]] Decision keep_baseline(Decision decision, std::size_t launches);

}  // namespace colltune
