// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "ratio_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>

#include "colltune/model/size_model.h"
#include "shown_faster.h"

namespace colltune {
namespace {

// As a logarithm of a ratio. Chosen by leaving out one size, or several, of eight collectives; from
// 0.15 to 0.3 the choices are nearly the same.
constexpr double gain_of_implementation = 0.2;

/// The two sizes around the asked one, the lower first, each with the one behind it.
class Surroundings {
 public:
  Surroundings(const Curve& curve, const Neighbours& around, const Asked& asked)
      : sides_{below(curve, around), above(curve, around)},
        asked_(asked),
        position_(position_between(size_of(*around.lower), size_of(*around.upper),
                                   asked.problem.message_size)) {}

  [[nodiscard]] const Decision& decision(std::size_t side) const {
    return *sides_.at(side).nearest;
  }
  [[nodiscard]] const Decision* behind(std::size_t side) const { return sides_.at(side).behind; }
  [[nodiscard]] double between(double at_lower, double at_upper) const {
    return (1 - position_) * at_lower + position_ * at_upper;
  }
  [[nodiscard]] std::size_t nearer() const { return position_ <= 0.5 ? 0 : 1; }
  [[nodiscard]] bool can_run(const RankedVariant& ranked) const {
    return ranked.median.count() > 0 && why_not(ranked, asked_).empty();
  }
  /// Whether its limits exclude the variant at that size.
  [[nodiscard]] bool is_excluded(const RankedVariant& ranked, std::size_t side) const {
    return !why_outside(ranked.limits, decision(side).key.problem, asked_.ranks).empty();
  }

 private:
  static Bytes size_of(const Decision& decision) { return decision.key.problem.message_size; }

  std::array<Beside, 2> sides_;
  const Asked& asked_;
  double position_;
};

/// An entry at one of the sizes, and what it is beside the baseline there.
struct SidedRatio {
  const RankedVariant* entry = nullptr;
  double log_ratio = std::numeric_limits<double>::infinity();
  bool is_proven = false;
  bool is_clear = false;  ///< clearly faster where proof is lacking
};
using BothSides = std::array<SidedRatio, 2>;

bool is_on_both(const BothSides& sides) {
  return sides[0].entry != nullptr && sides[1].entry != nullptr;
}

/// The side of an entry that is on one alone.
std::size_t only_side(const BothSides& sides) { return sides[0].entry != nullptr ? 0 : 1; }

/// The first baseline of the lower size that the upper one ranks too.
std::optional<BothSides> find_baseline(const Surroundings& around) {
  const Decision& upper = around.decision(1);
  for (const RankedVariant& one : around.decision(0).ranked) {
    if (!one.is_baseline || !around.can_run(one)) continue;
    const auto other = std::ranges::find(upper.ranked, one.variant, &RankedVariant::variant);
    if (other != upper.ranked.end() && around.can_run(*other))
      return BothSides{SidedRatio{.entry = &one, .log_ratio = 0},
                       SidedRatio{.entry = &*other, .log_ratio = 0}};
  }
  return {};
}

double log_ratio(const RankedVariant& one, const RankedVariant& baseline) {
  return std::log(static_cast<double>(one.median.count()) /
                  static_cast<double>(baseline.median.count()));
}

std::map<Variant, BothSides> rivals_of(const Surroundings& around, const BothSides& baseline) {
  std::map<Variant, BothSides> rivals;
  for (std::size_t side = 0; side < 2; ++side) {
    const RankedVariant& here = *baseline.at(side).entry;
    const bool may_be_clear = lacks_proof(around.decision(side));
    bool is_proven = true;  // what precedes all baselines
    for (const RankedVariant& one : around.decision(side).ranked) {
      is_proven = is_proven && !one.is_baseline;
      if (one.is_baseline || !around.can_run(one)) continue;
      rivals[one.variant].at(side) = {.entry = &one,
                                      .log_ratio = log_ratio(one, here),
                                      .is_proven = is_proven,
                                      .is_clear = may_be_clear && is_clearly_faster(one, here)};
    }
  }
  return rivals;
}

/// By what a variant may win; empty if nothing shows that it is faster than the baseline.
std::optional<Shown> shown(const Surroundings& around, const BothSides& sides,
                           const Variant& baseline) {
  if (sides[0].is_proven || sides[1].is_proven) return Shown::proven;
  if (is_on_both(sides)) {
    const bool is_clear = sides[0].is_clear && sides[1].is_clear;
    return is_clear ? std::optional(Shown::clear_at_two) : std::nullopt;
  }
  const std::size_t side = only_side(sides);
  const Decision* const behind = around.behind(side);
  const bool is_clear = sides.at(side).is_clear && behind != nullptr &&
                        shows_faster(*behind, sides.at(side).entry->variant, baseline);
  return is_clear ? std::optional(Shown::clear_at_two) : std::nullopt;
}

/// What is known of a variant at the asked size, if enough is.
std::optional<double> expected(const Surroundings& around, const BothSides& sides) {
  if (is_on_both(sides)) return around.between(sides[0].log_ratio, sides[1].log_ratio);
  const std::size_t there = only_side(sides);
  if (around.is_excluded(*sides.at(there).entry, 1 - there)) return sides.at(there).log_ratio;
  return {};
}

struct Candidate {
  const RankedVariant* entry = nullptr;
  double log_ratio = 0;
  Shown by = Shown::proven;
};

/// An implementation's best at both sizes, and by what they may win.
struct BestOfKind {
  BothSides sides;
  std::array<Shown, 2> by{};
};

}  // namespace

std::optional<RatioChoice> choose_by_ratio(const Curve& curve, const Neighbours& neighbours,
                                           const Asked& asked) {
  const Surroundings around(curve, neighbours, asked);
  const std::optional<BothSides> baselines = find_baseline(around);
  if (!baselines) return {};
  const Candidate baseline{.entry = baselines->front().entry};
  Candidate chosen = baseline;
  std::map<std::string, BestOfKind> implementations;
  for (const auto& [variant, sides] : rivals_of(around, *baselines)) {
    const std::optional<Shown> by = shown(around, sides, baseline.entry->variant);
    if (!by) continue;
    BestOfKind& best = implementations[variant.implementation];
    for (std::size_t side = 0; side < 2; ++side)
      if (sides.at(side).log_ratio < best.sides.at(side).log_ratio) {
        best.sides.at(side) = sides.at(side);
        best.by.at(side) = *by;
      }
    const std::optional<double> ratio = expected(around, sides);
    if (!ratio || *ratio >= chosen.log_ratio) continue;
    const bool is_at_nearer = sides.at(around.nearer()).entry != nullptr;
    const std::size_t side = is_at_nearer ? around.nearer() : 1 - around.nearer();
    chosen = {sides.at(side).entry, *ratio, *by};
  }
  Candidate of_kind = chosen;
  for (const auto& [name, best] : implementations) {
    if (!is_on_both(best.sides)) continue;
    const double ratio = around.between(best.sides[0].log_ratio, best.sides[1].log_ratio);
    if (ratio < chosen.log_ratio - gain_of_implementation && ratio < of_kind.log_ratio)
      of_kind = {best.sides.at(around.nearer()).entry, ratio, best.by.at(around.nearer())};
  }
  if (of_kind.log_ratio > -least_log_gain) of_kind = baseline;
  return RatioChoice{
      .entry = *of_kind.entry, .ratio = std::exp(of_kind.log_ratio), .by = of_kind.by};
}

}  // namespace colltune
