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

/// What fresh launches must show.
struct ConfirmPolicy {
  /// Of the bounds of a speed-up over the launches, each one-sided. With fewer than five launches
  /// no 95 % bound exists; the smallest and the largest launch stand for it.
  double confidence = 0.95;
  /// A speed-up whose upper bound is below this is a loss, not noise.
  double loss = 0.95;
  /// Launches that must have measured both; with fewer nothing is said.
  std::size_t launches = 5;
  /// Of a launch in which the ranks of the key's world waited for a core for a larger share of the
  /// time, only that counts which the load cannot have done (duel.h, widened); one whose whole
  /// difference it may have done does not count. Without it all count as they are.
  std::optional<double> most_kept_waiting = 0.05;
};

/// The two variants that a fresh launch compares for a decision.
struct ConfirmContest {
  Variant candidate;  ///< the winner
  /// The baseline; where the family has none, the next in the ranking.
  Variant reference;

  friend bool operator==(const ConfirmContest&, const ConfirmContest&) = default;
};

/// Empty where nothing can be confirmed: the baseline leads, there is only one variant, or the
/// winner leads a family without a baseline and is slower than the key's.
[[nodiscard]] std::optional<ConfirmContest> contest_of(const Decision& decision);

/// What became of a decision.
enum class ConfirmResult {
  confirmed,  ///< the winner held in the launches
  vetoed,     ///< it did not hold: another one leads now, which is still provisional
  open,       ///< nothing can be said (ConfirmStep::why_open)
};

struct ConfirmStep {
  Decision decision;
  ConfirmResult result = ConfirmResult::open;
  std::string why_open{};  ///< for a person
};

/// What `launches` (the measurements of each) say about a provisional decision. Pure.
///
/// - Nothing is confirmed without launches that count. Without a contest: open.
/// - In each launch the winner's speed-up is the median over the common rounds of reference /
///   winner (of several passes: balanced_ratio). Over the launches it is their median; the launch
///   is the unit. Below 1 the winner is vetoed: either a loss (upper bound below `loss`) or not
///   reproduced. So it is where it was wrong or failed in any launch. Otherwise it is confirmed.
/// - A vetoed winner moves behind the baseline; the next proven one leads, or the baseline, which
///   is then confirmed (`kept`).
/// - In a family without a baseline the winner is vetoed only by a loss against the next one or by
///   a fault. After a loss the next one leads and is confirmed: it won in the same launches.
/// - The reason says what happened.
[[nodiscard]] ConfirmStep confirm(Decision decision,
                                  std::span<const std::vector<Measurement>> launches,
                                  const ConfirmPolicy& policy);

/// The decision after too many vetoes: all that is before the baseline moves behind it, and it is
/// confirmed. Without a baseline it stays as it is, provisional.
[[nodiscard]] Decision keep_baseline(Decision decision, std::size_t launches);

}  // namespace colltune
