// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/settle.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "colltune/decide/confirm.h"
#include "colltune/decide/decide.h"
#include "colltune/decide/duel.h"
#include "colltune/decide/rounds.h"
#include "colltune/decide/statistics.h"
#include "colltune/decide/trials.h"
#include "pooled_passes.h"

namespace colltune {
namespace {

/// What the sweeps measured for one key.
struct KeyEvidence {
  std::vector<Measurement> pool;                 ///< passes of sweep i start at i * pooled_passes
  std::vector<std::vector<Measurement>> sweeps;  ///< unchanged; only sweeps that measured the key
};

/// Removes trials that did not end well in a sweep before the last one: what failed then was
/// measured again since, or is gone. Trials with wrong results are never removed.
void leave_out_failed(std::vector<Measurement>& of_key) {
  std::set<TrialName> failed;
  for (const Measurement& one : of_key)
    if (!is_credited(one) && one.outcome != Outcome::wrong) failed.insert(name_of_trial(one));
  std::erase_if(of_key,
                [&](const Measurement& one) { return failed.contains(name_of_trial(one)); });
}

std::map<TuningKey, KeyEvidence> evidence_by_key(std::span<const SweepEvidence> sweeps) {
  std::map<TuningKey, KeyEvidence> keys;
  for (const Measurement& one : sweeps.back().measurements)
    if (!one.is_holdout) keys[one.key];
  for (std::size_t i = 0; i < sweeps.size(); ++i) {
    std::map<TuningKey, std::vector<Measurement>> of_sweep;
    for (const Measurement& one : sweeps[i].measurements)
      if (!one.is_holdout && keys.contains(one.key)) of_sweep[one.key].push_back(one);
    for (auto& [key, measurements] : of_sweep) {
      KeyEvidence& evidence = keys.at(key);
      if (i + 1 < sweeps.size()) leave_out_failed(measurements);
      for (Measurement one : measurements) {
        one.pass += static_cast<int>(i) * pooled_passes;
        evidence.pool.push_back(std::move(one));
      }
      evidence.sweeps.push_back(std::move(measurements));
    }
  }
  return keys;
}

/// The rounds of a variant over all sweeps.
PassRounds pooled_rounds(const KeyEvidence& evidence, const Variant& variant) {
  PassRounds rounds;
  for (const Measurement& one : evidence.pool)
    if (!one.is_twin && one.variant == variant && is_credited(one))
      rounds[one.pass] = round_medians(one);
  return rounds;
}

/// Why the winner cannot stay in any case: it was wrong or failed in the last sweep.
std::optional<std::string> fault_in_last(const KeyEvidence& evidence, const Variant& variant) {
  for (const Measurement& one : evidence.sweeps.back())
    if (!one.is_twin && one.variant == variant && is_fault(one.outcome))
      return fmt::format("{} was {} in this sweep", to_string(variant), name_of(one.outcome));
  return {};
}

/// How much faster `rival` is than `reference`, by sweep; each sweep is a launch.
std::vector<double> ratios_by_sweep(const KeyEvidence& evidence, const std::string& without,
                                    const std::vector<std::string>& uuids, const Variant& reference,
                                    const Variant& rival) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < evidence.sweeps.size(); ++i) {
    if (uuids[i] == without) continue;
    PassRounds of_reference;
    PassRounds of_rival;
    for (const Measurement& one : evidence.sweeps[i]) {
      if (one.is_twin || !is_credited(one)) continue;
      if (one.variant == reference) of_reference[one.pass] = round_medians(one);
      if (one.variant == rival) of_rival[one.pass] = round_medians(one);
    }
    if (const auto by_pass = ratios_by_pass(of_reference, of_rival); !by_pass.empty())
      ratios.push_back(balanced_ratio(by_pass));
  }
  return ratios;
}

/// Compares one published decision with all evidence.
class Settler {
 public:
  Settler(const KeyEvidence& evidence, std::vector<std::string> uuids, DecisionPolicy policy)
      : evidence_(evidence), uuids_(std::move(uuids)), policy_(policy) {}

  [[nodiscard]] Settled settle(const Decision* published, Decision found) const {
    if (published == nullptr) return {std::move(found), Settlement::added, "nothing was published"};
    const Variant& old_winner = published->ranked.front().variant;
    if (auto fault = fault_in_last(evidence_, old_winner))
      return {std::move(found), Settlement::replaced, *std::move(fault)};
    if (published->status == DecisionStatus::confirmed)
      return settle_confirmed(*published, std::move(found));
    if (found.ranked.front().variant == old_winner && found.verdict == published->verdict)
      return {std::move(found), Settlement::strengthened, "the same winner"};
    return settle_provisional(*published, std::move(found));
  }

 private:
  static Settled keep(const Decision& published, std::string why) {
    return {published, Settlement::kept, std::move(why)};
  }

  [[nodiscard]] Settled settle_provisional(const Decision& published, Decision found) const {
    const bool was_proven =
        published.verdict == Verdict::displaced || published.verdict == Verdict::kept;
    if (was_proven && found.verdict == Verdict::undecided)
      return keep(published, "proven before, undecided now");
    if (published.verdict == Verdict::displaced && found.verdict == Verdict::displaced) {
      const Duel duel = pooled_duel(published, found);
      if (duel.rounds > 0 && judge(duel, policy_) != Standing::proven)
        return keep(published,
                    fmt::format("{} is not proven faster than it: it {}",
                                to_string(found.ranked.front().variant), explain(duel, policy_)));
    }
    std::string why = "by the evidence of all sweeps: " + found.reason;
    return {std::move(found), Settlement::replaced, std::move(why)};
  }

  [[nodiscard]] Settled settle_confirmed(const Decision& published, Decision found) const {
    const Variant& winner = published.ranked.front().variant;
    const Variant& other = found.ranked.front().variant;
    const std::size_t needed = std::max<std::size_t>(1, published.confirmation.launches);
    if (other == winner)
      return keep(published, fmt::format("confirmed by {} launches, and this sweep agrees",
                                         published.confirmation.launches));
    const bool claims = found.verdict == Verdict::displaced || found.verdict == Verdict::kept ||
                        found.verdict == Verdict::no_baseline;
    const auto ratios = ratios_by_sweep(evidence_, published.sweep_uuid, uuids_, winner, other);
    if (!claims || ratios.size() < needed)
      return keep(published, fmt::format("confirmed by {} launches; {} sweep(s) compare it with {}",
                                         needed, ratios.size(), to_string(other)));
    const double low =
        median_lower_bound(ratios, confirm_policy_.confidence).value_or(std::ranges::min(ratios));
    const std::string seen = fmt::format("{} is {:.3f}x as fast (at least {:.3f}x) in {} sweeps",
                                         to_string(other), median_of(ratios), low, ratios.size());
    if (low <= 1 || median_of(ratios) < 1 + policy_.minimum_margin)
      return keep(
          published,
          fmt::format("confirmed by {} launches; {}, which does not contradict it", needed, seen));
    return {std::move(found), Settlement::replaced, seen};
  }

  /// The duel of the new winner with the old one, over all sweeps.
  [[nodiscard]] Duel pooled_duel(const Decision& published, const Decision& found) const {
    return fight_in_passes(pooled_rounds(evidence_, published.ranked.front().variant),
                           pooled_rounds(evidence_, found.ranked.front().variant),
                           risk_of_duel(policy_, found.ranked.size()));
  }

  const KeyEvidence& evidence_;
  std::vector<std::string> uuids_;  ///< of evidence_.sweeps
  DecisionPolicy policy_;
  ConfirmPolicy confirm_policy_;
};

}  // namespace

double share_of_risk(std::size_t sweep) {
  const auto number = static_cast<double>(std::max<std::size_t>(1, sweep));
  return 1 / (number * (number + 1));
}

std::vector<Settled> settle(std::span<const Decision> published,
                            std::span<const SweepEvidence> sweeps, const DecisionPolicy& policy) {
  std::vector<Settled> settled;
  if (sweeps.empty()) return settled;
  const auto keys = evidence_by_key(sweeps);
  std::map<std::pair<TuningKey, std::string>, const Decision*> before;
  for (const Decision& decision : published)
    before.emplace(std::pair(decision.key, decision.family), &decision);

  // The load on a world affects all of its keys, so they are decided together.
  std::vector<Measurement> pool;
  std::map<TuningKey, DecisionPolicy> policies;
  for (const auto& [key, evidence] : keys) {
    pool.insert(pool.end(), evidence.pool.begin(), evidence.pool.end());
    DecisionPolicy of_key = policy;
    of_key.confidence = 1 - (1 - policy.confidence) * share_of_risk(evidence.sweeps.size());
    policies.emplace(key, of_key);
  }
  for (Decision& found : decide_by_key(pool, policies, sweeps.back().sweep_uuid)) {
    const KeyEvidence& evidence = keys.at(found.key);
    std::vector<std::string> uuids;
    for (const SweepEvidence& sweep : sweeps)
      if (std::ranges::any_of(sweep.measurements, [&](const Measurement& one) {
            return !one.is_holdout && one.key == found.key;
          }))
        uuids.push_back(sweep.sweep_uuid);
    if (uuids.size() > 1) found.reason += fmt::format(", in {} sweeps", uuids.size());
    const auto old = before.find({found.key, found.family});
    const Settler settler(evidence, std::move(uuids), policies.at(found.key));
    settled.push_back(
        settler.settle(old == before.end() ? nullptr : old->second, std::move(found)));
  }
  return settled;
}

bool is_worth_more(const Decision& published, const Decision& found) {
  if (published.status != found.status) return published.status == DecisionStatus::confirmed;
  const bool is_proven =
      published.verdict == Verdict::displaced || published.verdict == Verdict::kept;
  return is_proven && found.verdict == Verdict::undecided;
}

std::map<Settlement, std::size_t> count_settlements(std::span<const Settled> settled) {
  std::map<Settlement, std::size_t> counts;
  for (const auto& [what, name] : enum_names(Settlement{})) counts[what] = 0;
  for (const Settled& one : settled) ++counts[one.what];
  return counts;
}

std::vector<Decision> to_publish(std::span<const Settled> settled) {
  std::vector<Decision> decisions;
  for (const Settled& one : settled)
    if (one.what != Settlement::kept) decisions.push_back(one.decision);
  return decisions;
}

}  // namespace colltune
