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

bool is_clearly_faster(const FittedTime& one, const FittedTime& other) {
  return one.high < other.low;
}

std::vector<RankedVariant>::iterator find_baseline(std::vector<RankedVariant>& ranked) {
  return std::ranges::find_if(ranked, &RankedVariant::is_baseline);
}

bool is_in_reach(Bytes nearest, Bytes size) {
  return size.value / most_extrapolation <= nearest.value &&
         size.value >= nearest.value / most_extrapolation;
}

/// The winner of a neighbouring size, for the asked size.
struct NeighbourWinner {
  RankedVariant entry;
  FittedTime time;
  Bytes won_at;
};

/// The one with the least time among the winners of both sizes that are clearly faster than
/// `first`.
std::optional<NeighbourWinner> find_faster_winner(const Neighbours& around, const Asked& asked,
                                                  const FitsAtSize& fits, const Variant& first,
                                                  const FittedTime& time_of_first) {
  std::optional<NeighbourWinner> best;
  for (const Decision* decision : {around.lower, around.upper}) {
    Ranking there = rank_at(*decision, asked);
    if (there.ranked.empty()) continue;
    RankedVariant& winner = there.ranked.front();
    if (winner.is_baseline || winner.variant == first || !is_proven(*decision, winner.variant))
      continue;
    const std::optional<FittedTime> time = fits.time_of(winner.variant);
    if (!time || !is_clearly_faster(*time, time_of_first)) continue;
    if (best && best->time.time <= time->time) continue;
    best = {
        .entry = std::move(winner), .time = *time, .won_at = decision->key.problem.message_size};
  }
  return best;
}

void choose_between(const Neighbours& around, const Asked& asked, const FitsAtSize& fits,
                    Ranking& ranking) {
  const Variant first = ranking.ranked.front().variant;
  const std::optional<FittedTime> time_of_first = fits.time_of(first);
  if (!time_of_first) return;
  auto winner = find_faster_winner(around, asked, fits, first, *time_of_first);
  if (!winner) return;
  const Variant faster = winner->entry.variant;
  std::erase_if(ranking.ranked,
                [&](const RankedVariant& ranked) { return ranked.variant == faster; });
  ranking.ranked.insert(ranking.ranked.begin(), std::move(winner->entry));
  ranking.reason = "between " + format_bytes(around.lower->key.problem.message_size) + " and " +
                   format_bytes(around.upper->key.problem.message_size) + ": won at " +
                   format_bytes(winner->won_at) + ", and is predicted to take " +
                   text_of(winner->time) + " here, clearly less than " + to_string(first) +
                   " with " + text_of(*time_of_first);
  ranking.verdict = find_baseline(ranking.ranked) == ranking.ranked.end() ? Verdict::no_baseline
                                                                          : Verdict::displaced;
  ranking.status = DecisionStatus::provisional;
  ranking.confirmation = {};
}

void choose_outside(Bytes nearest, const FitsAtSize& fits, Ranking& ranking) {
  const RankedVariant& first = ranking.ranked.front();
  const auto baseline = find_baseline(ranking.ranked);
  if (first.is_baseline || baseline == ranking.ranked.end()) return;
  const std::optional<FittedTime> of_baseline = fits.time_of(baseline->variant);
  const std::optional<FittedTime> of_first = fits.time_of(first.variant);
  if (!of_baseline || !of_first || !is_clearly_faster(*of_baseline, *of_first)) return;
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
      one.*field = std::chrono::nanoseconds(
          std::llround(static_cast<double>((one.*field).count()) * factor));
    if (of_baseline) one.speedup_over_baseline = of_baseline->time / time->time;
  }
}

}  // namespace

std::optional<TimePrediction> choose_by_fits(const Curve& curve, const Neighbours& around,
                                             const Asked& asked, RankedAround& found) {
  if (found.source == Source::measured || curve.fits.empty() || found.ranking.ranked.empty())
    return {};
  const Bytes size = asked.problem.message_size;
  const FitsAtSize fits(curve, size);
  std::vector<RankedVariant>& ranked = found.ranking.ranked;
  if (found.source == Source::interpolated) {
    choose_between(around, asked, fits, found.ranking);
  } else {
    const Bytes nearest = found.basis->key.problem.message_size;
    if (!is_in_reach(nearest, size)) return {};
    const bool is_outside = around.lower == nullptr || around.upper == nullptr;
    if (is_outside) choose_outside(nearest, fits, found.ranking);
  }
  set_times(fits, ranked);
  // Between two sizes all but the first are in the order of their times.
  if (found.source == Source::interpolated)
    std::stable_sort(ranked.begin() + 1, ranked.end(),
                     [](const RankedVariant& one, const RankedVariant& other) {
                       return one.median < other.median;
                     });
  const Variant& first = ranked.front().variant;
  const std::optional<FittedTime> time = fits.time_of(first);
  if (!time) return {};
  return TimePrediction{.low = std::chrono::nanoseconds(std::llround(std::floor(time->low))),
                        .high = std::chrono::nanoseconds(std::llround(std::ceil(time->high))),
                        .model = fits.fit_of(first)->model};
}

}  // namespace colltune
