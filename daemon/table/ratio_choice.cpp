// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "ratio_choice.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

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
  /// Of the asked size between the two, from 0 to 1.
  [[nodiscard]] double position() const { return position_; }
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

/// By the speed-ups, where there are some: they pair the rounds, and so leave out what the machine
/// did to a size in the meantime, while medians of two variants may be of two states of it.
double log_ratio(const RankedVariant& one, const RankedVariant& baseline) {
  if (one.speedup_over_baseline > 0 && baseline.speedup_over_baseline > 0)
    return std::log(baseline.speedup_over_baseline / one.speedup_over_baseline);
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

/// What may be chosen, with its ratio from the lower size to the upper one.
struct Candidate {
  UnitLine log_ratio;
  std::array<const RankedVariant*, 2> entries{};  ///< at both sizes; one may be null
  std::array<Shown, 2> by{};
};

/// What is known of a variant between the sizes, if enough is.
std::optional<UnitLine> expected(const Surroundings& around, const BothSides& sides) {
  if (is_on_both(sides))
    return UnitLine{.at_lower = sides[0].log_ratio, .at_upper = sides[1].log_ratio};
  const std::size_t there = only_side(sides);
  if (!around.is_excluded(*sides.at(there).entry, 1 - there)) return {};
  return UnitLine{.at_lower = sides.at(there).log_ratio, .at_upper = sides.at(there).log_ratio};
}

/// The best of an implementation at each size, and by what they may win.
struct BestOfKind {
  BothSides sides;
  std::array<Shown, 2> by{};
};

/// All that is chosen among.
struct Candidates {
  std::vector<Candidate> variants;  ///< the baseline first
  std::vector<Candidate> kinds;     ///< the best of an implementation at each of the sizes
};

Candidate candidate(const UnitLine& line, const BothSides& sides, const std::array<Shown, 2>& by) {
  return {.log_ratio = line, .entries = {sides[0].entry, sides[1].entry}, .by = by};
}

/// Empty if no baseline that can run the problem was measured at both sizes.
Candidates candidates_of(const Surroundings& around) {
  const std::optional<BothSides> baseline = find_baseline(around);
  if (!baseline) return {};
  Candidates found{.variants = {candidate({}, *baseline, {})}, .kinds = {}};
  std::map<std::string, BestOfKind> implementations;
  for (const auto& [variant, sides] : rivals_of(around, *baseline)) {
    const std::optional<Shown> by = shown(around, sides, baseline->front().entry->variant);
    if (!by) continue;
    BestOfKind& best = implementations[variant.implementation];
    for (std::size_t side = 0; side < 2; ++side)
      if (sides.at(side).log_ratio < best.sides.at(side).log_ratio) {
        best.sides.at(side) = sides.at(side);
        best.by.at(side) = *by;
      }
    if (const std::optional<UnitLine> line = expected(around, sides))
      found.variants.push_back(candidate(*line, sides, {*by, *by}));
  }
  for (const auto& [name, best] : implementations)
    if (is_on_both(best.sides))
      found.kinds.push_back(
          candidate({best.sides[0].log_ratio, best.sides[1].log_ratio}, best.sides, best.by));
  return found;
}

std::vector<UnitLine> lines_of(const std::vector<Candidate>& candidates) {
  std::vector<UnitLine> lines;
  for (const Candidate& one : candidates) lines.push_back(one.log_ratio);
  return lines;
}

UnitLine raised(const UnitLine& line, double by) {
  return {.at_lower = line.at_lower + by, .at_upper = line.at_upper + by};
}

}  // namespace

std::optional<RatioChoice> choose_by_ratio(const Curve& curve, const Neighbours& neighbours,
                                           const Asked& asked) {
  const Surroundings around(curve, neighbours, asked);
  const Candidates candidates = candidates_of(around);
  if (candidates.variants.empty()) return {};
  const auto ratio_of = [&](const Candidate& one) { return one.log_ratio.at(around.position()); };
  const Candidate& baseline = candidates.variants.front();
  const Candidate* best = &baseline;
  for (const Candidate& one : candidates.variants)
    if (ratio_of(one) < ratio_of(*best)) best = &one;
  const Candidate* chosen = best;
  for (const Candidate& one : candidates.kinds)
    if (ratio_of(one) < ratio_of(*best) - gain_of_implementation &&
        ratio_of(one) < ratio_of(*chosen))
      chosen = &one;
  if (ratio_of(*chosen) > -least_log_gain) chosen = &baseline;
  const std::size_t nearer = around.nearer();
  const std::size_t side = chosen->entries.at(nearer) != nullptr ? nearer : 1 - nearer;
  return RatioChoice{.entry = *chosen->entries.at(side),
                     .log_ratio = chosen->log_ratio,
                     .ratio = std::exp(ratio_of(*chosen)),
                     .by = chosen->by.at(side)};
}

std::vector<double> changes_of_ratio(const Curve& curve, const Neighbours& neighbours,
                                     const Asked& asked) {
  const Candidates candidates = candidates_of(Surroundings(curve, neighbours, asked));
  const std::vector<UnitLine> variants = lines_of(candidates.variants);
  const std::vector<UnitLine> kinds = lines_of(candidates.kinds);
  const UnitLine least_gain{.at_lower = -least_log_gain, .at_upper = -least_log_gain};
  std::vector<double> changes;
  const std::vector<EnvelopePiece> least_kinds = lower_envelope(kinds);
  for (const EnvelopePiece& kind : least_kinds) {
    changes.push_back(kind.from);
    changes.push_back(crossing(kinds[kind.line], least_gain));
  }
  for (const EnvelopePiece& variant : lower_envelope(variants)) {
    const UnitLine& line = variants[variant.line];
    changes.push_back(variant.from);
    changes.push_back(crossing(line, least_gain));
    for (const EnvelopePiece& kind : least_kinds)
      changes.push_back(crossing(kinds[kind.line], raised(line, -gain_of_implementation)));
  }
  return changes;
}

}  // namespace colltune
