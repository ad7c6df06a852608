// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "shown_faster.h"

#include <algorithm>

namespace colltune {
namespace {

/// The decision `step` places after `nearest` in the order of sizes; null if there is none.
const Decision* at_distance(const Curve& curve, const Decision* nearest, std::ptrdiff_t step) {
  if (nearest == nullptr) return nullptr;
  const auto found = std::ranges::lower_bound(
      curve.decisions, nearest->key.problem.message_size, {},
      [](const Decision* decision) { return decision->key.problem.message_size; });
  const std::ptrdiff_t at = found - curve.decisions.begin() + step;
  return at >= 0 && at < std::ssize(curve.decisions) ? curve.decisions[at] : nullptr;
}

const RankedVariant* find_entry(const Decision& decision, const Variant& variant) {
  const auto found = std::ranges::find(decision.ranked, variant, &RankedVariant::variant);
  return found == decision.ranked.end() ? nullptr : &*found;
}

}  // namespace

Beside below(const Curve& curve, const Neighbours& around) {
  return {around.lower, at_distance(curve, around.lower, -1)};
}

Beside above(const Curve& curve, const Neighbours& around) {
  return {around.upper, at_distance(curve, around.upper, 1)};
}

bool lacks_proof(const Decision& decision) { return decision.verdict == Verdict::undecided; }

bool is_clearly_faster(const RankedVariant& one, const RankedVariant& baseline) {
  return one.median.count() > 0 && one.high < baseline.low;
}

bool shows_faster(const Decision& decision, const Variant& variant, const Variant& baseline) {
  if (is_proven(decision, variant)) return true;
  const RankedVariant* const one = lacks_proof(decision) ? find_entry(decision, variant) : nullptr;
  const RankedVariant* const other = one == nullptr ? nullptr : find_entry(decision, baseline);
  return other != nullptr && is_clearly_faster(*one, *other);
}

}  // namespace colltune
