// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "ratio_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <utility>

#include "colltune/model/size_model.h"

namespace colltune {
namespace {

// As logarithms of ratios. Chosen by leaving out one size, or several, of eight collectives; from
// 0.15 to 0.3 and 0.05 to 0.15 the choices are nearly the same.
constexpr double gain_of_implementation = 0.2;
constexpr double gain_over_baseline = 0.1;

/// The two sizes around the asked one.
class Surroundings {
 public:
  Surroundings(const Decision& lower, const Decision& upper, const Asked& asked)
      : decisions_{&lower, &upper},
        asked_(asked),
        position_(position_between(lower.key.problem.message_size, upper.key.problem.message_size,
                                   asked.problem.message_size)) {}

  [[nodiscard]] const std::array<const Decision*, 2>& decisions() const { return decisions_; }
  [[nodiscard]] double between(double at_lower, double at_upper) const {
    return (1 - position_) * at_lower + position_ * at_upper;
  }
  [[nodiscard]] std::size_t nearer() const { return position_ <= 0.5 ? 0 : 1; }
  [[nodiscard]] bool can_run(const RankedVariant& ranked) const {
    return ranked.median.count() > 0 && why_not(ranked, asked_).empty();
  }
  /// Whether its limits exclude the variant at that size.
  [[nodiscard]] bool is_excluded(const RankedVariant& ranked, std::size_t side) const {
    return !why_outside(ranked.limits, decisions_.at(side)->key.problem, asked_.ranks).empty();
  }
  [[nodiscard]] bool is_proven_somewhere(const Variant& variant) const {
    return std::ranges::any_of(
        decisions_, [&](const Decision* decision) { return is_proven(*decision, variant); });
  }

 private:
  std::array<const Decision*, 2> decisions_;
  const Asked& asked_;
  double position_;
};

/// An entry at one of the sizes and the logarithm of its time over the baseline's there.
struct SidedRatio {
  const RankedVariant* entry = nullptr;
  double log_ratio = std::numeric_limits<double>::infinity();
};
using BothSides = std::array<SidedRatio, 2>;

bool is_on_both(const BothSides& sides) {
  return sides[0].entry != nullptr && sides[1].entry != nullptr;
}

/// The first baseline of the lower size that the upper one ranks too.
std::optional<BothSides> find_baseline(const Surroundings& around) {
  const auto& [lower, upper] = around.decisions();
  for (const RankedVariant& one : lower->ranked) {
    if (!one.is_baseline || !around.can_run(one)) continue;
    const auto other = std::ranges::find(upper->ranked, one.variant, &RankedVariant::variant);
    if (other != upper->ranked.end() && around.can_run(*other))
      return BothSides{SidedRatio{&one, 0}, SidedRatio{&*other, 0}};
  }
  return {};
}

double log_ratio(const RankedVariant& one, const RankedVariant& baseline) {
  return std::log(static_cast<double>(one.median.count()) /
                  static_cast<double>(baseline.median.count()));
}

/// What is known of a variant at the asked size, if enough is.
std::optional<double> expected(const Surroundings& around, const BothSides& sides) {
  if (is_on_both(sides)) return around.between(sides[0].log_ratio, sides[1].log_ratio);
  const std::size_t there = sides[0].entry != nullptr ? 0 : 1;
  if (around.is_excluded(*sides.at(there).entry, 1 - there)) return sides.at(there).log_ratio;
  return {};
}

}  // namespace

std::optional<RatioChoice> choose_by_ratio(const Decision& lower, const Decision& upper,
                                           const Asked& asked) {
  const Surroundings around(lower, upper, asked);
  const std::optional<BothSides> baseline = find_baseline(around);
  if (!baseline) return {};
  std::map<Variant, BothSides> variants;
  std::map<std::string, BothSides> implementations;
  for (std::size_t side = 0; side < 2; ++side)
    for (const RankedVariant& one : around.decisions().at(side)->ranked) {
      if (one.is_baseline || !around.can_run(one) || !around.is_proven_somewhere(one.variant))
        continue;
      const SidedRatio here{&one, log_ratio(one, *baseline->at(side).entry)};
      variants[one.variant].at(side) = here;
      SidedRatio& best = implementations[one.variant.implementation].at(side);
      if (here.log_ratio < best.log_ratio) best = here;
    }
  SidedRatio chosen{baseline->front().entry, 0};
  for (const auto& [variant, sides] : variants) {
    const std::optional<double> ratio = expected(around, sides);
    if (!ratio || *ratio >= chosen.log_ratio) continue;
    const bool is_at_nearer = sides.at(around.nearer()).entry != nullptr;
    const std::size_t side = is_at_nearer ? around.nearer() : 1 - around.nearer();
    chosen = {sides.at(side).entry, *ratio};
  }
  SidedRatio of_kind = chosen;
  for (const auto& [name, sides] : implementations) {
    if (!is_on_both(sides)) continue;
    const double ratio = around.between(sides[0].log_ratio, sides[1].log_ratio);
    if (ratio < chosen.log_ratio - gain_of_implementation && ratio < of_kind.log_ratio)
      of_kind = {sides.at(around.nearer()).entry, ratio};
  }
  if (of_kind.log_ratio > -gain_over_baseline) of_kind = {baseline->front().entry, 0};
  return RatioChoice{.entry = *of_kind.entry, .ratio = std::exp(of_kind.log_ratio)};
}

}  // namespace colltune
