// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "ranking.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "colltune/model/size_model.h"
#include "colltune/vocabulary/composition.h"
#include "lower_envelope.h"

namespace colltune {
namespace {

constexpr auto is_baseline = [](const RankedVariant& ranked) { return ranked.is_baseline; };

const RankedVariant* find_variant(const Decision& decision, const Variant& variant) {
  const auto found = std::ranges::find(decision.ranked, variant, &RankedVariant::variant);
  return found == decision.ranked.end() ? nullptr : &*found;
}

/// Moves `winner` to the front; the others keep their order.
void put_first(std::vector<RankedVariant>& ranked, std::vector<RankedVariant>::iterator winner) {
  std::rotate(ranked.begin(), winner, winner + 1);
}

RankedVariant interpolate(const RankedVariant& low, const RankedVariant& high, Bytes low_size,
                          Bytes high_size, Bytes at) {
  RankedVariant out = low;
  const auto between = [&](auto field) {
    return interpolate_time({low_size, low.*field}, {high_size, high.*field}, at);
  };
  out.median = between(&RankedVariant::median);
  out.low = between(&RankedVariant::low);
  out.high = between(&RankedVariant::high);
  out.speedup_over_baseline =
      interpolate_ratio(low.speedup_over_baseline, high.speedup_over_baseline,
                        position_between(low_size, high_size, at));
  out.samples = std::min(low.samples, high.samples);
  out.verified_calls = std::min(low.verified_calls, high.verified_calls);
  out.rounding = std::max(low.rounding, high.rounding);
  out.numeric_class = std::min(low.numeric_class, high.numeric_class);
  return out;
}

/// Whether a decision proves any variant of `implementation`.
bool is_any_proven(const Decision& decision, const std::string& implementation) {
  for (const RankedVariant& ranked : decision.ranked) {
    if (ranked.is_baseline) return false;
    if (ranked.variant.implementation == implementation) return true;
  }
  return false;
}

/// The fastest applicable variant that `nearer` proves, if `farther` proves a variant of the same
/// implementation. Parameters may differ, because the parameters that a sweep tries depend on the
/// size. Null if there is none.
const RankedVariant* find_of_kind(const Decision& nearer, const Decision& farther,
                                  const Asked& asked) {
  for (const RankedVariant& ranked : nearer.ranked) {
    if (ranked.is_baseline) return nullptr;
    if (why_not(ranked, asked).empty() && is_any_proven(farther, ranked.variant.implementation))
      return &ranked;
  }
  return nullptr;
}

/// `variant` with times such that its speed-up over `baseline` is that at its own size.
RankedVariant beside(const RankedVariant& baseline, const RankedVariant& variant) {
  RankedVariant out = variant;
  const double factor = static_cast<double>(baseline.median.count()) /
                        variant.speedup_over_baseline / static_cast<double>(variant.median.count());
  for (const auto field : {&RankedVariant::median, &RankedVariant::low, &RankedVariant::high})
    out.*field = std::chrono::nanoseconds(
        std::llround(static_cast<double>((variant.*field).count()) * factor));
  return out;
}

/// One step is its own merged form; compositions of unlike ranks are the merged form.
bool is_of_form(const Variant& variant, const Asked& asked) {
  const auto mode = mode_named_by(variant);
  if (!mode || mode == asked.form) return mode.has_value();
  if (asked.form != CompositionMode::merged) return false;
  return is_for_certain_members(variant) ||
         (mode == CompositionMode::sequential && asked.problem.mesh->steps.size() == 1);
}

bool is_winner(const Decision& decision, const Variant& variant) {
  return decision.ranked.front().variant == variant;
}

/// The first entry of `ranked` (sorted by median) that, if there is a baseline, is proven at both
/// neighbours and has won at one of them if `must_win`.
std::vector<RankedVariant>::iterator find_safe(std::vector<RankedVariant>& ranked,
                                               const Decision& lower, const Decision& upper,
                                               bool has_baseline, bool must_win) {
  return std::ranges::find_if(ranked, [&](const RankedVariant& candidate) {
    if (candidate.is_baseline && has_baseline) return false;
    const Variant& variant = candidate.variant;
    if (must_win && !is_winner(lower, variant) && !is_winner(upper, variant)) return false;
    return !has_baseline || (is_proven(lower, variant) && is_proven(upper, variant));
  });
}

/// What may be claimed for an interpolated ranking whose first entry is settled.
void judge_between(Ranking& ranking, const Decision& lower, const Decision& upper,
                   bool has_baseline) {
  const RankedVariant& winner = ranking.ranked.front();
  const bool is_kept = lower.verdict == Verdict::kept && upper.verdict == Verdict::kept;
  ranking.verdict = !has_baseline         ? Verdict::no_baseline
                    : !winner.is_baseline ? Verdict::displaced
                    : is_kept             ? Verdict::kept
                                          : Verdict::undecided;
  const auto confirms = [&](const Decision& decision) {
    return decision.status == DecisionStatus::confirmed && is_winner(decision, winner.variant);
  };
  if (!confirms(lower) || !confirms(upper)) return;
  ranking.status = DecisionStatus::confirmed;
  // The weaker of the two confirmations.
  ranking.confirmation =
      lower.confirmation.low <= upper.confirmation.low ? lower.confirmation : upper.confirmation;
}

}  // namespace

const RankedVariant& entry_of(const Decision& decision, const Variant& variant) {
  return *std::ranges::find(decision.ranked, variant, &RankedVariant::variant);
}

std::string why_not(const RankedVariant& variant, const Asked& asked) {
  if (asked.form && !is_of_form(variant.variant, asked))
    return "is no " + std::string(name_of(*asked.form)) + " form";
  if (!asked.takes_composed && is_for_certain_members(variant.variant))
    return "says what unlike ranks run together: only for a question whose members can do just "
           "the same as those that were measured";
  if (variant.numeric_class < asked.problem.numeric_class)
    return "guarantees numeric class " + std::string(name_of(variant.numeric_class)) + " only";
  return why_outside(variant.limits, asked.problem, asked.ranks);
}

bool is_proven(const Decision& decision, const Variant& variant) {
  for (const RankedVariant& ranked : decision.ranked) {
    if (ranked.is_baseline) return false;
    if (ranked.variant == variant) return true;
  }
  return false;
}

Ranking rank_at(const Decision& decision, const Asked& asked) {
  Ranking out;
  out.ranked.reserve(decision.ranked.size());
  for (const RankedVariant& variant : decision.ranked)
    if (why_not(variant, asked).empty()) out.ranked.push_back(variant);
  if (out.ranked.empty()) return out;
  const RankedVariant& first = out.ranked.front();
  if (first.variant == decision.ranked.front().variant) {
    out.reason = decision.reason;
    out.verdict = decision.verdict;
    out.status = decision.status;
    out.confirmation = decision.confirmation;
    return out;
  }
  if (std::ranges::any_of(out.ranked, is_baseline))
    out.verdict = first.is_baseline ? Verdict::undecided : Verdict::displaced;
  out.reason = "the winner " + to_string(decision.ranked.front().variant) + " does not apply (" +
               why_not(decision.ranked.front(), asked) + "); best of those that do";
  return out;
}

Ranking rank_between(const Decision& lower, const Decision& upper, const Asked& asked) {
  const Bytes low_size = lower.key.problem.message_size;
  const Bytes high_size = upper.key.problem.message_size;
  Ranking out;
  std::vector<std::pair<double, RankedVariant>> by_time;
  for (const RankedVariant& low : lower.ranked) {
    const RankedVariant* high = find_variant(upper, low.variant);
    if (high == nullptr || !why_not(low, asked).empty() || !why_not(*high, asked).empty()) continue;
    by_time.emplace_back(interpolate_precisely({low_size, low.median}, {high_size, high->median},
                                               asked.problem.message_size),
                         interpolate(low, *high, low_size, high_size, asked.problem.message_size));
  }
  if (by_time.empty()) return out;
  std::ranges::stable_sort(by_time, {}, [](const auto& entry) { return entry.first; });
  for (auto& [time, ranked] : by_time) out.ranked.push_back(std::move(ranked));
  const Decision& nearer =
      position_between(low_size, high_size, asked.problem.message_size) < 0.5 ? lower : upper;
  const std::string where = "between " + format_bytes(low_size) + " and " + format_bytes(high_size);
  const auto baseline = std::ranges::find_if(out.ranked, is_baseline);
  const bool has_baseline = baseline != out.ranked.end();
  const auto set_ends = [&](const RankedVariant& low, const RankedVariant& high) {
    out.first_at_lower = low.median;
    out.first_at_upper = high.median;
  };
  const auto winner = find_safe(out.ranked, lower, upper, has_baseline, true);
  const auto proven = find_safe(out.ranked, lower, upper, has_baseline, false);
  if (winner != out.ranked.end()) {
    put_first(out.ranked, winner);
    out.reason =
        where + ": won at a neighbouring size" +
        (has_baseline ? " and is proven to beat the baseline at both" : "; there is no baseline");
  } else if (has_baseline && proven != out.ranked.end()) {
    put_first(out.ranked, proven);
    out.reason = where + ": won at neither, but is proven to beat the baseline at both";
  } else if (const RankedVariant* kin =
                 has_baseline ? find_of_kind(nearer, &nearer == &lower ? upper : lower, asked)
                              : nullptr) {
    const RankedVariant first = beside(*baseline, *kin);
    set_ends(beside(*find_variant(lower, baseline->variant), *kin),
             beside(*find_variant(upper, baseline->variant), *kin));
    std::erase_if(out.ranked,
                  [&](const RankedVariant& one) { return one.variant == first.variant; });
    out.ranked.insert(out.ranked.begin(), first);
    out.reason = where + ": " + kin->variant.implementation +
                 " is proven to beat the baseline at both, with other parameters at each; these "
                 "are the nearer size's, " +
                 format_bytes(nearer.key.problem.message_size);
  } else if (has_baseline) {
    put_first(out.ranked, baseline);
    out.reason = where + ": no variant is proven to beat the baseline at both";
  } else {
    out.reason = where + ": the fastest by interpolation; there is no baseline";
  }
  if (const Variant& first = out.ranked.front().variant; out.first_at_lower.count() == 0)
    set_ends(*find_variant(lower, first), *find_variant(upper, first));
  for (const Decision* neighbour : {&lower, &upper}) {
    const RankedVariant& first = neighbour->ranked.front();
    if (asked.takes_composed || !is_for_certain_members(first.variant)) continue;
    out.reason += "; the winner at " + format_bytes(neighbour->key.problem.message_size) + ", " +
                  to_string(first.variant) + ", does not apply (" + why_not(first, asked) + ")";
  }
  judge_between(out, lower, upper, has_baseline);
  return out;
}

std::vector<double> changes_of_rank(const Decision& lower, const Decision& upper,
                                    const Asked& asked) {
  // What interpolate_precisely draws lines through.
  const bool has_logarithms = lower.key.problem.message_size.value > 0;
  const auto value_of = [&](const RankedVariant& ranked) {
    const auto time = static_cast<double>(ranked.median.count());
    return has_logarithms && time > 0 ? std::log(time) : time;
  };
  std::vector<UnitLine> winners;
  std::vector<UnitLine> proven;
  std::vector<UnitLine> baselines;
  std::vector<UnitLine> all;
  for (const RankedVariant& low : lower.ranked) {
    const RankedVariant* const high = find_variant(upper, low.variant);
    if (high == nullptr || !why_not(low, asked).empty() || !why_not(*high, asked).empty()) continue;
    const UnitLine line{.at_lower = value_of(low), .at_upper = value_of(*high)};
    const bool is_proven_at_both = is_proven(lower, low.variant) && is_proven(upper, low.variant);
    const bool has_won = is_winner(lower, low.variant) || is_winner(upper, low.variant);
    if (low.is_baseline) baselines.push_back(line);
    if (is_proven_at_both && has_won) winners.push_back(line);
    if (is_proven_at_both) proven.push_back(line);
    all.push_back(line);
  }
  const bool has_baseline = !baselines.empty();
  // Without a baseline the faster of the two winners comes first, proven or not.
  if (!has_baseline) winners = all;
  std::vector<double> changes;
  for (const auto* lines : {&winners, &proven, &baselines})
    for (const EnvelopePiece& piece : lower_envelope(*lines)) changes.push_back(piece.from);
  return changes;
}

Ranking rank_beyond(const Decision& nearest, const Asked& asked) {
  Ranking out = rank_at(nearest, asked);
  const Bytes size = nearest.key.problem.message_size;
  for (RankedVariant& variant : out.ranked) {
    for (const auto field : {&RankedVariant::median, &RankedVariant::low, &RankedVariant::high})
      variant.*field = extrapolate_time({size, variant.*field}, asked.problem.message_size);
  }
  out.reason = "nearest measured size " + format_bytes(size) + ": " + out.reason;
  out.status = DecisionStatus::provisional;
  out.confirmation = {};
  return out;
}

}  // namespace colltune
