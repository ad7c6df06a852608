// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "held_out_choice.h"

#include <algorithm>
#include <array>
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

/// The times at one key, in ns.
using TimesByVariant = std::map<Variant, double>;

/// Of the variants of a ranking, by the curves of some passes.
TimesByVariant times_at(const Decision& decision, std::span<const SweptCurve> curves) {
  TimesByVariant times;
  const TuningKey key = without_size(decision.key);
  for (const SweptCurve& curve : curves)
    if (const double time = measured_at(curve, decision.key.problem.message_size);
        time > 0 && curve.key == key)
      times.emplace(curve.variant, time);
  std::erase_if(times, [&](const auto& one) { return !is_ranked(decision, one.first); });
  return times;
}

/// As HeldOutChoice's `by_halves`.
double ratio_by_halves(const std::array<TimesByVariant, 2>& halves, const Variant& chosen) {
  double logs = 0;
  for (const std::size_t chooser : {0U, 1U}) {
    const TimesByVariant& choosing = halves[chooser];
    const TimesByVariant& timing = halves[1 - chooser];
    const TimesByVariant::value_type* best = nullptr;
    for (const auto& one : choosing)
      if (timing.contains(one.first) && (best == nullptr || one.second < best->second)) best = &one;
    const auto found = timing.find(chosen);
    if (best == nullptr || found == timing.end()) return 0;
    logs += std::log(found->second / timing.at(best->first));
  }
  return std::exp(logs / 2);
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

std::array<std::vector<SweptCurve>, 2> curves_by_halves(std::span<const Measurement> measurements) {
  std::map<TuningKey, std::set<int>> passes;
  for (const Measurement& one : measurements) passes[one.key].insert(one.pass);
  std::array<std::vector<Measurement>, 2> halves;
  for (const Measurement& one : measurements) {
    const std::set<int>& all = passes.at(one.key);
    const auto before = std::distance(all.begin(), all.find(one.pass));
    halves[static_cast<std::size_t>(before % 2)].push_back(one);
  }
  return {curves_of(halves[0]), curves_of(halves[1])};
}

std::vector<HeldOutChoice> held_out_choices(const ReportedSweep& sweep,
                                            std::span<const SweptCurve> curves,
                                            const CurveSet& set) {
  std::map<TuningKey, std::map<Bytes, const Decision*>> problems;
  for (const Decision& decision : sweep.decisions)
    if (decision.family == any_family)
      problems[without_size(decision.key)][decision.key.problem.message_size] = &decision;
  std::map<TuningKey, CurvesByVariant> variants;
  for (std::size_t i = 0; i < curves.size(); ++i) variants[curves[i].key][curves[i].variant] = i;
  const auto curves_of_halves = curves_by_halves(sweep.measurements);
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
      const std::array halves{times_at(*decision, curves_of_halves[0]),
                              times_at(*decision, curves_of_halves[1])};
      choice.by_halves_of_table = ratio_by_halves(halves, choice.by_table);
      choice.by_halves_with_fits = ratio_by_halves(halves, choice.with_fits);
      choice.by_halves_of_fit = ratio_by_halves(halves, choice.by_fit);
      choice.by_halves_of_clear_fit = ratio_by_halves(halves, choice.by_clear_fit);
      choice.by_halves_of_decision = ratio_by_halves(halves, choice.by_decision);
      choice.time_by_decision = measured_time(curves, own, choice.by_decision, size);
      choice.best_time = measured_time(curves, own, choice.best, size);
      choice.time_by_table = measured_time(curves, own, choice.by_table, size);
      choice.time_with_fits = measured_time(curves, own, choice.with_fits, size);
      choice.time_by_clear_fit = measured_time(curves, own, choice.by_clear_fit, size);
      choice.time_by_fit = measured_time(curves, own, choice.by_fit, size);
      for (const RankedVariant& ranked : decision->ranked)
        if (ranked.is_baseline) {
          choice.time_of_baseline = measured_time(curves, own, ranked.variant, size);
          choice.by_halves_of_baseline = ratio_by_halves(halves, ranked.variant);
        }
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

ChoiceShare share_by_halves(std::span<const HeldOutChoice> choices, double HeldOutChoice::*ratio,
                            double tolerated) {
  ChoiceShare share;
  for (const HeldOutChoice& choice : choices) {
    if (choice.*ratio <= 0) continue;
    ++share.judged;
    share.within += choice.*ratio <= 1 + tolerated ? 1 : 0;
  }
  return share;
}

}  // namespace colltune
