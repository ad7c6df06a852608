// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "held_out_choice.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "colltune/model/fitted/variant_fits.h"
#include "colltune/table/decision_table.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

TuningKey without_size(TuningKey key) {
  key.problem.message_size = {};
  return key;
}

/// A key's curves by variant.
using CurvesByVariant = std::map<Variant, std::size_t>;

double measured_time(std::span<const SweptCurve> curves, const CurvesByVariant& variants,
                     const Variant& variant, Bytes size) {
  const auto found = variants.find(variant);
  return found == variants.end() ? 0 : measured_at(curves[found->second], size);
}

/// What the table of all other decisions answers, without and with their fits.
struct AnswersWithout {
  Variant by_table;
  Variant with_fits;
};
/// Empty if it has nothing for the question.
std::optional<AnswersWithout> answers_without(const ReportedSweep& sweep, const TuningKey& key) {
  std::vector<Decision> others;
  std::ranges::copy_if(sweep.decisions, std::back_inserter(others),
                       [&](const Decision& each) { return each.key != key; });
  std::vector<VariantFit> fits = fits_of(others);
  DecisionSet set{
      .decisions = std::move(others), .members = sweep.members, .compositions = sweep.compositions};
  const DecisionTable without(set);
  set.fits = std::move(fits);
  const DecisionTable with_fits(std::move(set));
  const auto winner_of = [&](const DecisionTable& table) {
    return table.find(query_for(sweep, key)).decision.ranked.front().variant;
  };
  try {
    return AnswersWithout{.by_table = winner_of(without), .with_fits = winner_of(with_fits)};
  } catch (const Error& error) {
    if (error.code() != StatusCode::not_found) throw;
    return {};
  }
}

bool is_ranked(const Decision& decision, const Variant& variant) {
  return std::ranges::find(decision.ranked, variant, &RankedVariant::variant) !=
         decision.ranked.end();
}

/// The winners at the sizes next to `at` that were ranked at both, and the baseline.
std::set<Variant> candidates_for(const std::map<Bytes, const Decision*>& sizes,
                                 const Decision& at) {
  std::set<Variant> candidates;
  const auto own = sizes.find(at.key.problem.message_size);
  const Decision* const lower = own == sizes.begin() ? nullptr : std::prev(own)->second;
  const Decision* const upper = std::next(own) == sizes.end() ? nullptr : std::next(own)->second;
  for (const auto& [one, other] : {std::pair(lower, upper), std::pair(upper, lower)}) {
    if (one == nullptr) continue;
    const Variant& winner = one->ranked.front().variant;
    if (other == nullptr || is_ranked(*other, winner)) candidates.insert(winner);
    for (const RankedVariant& ranked : one->ranked)
      if (ranked.is_baseline) candidates.insert(ranked.variant);
  }
  return candidates;
}

/// The time of a variant at a size that is left out for all variants of its problem; empty if it
/// was measured at no other size.
std::optional<FittedTime> fitted_time(const Variant& variant, const CurvesByVariant& variants,
                                      const CurveSet& set, Bytes size) {
  const auto found = variants.find(variant);
  if (found == variants.end()) return {};
  const auto& points = set.curves()[found->second].points;
  const bool is_measured = std::ranges::find(points, size, &CurvePoint::size) != points.end();
  if (is_measured && points.size() < 2) return {};
  return is_measured ? set.leave_out(found->second, size, FitEvidence::other_problems).fitted
                     : set.predict(found->second, size);
}

/// How much faster than the table's answer a fitted time must be to replace it.
enum class Margin { none, interval };

/// The candidate with the least fitted time; `answer` if none is faster by more than the margin.
Variant fastest_by_fit(const std::set<Variant>& candidates, const Variant& answer,
                       const CurvesByVariant& variants, const CurveSet& set, Bytes size,
                       Margin margin) {
  const std::optional<FittedTime> of_answer = fitted_time(answer, variants, set, size);
  if (!of_answer) return answer;
  Variant fastest = answer;
  double least = of_answer->time;
  for (const Variant& variant : candidates) {
    const std::optional<FittedTime> fitted = fitted_time(variant, variants, set, size);
    if (!fitted || fitted->time >= least || fitted->low <= 0 || of_answer->low <= 0) continue;
    const double width = std::hypot(std::log(fitted->high / fitted->low),
                                    std::log(of_answer->high / of_answer->low)) /
                         2;
    if (std::log(of_answer->time / fitted->time) <= (margin == Margin::interval ? width : 0))
      continue;
    least = fitted->time;
    fastest = variant;
  }
  return fastest;
}

}  // namespace

std::vector<HeldOutChoice> held_out_choices(const ReportedSweep& sweep,
                                            std::span<const SweptCurve> curves,
                                            const CurveSet& set) {
  std::map<TuningKey, std::map<Bytes, const Decision*>> problems;
  for (const Decision& decision : sweep.decisions)
    if (decision.family == any_family)
      problems[without_size(decision.key)][decision.key.problem.message_size] = &decision;
  std::map<TuningKey, CurvesByVariant> variants;
  for (std::size_t i = 0; i < curves.size(); ++i) variants[curves[i].key][curves[i].variant] = i;
  std::vector<HeldOutChoice> choices;
  for (const auto& [key, sizes] : problems) {
    if (sizes.size() < 2) continue;
    for (const auto& [size, decision] : sizes) {
      const CurvesByVariant& own = variants[key];
      const auto best = std::ranges::min_element(decision->ranked, {}, [&](const auto& ranked) {
        const double time = measured_time(curves, own, ranked.variant, size);
        return time > 0 ? time : std::numeric_limits<double>::infinity();
      });
      HeldOutChoice choice{.key = decision->key, .best = best->variant};
      if (const auto answers = answers_without(sweep, decision->key)) {
        const Variant& answer = answers->by_table;
        choice.by_table = answer;
        choice.with_fits = answers->with_fits;
        const std::set<Variant> candidates = candidates_for(sizes, *decision);
        choice.by_fit = fastest_by_fit(candidates, answer, own, set, size, Margin::none);
        choice.by_clear_fit = fastest_by_fit(candidates, answer, own, set, size, Margin::interval);
      }
      choice.by_decision = decision->ranked.front().variant;
      choice.time_by_decision = measured_time(curves, own, choice.by_decision, size);
      choice.best_time = measured_time(curves, own, choice.best, size);
      choice.time_by_table = measured_time(curves, own, choice.by_table, size);
      choice.time_with_fits = measured_time(curves, own, choice.with_fits, size);
      choice.time_by_clear_fit = measured_time(curves, own, choice.by_clear_fit, size);
      choice.time_by_fit = measured_time(curves, own, choice.by_fit, size);
      for (const RankedVariant& ranked : decision->ranked)
        if (ranked.is_baseline)
          choice.time_of_baseline = measured_time(curves, own, ranked.variant, size);
      choices.push_back(std::move(choice));
    }
  }
  return choices;
}

ChoiceShare share_within(std::span<const HeldOutChoice> choices, double HeldOutChoice::*time,
                         double tolerated) {
  ChoiceShare share;
  for (const HeldOutChoice& choice : choices) {
    if (choice.*time <= 0 || choice.best_time <= 0) continue;
    ++share.judged;
    share.within += choice.*time <= (1 + tolerated) * choice.best_time ? 1 : 0;
  }
  return share;
}

}  // namespace colltune
