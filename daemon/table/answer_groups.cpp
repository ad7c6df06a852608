// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "answer_groups.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "colltune/model/fitted/variant_fits.h"
#include "fitted_choice.h"
#include "rank_around.h"
#include "ranking.h"
#include "ratio_choice.h"

namespace colltune {
namespace {

constexpr std::size_t numeric_classes = enum_names(NumericClass{}).size();

/// The curves of one group, by the numeric class of their problems.
using ByClass = std::array<const Curve*, numeric_classes>;

/// Whether two ranges differ in nothing but where they begin.
bool is_same_answer(const AnswerRange& one, AnswerRange other) {
  other.first = one.first;
  return one == other;
}

/// Makes the ranges of one curve for callers that demand a numeric class.
class RangeMaker {
 public:
  RangeMaker(const Curve& curve, NumericClass demanded)
      : curve_(curve), asked_{curve.decisions.front()->key.problem, curve.topology->ranks} {
    asked_.problem.numeric_class = demanded;
    asked_.takes_composed = !curve.has_for_members;
    // The least size that is not rounded down to 0.
    unit_ = size_of(asked_.problem.data_type) *
            (shape_of(asked_.problem.collective).has_block_per_rank()
                 ? static_cast<std::uint64_t>(asked_.ranks)
                 : 1);
    most_units_ = std::numeric_limits<std::uint64_t>::max() / unit_;
  }

  [[nodiscard]] std::vector<AnswerRange> make() {
    std::vector<std::uint64_t> cuts = find_cuts();
    if (!curve_.fits.empty()) add_changes(cuts);
    for (std::size_t i = 0; i < cuts.size(); ++i)
      append_interval(cuts[i], last_before(cuts, i + 1));
    return std::move(ranges_);
  }

 private:
  [[nodiscard]] std::uint64_t last_before(const std::vector<std::uint64_t>& cuts,
                                          std::size_t i) const {
    return i < cuts.size() ? cuts[i] - 1 : most_units_;
  }

  void put_in_order(std::vector<std::uint64_t>& cuts) const {
    std::ranges::sort(cuts);
    const auto repeated = std::ranges::unique(cuts);
    cuts.erase(repeated.begin(), repeated.end());
    std::erase_if(cuts, [&](std::uint64_t cut) { return cut > most_units_; });
  }

  /// Where other variants can run than just below, in units: at measured sizes and at limits. With
  /// fits, also where others reach and other lines hold.
  [[nodiscard]] std::vector<std::uint64_t> find_cuts() const {
    std::vector<std::uint64_t> cuts{0};
    const auto add_from = [&](Bytes first) {
      cuts.push_back(first.value / unit_ + (first.value % unit_ != 0 ? 1 : 0));
    };
    const auto add_after = [&](Bytes last) { cuts.push_back(last.value / unit_ + 1); };
    const auto add_reach = [&](Bytes first, Bytes last) {
      add_from({first.value / most_extrapolation});
      constexpr std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
      if (last.value < most / most_extrapolation)
        add_after({last.value * most_extrapolation + (most_extrapolation - 1)});
    };
    for (const VariantFit* fit : curve_.fits) {
      for (const FitSegment& segment : fit->segments) add_from(segment.from);
      add_after(fit->segments.back().from);
      add_reach(fit->segments.front().from, fit->segments.back().from);
    }
    if (!curve_.fits.empty())
      for (const Decision* decision : curve_.decisions)
        add_reach(decision->key.problem.message_size, decision->key.problem.message_size);
    for (const Decision* decision : curve_.decisions) {
      add_from(decision->key.problem.message_size);
      add_after(decision->key.problem.message_size);
      for (const RankedVariant& ranked : decision->ranked) {
        add_from(ranked.limits.min_message);
        if (ranked.limits.max_message.value != 0) add_after(ranked.limits.max_message);
      }
    }
    put_in_order(cuts);
    return cuts;
  }

  /// Adds where, between two measured sizes, something else may be chosen. Expects that between two
  /// of `cuts` the same variants can run.
  void add_changes(std::vector<std::uint64_t>& cuts) {
    std::vector<std::uint64_t> changes;
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      asked_.problem.message_size = {cuts[i] * unit_};
      const Neighbours around = find_neighbours(curve_, asked_.problem.message_size);
      if (around.lower == around.upper || around.lower == nullptr || around.upper == nullptr)
        continue;
      std::vector<double> positions = changes_of_rank(*around.lower, *around.upper, asked_);
      const std::vector<double> of_ratio = changes_of_ratio(curve_, around, asked_);
      positions.insert(positions.end(), of_ratio.begin(), of_ratio.end());
      positions.push_back(0.5);  // from here on the upper size is the nearer one
      for (const double position : positions) {
        if (!(position > 0) || !(position < 1)) continue;
        const double units =
            size_at(position, *around.lower, *around.upper) / static_cast<double>(unit_);
        const auto change = static_cast<std::uint64_t>(units);
        for (const std::uint64_t cut : {change, change + 1})
          if (cut > cuts[i] && cut <= last_before(cuts, i + 1)) changes.push_back(cut);
      }
    }
    cuts.insert(cuts.end(), changes.begin(), changes.end());
    put_in_order(cuts);
  }

  /// The inverse of position_between(), in bytes.
  [[nodiscard]] static double size_at(double position, const Decision& lower,
                                      const Decision& upper) {
    const auto low = static_cast<double>(lower.key.problem.message_size.value);
    const auto high = static_cast<double>(upper.key.problem.message_size.value);
    return low > 0 ? low * std::pow(high / low, position) : position * high;
  }

  void append_interval(std::uint64_t first, std::uint64_t last) {
    AnswerRange here = answer_at(first);
    const AnswerRange at_last = first == last ? here : answer_at(last);
    while (!is_same_answer(here, at_last)) {
      // `same` has the answer `here`, `other` does not.
      std::uint64_t same = first;
      std::uint64_t other = last;
      AnswerRange next = at_last;
      while (other - same > 1) {
        const std::uint64_t middle = same + (other - same) / 2;
        AnswerRange answer = answer_at(middle);
        if (is_same_answer(here, answer)) {
          same = middle;
        } else {
          other = middle;
          next = std::move(answer);
        }
      }
      append(std::move(here));
      next.first = {other * unit_};
      here = std::move(next);
      first = other;
    }
    append(std::move(here));
  }

  void append(AnswerRange range) {
    if (ranges_.empty() || !is_same_answer(ranges_.back(), range))
      ranges_.push_back(std::move(range));
  }

  [[nodiscard]] AnswerRange answer_at(std::uint64_t units) {
    asked_.problem.message_size = {units * unit_};
    const Neighbours around = find_neighbours(curve_, asked_.problem.message_size);
    RankedAround found = rank_around(around, asked_);
    AnswerRange range{.first = asked_.problem.message_size, .source = Source::predicted};
    range.prediction = choose_by_fits(curve_, around, asked_, found);
    if (found.ranking.ranked.empty()) return range;
    const RankedVariant& winner = found.ranking.ranked.front();
    range.variant = winner.variant;
    range.is_baseline = winner.is_baseline;
    range.source = found.source;
    range.verdict = found.ranking.verdict;
    range.status = found.ranking.status;
    range.from = found.measured_sizes.front();
    range.to = found.measured_sizes.back();
    const bool is_between = found.source == Source::interpolated;
    const Decision& lower = is_between ? *around.lower : *found.basis;
    const Decision& upper = is_between ? *around.upper : *found.basis;
    const auto times_of = [&](const Variant& variant) {
      return AnswerRange::Times{entry_of(lower, variant).median, entry_of(upper, variant).median};
    };
    range.times =
        is_between ? AnswerRange::Times{found.ranking.first_at_lower, found.ranking.first_at_upper}
                   : times_of(winner.variant);
    const auto baseline = std::ranges::find_if(found.ranking.ranked, &RankedVariant::is_baseline);
    if (baseline != found.ranking.ranked.end()) {
      range.baseline = baseline->variant;
      range.baseline_times = times_of(baseline->variant);
    }
    return range;
  }

  const Curve& curve_;
  Asked asked_;
  std::uint64_t unit_ = 1;
  std::uint64_t most_units_ = 0;
  std::vector<AnswerRange> ranges_;
};

/// Whether all variants of `curve` guarantee `demanded`: then a caller that demands it is answered
/// as one that demands less.
bool guarantees(const Curve& curve, NumericClass demanded) {
  return std::ranges::all_of(curve.decisions, [&](const Decision* decision) {
    return std::ranges::all_of(decision->ranked, [&](const RankedVariant& ranked) {
      return ranked.numeric_class >= demanded;
    });
  });
}

}  // namespace

std::vector<AnswerGroup> answer_groups(const std::vector<const Curve*>& curves) {
  std::map<std::pair<TuningKey, std::string>, ByClass> groups;
  for (const Curve* curve : curves) {
    const Decision& first = *curve->decisions.front();
    TuningKey key = first.key;
    key.problem.message_size = {};
    key.problem.numeric_class = NumericClass::any;
    groups[{std::move(key), first.family}]
          [static_cast<std::size_t>(first.key.problem.numeric_class)] = curve;
  }
  std::vector<AnswerGroup> answers;
  for (const auto& [name, by_class] : groups) {
    const Curve* curve = nullptr;
    std::vector<AnswerRange> ranges;
    for (const auto& demanded : enum_names(NumericClass{})) {
      // The strictest class that does not exceed the demanded one.
      const Curve* const own = by_class[static_cast<std::size_t>(demanded.value)];
      const Curve* const before = std::exchange(curve, own != nullptr ? own : curve);
      if (curve == nullptr) continue;
      if (curve != before || !guarantees(*curve, demanded.value))
        ranges = RangeMaker(*curve, demanded.value).make();
      if (std::ranges::none_of(ranges, [](const auto& one) { return one.variant.has_value(); }))
        continue;
      AnswerGroup group{.key = name.first, .family = name.second, .ranges = ranges};
      group.key.problem.numeric_class = demanded.value;
      answers.push_back(std::move(group));
    }
  }
  return answers;
}

}  // namespace colltune
