// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "fitted_choice.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "colltune/model/fitted/variant_fits.h"
#include "ranking.h"
#include "ratio_choice.h"
#include "shown_faster.h"

namespace colltune {
namespace {

/// What the fits of a curve say of one size.
class FitsAtSize {
 public:
  FitsAtSize(const Curve& curve, Bytes size) : curve_(curve), size_(size) {}

  [[nodiscard]] const VariantFit* fit_of(const Variant& variant) const {
    const auto found = std::ranges::lower_bound(
        curve_.fits, variant, {}, [](const VariantFit* fit) -> auto& { return fit->variant; });
    const bool is_usable =
        found != curve_.fits.end() && (*found)->variant == variant && reaches(**found, size_);
    return is_usable ? *found : nullptr;
  }
  /// Empty where time_of is.
  [[nodiscard]] std::optional<FittedLine> line_of(const Variant& variant) const {
    return time_of(variant) ? std::optional(line_at(*fit_of(variant), size_)) : std::nullopt;
  }
  [[nodiscard]] std::optional<FittedTime> time_of(const Variant& variant) const {
    const VariantFit* const fit = fit_of(variant);
    if (fit == nullptr) return {};
    const FittedTime time = predict(*fit, size_);
    // A line may reach 0 at a size of 0; that is no time.
    return time.time > 0 ? std::optional(time) : std::nullopt;
  }

 private:
  const Curve& curve_;
  Bytes size_;
};

/// For example "12.3 to 15.6 us".
std::string text_of(const FittedTime& time) {
  std::array<char, 64> text{};
  std::snprintf(text.data(), text.size(), "%.1f to %.1f us", time.low / 1000, time.high / 1000);
  return text.data();
}

bool lies_below(const FittedTime& one, const FittedTime& other) { return one.high < other.low; }

std::chrono::nanoseconds scaled(std::chrono::nanoseconds time, double factor) {
  return std::chrono::nanoseconds(std::llround(static_cast<double>(time.count()) * factor));
}

std::vector<RankedVariant>::iterator find_baseline(std::vector<RankedVariant>& ranked) {
  return std::ranges::find_if(ranked, &RankedVariant::is_baseline);
}

bool is_in_reach(Bytes nearest, Bytes size) {
  return size.value / most_extrapolation <= nearest.value &&
         size.value >= nearest.value / most_extrapolation;
}

std::string why_chosen(const RatioChoice& choice) {
  if (choice.entry.is_baseline)
    return "by what they took over the baseline's time there, none that is shown to be faster "
           "gains a tenth: the baseline";
  std::array<char, 32> share{};
  std::snprintf(share.data(), share.size(), "%.2f", choice.ratio);
  const char* const shown = choice.by == Shown::proven
                                ? "proven at one of them"
                                : "proven at neither, but shown to be faster at two sizes";
  return std::string(shown) +
         ", and by what it took over the baseline's time there the fastest here, with " +
         share.data() + " of it";
}

/// `line` times a ratio that grows from the lower size to the upper one.
TimeLine line_by_ratio(const AlphaBeta& line, const UnitLine& log_ratio) {
  const double at_lower = std::exp(log_ratio.at_lower);
  return {
      .alpha = line.alpha * at_lower, .beta = line.beta * at_lower, .growth = log_ratio.slope()};
}

/// The baseline's line where no fit gives one; empty where it is straight over logarithms.
std::optional<AlphaBeta> measured_line(const Decision& lower, const Decision& upper,
                                       const Variant& baseline) {
  if (lower.key.problem.message_size.value > 0) return {};
  const auto at_lower = static_cast<double>(entry_of(lower, baseline).median.count());
  const auto at_upper = static_cast<double>(entry_of(upper, baseline).median.count());
  return AlphaBeta{
      .alpha = at_lower,
      .beta = (at_upper - at_lower) / static_cast<double>(upper.key.problem.message_size.value)};
}

FitChoice judged(const Decision& lower, const Decision& upper, const Variant& variant,
                 const Variant& baseline) {
  const bool is_shown =
      shows_faster(lower, variant, baseline) && shows_faster(upper, variant, baseline);
  const bool is_proven_at_one = is_proven(lower, variant) || is_proven(upper, variant);
  return is_shown && is_proven_at_one ? FitChoice::shown_at_both : FitChoice::expected;
}

/// What the ratios to the baseline choose.
struct ChosenBetween {
  FitChoice choice = FitChoice::none;
  std::optional<TimeLine> line;  ///< of its time where it has no fit
};

/// Puts what the ratios to the baseline choose first, with the times that follow from its ratio.
ChosenBetween choose_between(const Curve& curve, const Neighbours& around, const Asked& asked,
                             const FitsAtSize& fits, Ranking& ranking) {
  const std::optional<RatioChoice> choice = choose_by_ratio(curve, around, asked);
  if (!choice || choice->entry.variant == ranking.ranked.front().variant) return {};
  const auto baseline = find_baseline(ranking.ranked);
  if (baseline == ranking.ranked.end()) return {};
  const Decision& lower = *around.lower;
  const Decision& upper = *around.upper;
  RankedVariant chosen = choice->entry;
  const std::optional<FittedTime> of_baseline = fits.time_of(baseline->variant);
  const double time =
      (of_baseline ? of_baseline->time : static_cast<double>(baseline->median.count())) *
      choice->ratio;
  const double factor = time / static_cast<double>(chosen.median.count());
  for (const auto field : {&RankedVariant::median, &RankedVariant::low, &RankedVariant::high})
    chosen.*field = scaled(chosen.*field, factor);
  chosen.speedup_over_baseline = 1 / choice->ratio;
  ChosenBetween made{.choice = judged(lower, upper, chosen.variant, baseline->variant)};
  if (const auto line = of_baseline ? std::optional(fits.line_of(baseline->variant)->line)
                                    : measured_line(lower, upper, baseline->variant))
    made.line = line_by_ratio(*line, choice->log_ratio);
  ranking.first_at_lower =
      scaled(entry_of(lower, baseline->variant).median, std::exp(choice->log_ratio.at_lower));
  ranking.first_at_upper =
      scaled(entry_of(upper, baseline->variant).median, std::exp(choice->log_ratio.at_upper));
  std::erase_if(ranking.ranked,
                [&](const RankedVariant& ranked) { return ranked.variant == chosen.variant; });
  ranking.reason = "between " + format_bytes(around.lower->key.problem.message_size) + " and " +
                   format_bytes(around.upper->key.problem.message_size) + ": " +
                   why_chosen(*choice);
  ranking.verdict = chosen.is_baseline ? Verdict::undecided : Verdict::displaced;
  ranking.status = DecisionStatus::provisional;
  ranking.confirmation = {};
  ranking.ranked.insert(ranking.ranked.begin(), std::move(chosen));
  return made;
}

double ratio_of(const RankedVariant& one, const RankedVariant& baseline) {
  return static_cast<double>(one.median.count()) / static_cast<double>(baseline.median.count());
}

/// Where the nearest size lacks proof, puts the fastest of those first that are clearly faster than
/// the baseline there, and shown to be faster at the size behind it.
void choose_clear(const Beside& side, Ranking& ranking) {
  const auto baseline = ranking.ranked.begin();
  if (!baseline->is_baseline || baseline->median.count() <= 0) return;
  if (side.behind == nullptr || !lacks_proof(*side.nearest)) return;
  auto fastest = baseline;
  for (auto one = baseline + 1; one != ranking.ranked.end(); ++one)
    if (!one->is_baseline && one->median < fastest->median && is_clearly_faster(*one, *baseline) &&
        shows_faster(*side.behind, one->variant, baseline->variant))
      fastest = one;
  if (std::log(ratio_of(*fastest, *baseline)) > -least_log_gain) return;
  const Bytes nearest = side.nearest->key.problem.message_size;
  const Bytes behind = side.behind->key.problem.message_size;
  ranking.reason = "nearest measured size " + format_bytes(nearest) + ": none is proven there; " +
                   to_string(fastest->variant) +
                   " was clearly faster than the baseline there and at " + format_bytes(behind);
  ranking.verdict = Verdict::displaced;
  std::rotate(ranking.ranked.begin(), fastest, fastest + 1);
}

/// Puts the baseline first where the first one is predicted to be clearly slower.
void choose_outside(Bytes nearest, const FitsAtSize& fits, Ranking& ranking) {
  const RankedVariant& first = ranking.ranked.front();
  const auto baseline = find_baseline(ranking.ranked);
  if (first.is_baseline || baseline == ranking.ranked.end()) return;
  const std::optional<FittedTime> of_baseline = fits.time_of(baseline->variant);
  const std::optional<FittedTime> of_first = fits.time_of(first.variant);
  if (!of_baseline || !of_first || !lies_below(*of_baseline, *of_first)) return;
  ranking.reason = "nearest measured size " + format_bytes(nearest) + ": " +
                   to_string(first.variant) + " won there and is predicted to take " +
                   text_of(*of_first) + " here, clearly more than the baseline with " +
                   text_of(*of_baseline) + ": the baseline";
  ranking.verdict = Verdict::undecided;
  std::rotate(ranking.ranked.begin(), baseline, baseline + 1);
}

/// Times and speed-ups as predicted.
void set_times(const FitsAtSize& fits, std::vector<RankedVariant>& ranked) {
  const auto baseline = find_baseline(ranked);
  const std::optional<FittedTime> of_baseline =
      baseline == ranked.end() ? std::nullopt : fits.time_of(baseline->variant);
  for (RankedVariant& one : ranked) {
    const std::optional<FittedTime> time = fits.time_of(one.variant);
    if (!time || one.median.count() <= 0) continue;
    const double factor = time->time / static_cast<double>(one.median.count());
    for (const auto field : {&RankedVariant::median, &RankedVariant::low, &RankedVariant::high})
      one.*field = scaled(one.*field, factor);
    if (of_baseline) one.speedup_over_baseline = of_baseline->time / time->time;
  }
}

}  // namespace

std::optional<TimePrediction> prediction_at(const AnswerPrediction& prediction, Bytes size) {
  if (prediction.model.empty()) return {};
  const TimeLine& line = *prediction.line;
  const double time = line.alpha + line.beta * static_cast<double>(size.value);
  const auto rounded = [](double bound) { return std::chrono::nanoseconds(std::llround(bound)); };
  return TimePrediction{.low = rounded(std::floor(time * prediction.interval.low)),
                        .high = rounded(std::ceil(time * prediction.interval.high)),
                        .model = prediction.model};
}

std::optional<AnswerPrediction> choose_by_fits(const Curve& curve, const Neighbours& around,
                                               const Asked& asked, RankedAround& found) {
  if (found.source == Source::measured || curve.fits.empty() || found.ranking.ranked.empty())
    return {};
  const Bytes size = asked.problem.message_size;
  const FitsAtSize fits(curve, size);
  std::vector<RankedVariant>& ranked = found.ranking.ranked;
  ChosenBetween chosen;
  if (found.source == Source::interpolated) {
    chosen = choose_between(curve, around, asked, fits, found.ranking);
  } else {
    const Bytes nearest = found.basis->key.problem.message_size;
    const bool is_outside = around.lower == nullptr || around.upper == nullptr;
    if (is_outside)
      choose_clear(around.lower == nullptr ? above(curve, around) : below(curve, around),
                   found.ranking);
    if (!is_in_reach(nearest, size)) return {};
    if (is_outside) choose_outside(nearest, fits, found.ranking);
  }
  set_times(fits, ranked);
  // Between two sizes all but the first are in the order of their times.
  if (found.source == Source::interpolated)
    std::stable_sort(ranked.begin() + 1, ranked.end(),
                     [](const RankedVariant& one, const RankedVariant& other) {
                       return one.median < other.median;
                     });
  AnswerPrediction made{.line = chosen.line, .choice = chosen.choice};
  const Variant& first = ranked.front().variant;
  if (const std::optional<FittedLine> line = fits.line_of(first)) {
    made.line = TimeLine{.alpha = line->line.alpha, .beta = line->line.beta};
    made.interval = line->interval;
    made.model = fits.fit_of(first)->model;
  }
  if (const auto baseline = find_baseline(ranked); baseline != ranked.end())
    if (const std::optional<FittedLine> line = fits.line_of(baseline->variant))
      made.baseline_line = TimeLine{.alpha = line->line.alpha, .beta = line->line.beta};
  return made == AnswerPrediction{} ? std::nullopt : std::optional(std::move(made));
}

}  // namespace colltune
