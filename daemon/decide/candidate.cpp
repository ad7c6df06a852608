// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "candidate.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>
#include <tuple>

#include "colltune/decide/rounds.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

bool may_rank(const Measurement& measurement) {
  return measurement.outcome == Outcome::ok && !measurement.samples.empty() &&
         measurement.verified_calls > 0 &&
         measurement.numeric_class >= measurement.key.problem.numeric_class;
}

Candidate to_candidate(const Measurement& measurement, double confidence) {
  Candidate candidate{.measurement = &measurement, .rounds = round_medians(measurement)};
  for (std::size_t i = 0; i < measurement.samples.size(); ++i)
    candidate.samples += counts(measurement, i) ? 1 : 0;
  std::vector<double> values;
  std::ranges::copy_if(candidate.rounds, std::back_inserter(values),
                       [](double value) { return !std::isnan(value); });
  if (values.empty())
    for (const auto sample : measurement.samples)
      values.push_back(static_cast<double>(sample.count()) / measurement.calls_per_sample);
  candidate.per_call = median_interval(values, confidence);
  return candidate;
}

void check_unique(std::span<const Measurement* const> trials) {
  std::set<std::pair<Variant, bool>> seen;
  for (const Measurement* trial : trials)
    if (!seen.emplace(trial->variant, trial->is_twin).second)
      throw Error(StatusCode::invalid_argument,
                  fmt::format("decide: the trial {} of {} on {} occurs twice; give the "
                              "measurements of one sweep",
                              to_string(trial->variant), describe(trial->key.problem),
                              describe(trial->key.topology)));
}

}  // namespace

std::size_t Contest::rivals() const {
  return static_cast<std::size_t>(std::ranges::count_if(
      candidates, [](const Candidate& one) { return !one.measurement->is_baseline; }));
}

Duel Contest::twin_duel(const Candidate& baseline, double risk) const {
  for (const Candidate& twin : twins)
    if (twin.measurement->variant == baseline.measurement->variant)
      return fight(baseline.rounds, twin.rounds, risk);
  return {};
}

std::map<TuningKey, Contest> contests_of(std::span<const Measurement> measurements, bool is_holdout,
                                         double confidence) {
  std::map<TuningKey, std::vector<const Measurement*>> by_key;
  for (const Measurement& measurement : measurements)
    if (measurement.is_holdout == is_holdout) by_key[measurement.key].push_back(&measurement);
  std::map<TuningKey, Contest> contests;
  for (auto& [key, trials] : by_key) {
    check_unique(trials);
    std::ranges::sort(trials, [](const auto* a, const auto* b) { return is_simpler(*a, *b); });
    Contest contest;
    for (const Measurement* trial : trials)
      if (may_rank(*trial))
        (trial->is_twin ? contest.twins : contest.candidates)
            .push_back(to_candidate(*trial, confidence));
    if (!contest.candidates.empty()) contests.emplace(key, std::move(contest));
  }
  return contests;
}

bool is_simpler(const Measurement& a, const Measurement& b) {
  const auto order = [](const Measurement& one) {
    return std::tuple(!one.is_baseline, -static_cast<int>(one.numeric_class), one.rounding,
                      one.is_emulated, one.variant.parameters.size());
  };
  const auto of_a = order(a);
  const auto of_b = order(b);
  return of_a != of_b ? of_a < of_b : a.variant < b.variant;
}

const Candidate* fastest_baseline(std::span<const Candidate* const> candidates) {
  const Candidate* fastest = nullptr;
  for (const Candidate* candidate : candidates)
    if (candidate->measurement->is_baseline &&
        (fastest == nullptr || candidate->per_call.median < fastest->per_call.median))
      fastest = candidate;
  return fastest;
}

}  // namespace colltune
