// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/confirm.h"

#include <fmt/format.h>

#include <algorithm>

#include "colltune/decide/duel.h"
#include "colltune/decide/noise.h"
#include "colltune/decide/rounds.h"
#include "colltune/decide/statistics.h"

namespace colltune {
namespace {

/// What the launches show about a contest.
struct Evidence {
  std::vector<double> ratios;  ///< of the launches that measured both
  std::string fault;           ///< the candidate's fault in a launch, for a person; empty: none
  std::vector<double> busy;    ///< share of time waited for a core, in each launch that does not
                               ///< count
};

/// One variant's trial in a launch, with all its passes.
struct LaunchTrial {
  PassRounds rounds;
  std::vector<const Measurement*> passes;
  const Measurement* fault = nullptr;  ///< of a pass that was not ok; null: none
};

LaunchTrial find_trial(std::span<const Measurement> launch, const TuningKey& key,
                       const Variant& variant) {
  LaunchTrial trial;
  for (const Measurement& measurement : launch) {
    if (measurement.is_twin || measurement.variant != variant || measurement.key != key) continue;
    if (!is_credited(measurement)) trial.fault = &measurement;
    trial.rounds[measurement.pass] = round_medians(measurement);
    trial.passes.push_back(&measurement);
  }
  return trial;
}

/// The share of the launch for which the ranks of `topology` waited for a core. Negative: not
/// observed.
double kept_waiting_in(std::span<const Measurement> launch, const Topology& topology) {
  std::vector<const Measurement*> of_world;
  for (const Measurement& measurement : launch)
    if (measurement.key.topology == topology) of_world.push_back(&measurement);
  return kept_waiting_of(of_world);
}

/// The ratio of a launch under load, reduced by what the load may explain. Empty if the load may
/// explain all of it.
std::optional<double> beyond_load(double ratio, const LaunchTrial& reference,
                                  const LaunchTrial& candidate) {
  const Duel duel = widened({.ratio = ratio}, waited_in_counted(reference.passes),
                            waited_in_counted(candidate.passes));
  if (ratio / duel.helped >= 1) return ratio / duel.helped;
  if (ratio * duel.held_back < 1) return ratio * duel.held_back;
  return {};
}

Evidence evidence_of(const TuningKey& key, const ConfirmContest& contest,
                     std::span<const std::vector<Measurement>> launches,
                     const ConfirmPolicy& policy) {
  Evidence evidence;
  for (const auto& launch : launches) {
    const LaunchTrial candidate = find_trial(launch, key, contest.candidate);
    if (candidate.fault != nullptr) {
      constexpr std::size_t shown = 200;  // the whole text is stored with the measurement
      if (const auto& instead = candidate.fault->conditions.executed_instead) {
        evidence.fault = "it ran " + *instead + " instead";
        continue;
      }
      const std::string& detail = candidate.fault->detail;
      evidence.fault = fmt::format("{}{}{}", name_of(candidate.fault->outcome),
                                   detail.empty() ? "" : ": ", detail.substr(0, shown));
      continue;
    }
    const LaunchTrial reference = find_trial(launch, key, contest.reference);
    if (reference.fault != nullptr) continue;
    const auto ratios = ratios_by_pass(reference.rounds, candidate.rounds);
    if (ratios.empty()) continue;
    const double wait = kept_waiting_in(launch, key.topology);
    std::optional<double> ratio = balanced_ratio(ratios);
    if (policy.most_kept_waiting && wait > *policy.most_kept_waiting)
      ratio = beyond_load(*ratio, reference, candidate);
    if (ratio)
      evidence.ratios.push_back(*ratio);
    else
      evidence.busy.push_back(wait);
  }
  return evidence;
}

Confirmation summarize(const std::vector<double>& ratios, const ConfirmPolicy& policy) {
  const auto [least, most] = std::ranges::minmax(ratios);
  return {.launches = ratios.size(),
          .speedup = median_of(ratios),
          .low = median_lower_bound(ratios, policy.confidence).value_or(least),
          .high = median_upper_bound(ratios, policy.confidence).value_or(most)};
}

std::string describe(const Confirmation& seen) {
  return fmt::format("{:.3f}x as fast in {} fresh launches ({:.3f}x to {:.3f}x)", seen.speedup,
                     seen.launches, seen.low, seen.high);
}

std::string why_too_few(const Evidence& evidence, const ConfirmPolicy& policy) {
  const std::string too_few = fmt::format("{} of {} launches count", evidence.ratios.size(),
                                          std::max<std::size_t>(policy.launches, 1));
  if (evidence.busy.empty()) return too_few;
  return fmt::format(
      "{}: in {} the ranks waited for a core up to {:.1f} % of the time, which may be the whole "
      "difference; confirm again when nothing else runs there",
      too_few, evidence.busy.size(), 100 * std::ranges::max(evidence.busy));
}

auto find_baseline(Decision& decision) {
  return std::ranges::find_if(decision.ranked, &RankedVariant::is_baseline);
}

ConfirmStep veto_against_baseline(Decision decision, const std::string& why, std::size_t launches) {
  const Variant vetoed = decision.ranked.front().variant;
  decision.reason += fmt::format("; {} was vetoed: {}", to_string(vetoed), why);
  std::rotate(decision.ranked.begin(), decision.ranked.begin() + 1, find_baseline(decision) + 1);
  // The vetoed variant now stands right after the baseline.
  if (!decision.ranked.front().is_baseline) return {std::move(decision), ConfirmResult::vetoed};
  return {keep_baseline(std::move(decision), launches), ConfirmResult::confirmed};
}

/// The same in a family without a baseline.
ConfirmStep veto_against_next(Decision decision, const std::string& why,
                              const std::optional<Confirmation>& seen) {
  decision.reason +=
      fmt::format("; {} was vetoed: {}", to_string(decision.ranked.front().variant), why);
  if (!seen) {  // a fault moves the variant to the end
    std::rotate(decision.ranked.begin(), decision.ranked.begin() + 1, decision.ranked.end());
    return {std::move(decision), ConfirmResult::vetoed};
  }
  std::swap(decision.ranked[0], decision.ranked[1]);
  decision.status = DecisionStatus::confirmed;
  decision.confirmation = {.launches = seen->launches,
                           .speedup = 1 / seen->speedup,
                           .low = 1 / seen->high,
                           .high = 1 / seen->low};
  return {std::move(decision), ConfirmResult::confirmed};
}

/// Whether the winner leads a family that has nothing better, but is slower than the key's
/// baseline.
bool is_slower_than_the_baseline(const Decision& decision) {
  const RankedVariant& winner = decision.ranked.front();
  return !winner.is_baseline && winner.speedup_over_baseline > 0 &&
         winner.speedup_over_baseline < 1;
}

}  // namespace

std::optional<ConfirmContest> contest_of(const Decision& decision) {
  const auto& ranked = decision.ranked;
  if (ranked.size() < 2 || ranked.front().is_baseline) return {};
  if (is_slower_than_the_baseline(decision)) return {};
  const auto baseline = std::ranges::find_if(ranked, &RankedVariant::is_baseline);
  const RankedVariant& reference = baseline == ranked.end() ? ranked[1] : *baseline;
  return ConfirmContest{ranked.front().variant, reference.variant};
}

ConfirmStep confirm(Decision decision, std::span<const std::vector<Measurement>> launches,
                    const ConfirmPolicy& policy) {
  if (decision.verdict == Verdict::undecided)
    return {std::move(decision), ConfirmResult::open, "undecided"};
  if (decision.ranked.front().is_baseline)
    return {std::move(decision), ConfirmResult::open,
            "the baseline stays: nothing is claimed that launches could check"};
  if (is_slower_than_the_baseline(decision))
    return {std::move(decision), ConfirmResult::open,
            "slower than the baseline of the key: it leads only its own family"};
  const auto contest = contest_of(decision);
  if (!contest)
    return {std::move(decision), ConfirmResult::open,
            "the only variant that may rank: there is nothing to compare it with"};

  const Evidence evidence = evidence_of(decision.key, *contest, launches, policy);
  const bool has_baseline = find_baseline(decision) != decision.ranked.end();
  if (!evidence.fault.empty()) {
    const std::string why = "in a fresh launch it was " + evidence.fault;
    return has_baseline ? veto_against_baseline(std::move(decision), why, launches.size())
                        : veto_against_next(std::move(decision), why, {});
  }
  if (evidence.ratios.empty() || evidence.ratios.size() < policy.launches) {
    const std::size_t measured = evidence.ratios.size() + evidence.busy.size();
    return {std::move(decision), ConfirmResult::open, why_too_few(evidence, policy),
            measured == 0 || measured >= policy.launches ? 0 : policy.launches - measured};
  }

  const Confirmation seen = summarize(evidence.ratios, policy);
  const bool is_loss = seen.high < policy.loss;
  if (is_loss || (has_baseline && seen.speedup < 1)) {
    const std::string why = describe(seen) + (is_loss ? "" : ": its gain did not reproduce");
    return has_baseline ? veto_against_baseline(std::move(decision), why, seen.launches)
                        : veto_against_next(std::move(decision), why, seen);
  }
  decision.status = DecisionStatus::confirmed;
  decision.confirmation = seen;
  decision.reason += "; confirmed: " + describe(seen);
  if (!has_baseline) decision.reason += " beside " + to_string(contest->reference);
  return {std::move(decision), ConfirmResult::confirmed};
}

Decision keep_baseline(Decision decision, std::size_t launches) {
  const auto baseline = find_baseline(decision);
  if (baseline == decision.ranked.end()) return decision;
  std::rotate(decision.ranked.begin(), baseline, baseline + 1);
  decision.verdict = Verdict::kept;
  decision.status = DecisionStatus::confirmed;
  decision.confirmation = {.launches = launches};
  decision.reason += "; the baseline stays";
  return decision;
}

}  // namespace colltune
