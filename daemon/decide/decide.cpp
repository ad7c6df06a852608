// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "colltune/decide/statistics.h"

namespace colltune {
namespace {

using std::chrono::nanoseconds;

/// A variant that may rank, with what is derived from its samples.
struct Candidate {
  const Measurement* measurement = nullptr;
  MedianInterval per_call;            ///< ns
  std::vector<double> round_medians;  ///< ns per call, by round
};

std::vector<double> per_call(const Measurement& measurement) {
  std::vector<double> values;
  values.reserve(measurement.samples.size());
  for (const nanoseconds sample : measurement.samples)
    values.push_back(static_cast<double>(sample.count()) / measurement.calls_per_sample);
  return values;
}

Candidate to_candidate(const Measurement& measurement, const DecisionPolicy& policy) {
  const std::vector<double> values = per_call(measurement);
  Candidate candidate{.measurement = &measurement,
                      .per_call = median_interval(values, policy.confidence)};
  const auto per_round = static_cast<std::size_t>(measurement.samples_per_round);
  for (std::size_t first = 0; first < values.size(); first += per_round)
    candidate.round_medians.push_back(
        median_of(std::span(values).subspan(first, std::min(per_round, values.size() - first))));
  return candidate;
}

bool may_rank(const Measurement& measurement) {
  return measurement.outcome == Outcome::ok && !measurement.samples.empty() &&
         measurement.verified_calls > 0 &&
         measurement.numeric_class >= measurement.key.problem.numeric_class;
}

std::string name_of_variant(const Candidate& candidate) {
  return to_string(candidate.measurement->variant);
}

double speedup(const Candidate& candidate, const Candidate& reference) {
  return candidate.per_call.median > 0 ? reference.per_call.median / candidate.per_call.median : 0;
}

/// A rival against the baseline.
struct Duel {
  double speedup = 0;
  std::size_t rounds = 0;
  std::optional<double> lower_bound;  ///< of the median ratio in common rounds
};

Duel fight(const Candidate& rival, const Candidate& baseline, double confidence) {
  std::vector<double> ratios;
  const std::size_t rounds = std::min(rival.round_medians.size(), baseline.round_medians.size());
  for (std::size_t round = 0; round < rounds; ++round)
    if (rival.round_medians[round] > 0)
      ratios.push_back(baseline.round_medians[round] / rival.round_medians[round]);
  return {.speedup = speedup(rival, baseline),
          .rounds = ratios.size(),
          .lower_bound = median_lower_bound(ratios, confidence)};
}

/// The candidates of one key and family, fastest first, and who of them is the baseline.
struct Field {
  std::vector<const Candidate*> ranked;
  const Candidate* own_baseline = nullptr;
  const Candidate* reference = nullptr;  ///< that speed-ups refer to
};

struct Judgement {
  std::size_t winner = 0;  ///< index into Field::ranked
  std::string reason;
};

std::string percent(double fraction) { return fmt::format("{:.3g} %", 100 * fraction); }

Judgement judge_without_baseline(const Field& field) {
  const Candidate& fastest = *field.ranked.front();
  if (field.reference == nullptr)
    return {0, fmt::format("no baseline was measured: {} is the fastest of {} variant(s)",
                           name_of_variant(fastest), field.ranked.size())};
  return {0, fmt::format("{} is the fastest of {} variant(s) of this family, which has no baseline "
                         "of its own; {:.3f}x the speed of {}",
                         name_of_variant(fastest), field.ranked.size(),
                         speedup(fastest, *field.reference), name_of_variant(*field.reference))};
}

std::string why_not(const Candidate& rival, const Duel& duel, const DecisionPolicy& policy) {
  const std::string faster =
      fmt::format("{} is {:.3f}x as fast", name_of_variant(rival), duel.speedup);
  if (duel.speedup < 1 + policy.minimum_margin)
    return faster + fmt::format(", less than the margin of {}", percent(policy.minimum_margin));
  if (!duel.lower_bound)
    return faster +
           fmt::format(", but {} common round(s) are too few to tell it from noise", duel.rounds);
  return faster + fmt::format(", which is within the noise (at least {:.3f}x over {} rounds)",
                              *duel.lower_bound, duel.rounds);
}

Judgement judge(const Field& field, const DecisionPolicy& policy) {
  if (field.own_baseline == nullptr) return judge_without_baseline(field);
  const Candidate& baseline = *field.own_baseline;
  const std::size_t rivals = field.ranked.size() - 1;
  if (rivals == 0) return {0, "the baseline is the only variant that may rank"};
  const double confidence = 1 - (1 - policy.confidence) / static_cast<double>(rivals);
  std::string first_objection;
  for (std::size_t place = 0; place < field.ranked.size(); ++place) {
    const Candidate& candidate = *field.ranked[place];
    if (&candidate == &baseline)
      return {place, first_objection.empty()
                         ? fmt::format("the baseline {} is the fastest of {} variants",
                                       name_of_variant(baseline), field.ranked.size())
                         : fmt::format("the baseline {} stays: {}", name_of_variant(baseline),
                                       first_objection)};
    const Duel duel = fight(candidate, baseline, confidence);
    if (duel.speedup >= 1 + policy.minimum_margin && duel.lower_bound && *duel.lower_bound > 1)
      return {place,
              fmt::format("{} is {:.3f}x as fast as the baseline {} (at least {:.3f}x over "
                          "{} common rounds at {} confidence among {} rivals)",
                          name_of_variant(candidate), duel.speedup, name_of_variant(baseline),
                          *duel.lower_bound, duel.rounds, percent(policy.confidence), rivals)};
    if (first_objection.empty()) first_objection = why_not(candidate, duel, policy);
  }
  throw Error(StatusCode::internal, "decide: the baseline is not among its rivals");
}

RankedVariant to_ranked(const Candidate& candidate, const Candidate* reference) {
  const Measurement& measurement = *candidate.measurement;
  const auto rounded = [](double ns) { return nanoseconds(std::llround(ns)); };
  return {.variant = measurement.variant,
          .family = measurement.family,
          .protocol = measurement.protocol,
          .is_baseline = measurement.is_baseline,
          .is_emulated = measurement.is_emulated,
          .median = rounded(candidate.per_call.median),
          .low = rounded(candidate.per_call.low),
          .high = rounded(candidate.per_call.high),
          .speedup_over_baseline = reference == nullptr ? 0 : speedup(candidate, *reference),
          .samples = measurement.samples.size(),
          .verified_calls = measurement.verified_calls,
          .rounding = measurement.rounding,
          .numeric_class = measurement.numeric_class,
          .limits = measurement.limits};
}

/// Fastest first; at equal medians the baseline, then by name: the same answer for any order of
/// the measurements.
bool ranks_before(const Candidate& a, const Candidate& b) {
  if (a.per_call.median != b.per_call.median) return a.per_call.median < b.per_call.median;
  if (a.measurement->is_baseline != b.measurement->is_baseline) return a.measurement->is_baseline;
  return a.measurement->variant < b.measurement->variant;
}

/// Decides one key and family; `ranked` holds all candidates of the key, fastest first.
std::optional<Decision> decide_family(const std::vector<Candidate>& all, const std::string& family,
                                      const DecisionPolicy& policy) {
  Field field;
  for (const Candidate& candidate : all) {
    const bool is_baseline = candidate.measurement->is_baseline;
    if (is_baseline && field.reference == nullptr) field.reference = &candidate;
    if (family != any_family && candidate.measurement->family != family) continue;
    field.ranked.push_back(&candidate);
    if (is_baseline && field.own_baseline == nullptr) field.own_baseline = &candidate;
  }
  if (field.ranked.empty()) return std::nullopt;
  if (field.own_baseline != nullptr) field.reference = field.own_baseline;

  const Judgement verdict = judge(field, policy);
  const auto winner = field.ranked.begin() + static_cast<std::ptrdiff_t>(verdict.winner);
  std::rotate(field.ranked.begin(), winner, winner + 1);
  Decision decision{.key = all.front().measurement->key, .family = family};
  for (const Candidate* candidate : field.ranked)
    decision.ranked.push_back(to_ranked(*candidate, field.reference));
  decision.reason = verdict.reason;
  return decision;
}

void check_unique(const std::vector<const Measurement*>& trials) {
  std::set<Variant> variants;
  for (const Measurement* trial : trials)
    if (!variants.insert(trial->variant).second)
      throw Error(StatusCode::invalid_argument,
                  fmt::format("decide: the trial {} of {} on {} occurs twice; give the "
                              "measurements of one sweep",
                              to_string(trial->variant), describe(trial->key.problem),
                              describe(trial->key.topology)));
}

}  // namespace

std::vector<Decision> decide(std::span<const Measurement> measurements,
                             const DecisionPolicy& policy, const std::string& sweep_uuid) {
  std::map<TuningKey, std::vector<const Measurement*>> by_key;
  for (const Measurement& measurement : measurements)
    by_key[measurement.key].push_back(&measurement);

  std::vector<Decision> decisions;
  for (const auto& [key, trials] : by_key) {
    check_unique(trials);
    std::vector<Candidate> candidates;
    std::set<std::string> families;
    for (const Measurement* trial : trials)
      if (may_rank(*trial)) {
        candidates.push_back(to_candidate(*trial, policy));
        families.insert(trial->family);
      }
    std::ranges::sort(candidates, ranks_before);
    std::vector<std::string> fields{std::string(any_family)};
    fields.insert(fields.end(), families.begin(), families.end());
    for (const auto& family : fields)
      if (auto decision = decide_family(candidates, family, policy)) {
        decision->sweep_uuid = sweep_uuid;
        decisions.push_back(*std::move(decision));
      }
  }
  return decisions;
}

}  // namespace colltune
