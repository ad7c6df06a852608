// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/decide.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "colltune/decide/duel.h"
#include "pooled_passes.h"
#include "ranked_candidate.h"

namespace colltune {
namespace {

using std::chrono::nanoseconds;

/// A candidate and the result of its duel with the reference.
struct Entry {
  const RankedCandidate* candidate = nullptr;
  Duel duel;
  double speedup = 0;  ///< over the reference; 0 if there is none
  Standing standing = Standing::beaten;
  /// Passes in which it and the reference have common rounds; 0 if there is no reference.
  std::size_t passes = 0;
  /// Whether it ran in as many passes as any other candidate, in each sweep that it took part in.
  /// If not, it was not always a contender.
  bool has_all_passes = true;
};

/// The candidates of one key and family.
struct Field {
  std::vector<Entry> entries;  ///< fastest first; at equal speed the simpler first
  const RankedCandidate* own_baseline = nullptr;
  const RankedCandidate* reference = nullptr;  ///< speed-ups are relative to it
  double noise = 1;                            ///< ratio that the reference's twin shows
  double risk = 0;                             ///< of one duel
  PassWeights weights;
};

std::string name_of_variant(const RankedCandidate& candidate) {
  return to_string(candidate.measurement->variant);
}

Entry enter(const RankedCandidate& candidate, const Field& field, const Contest& contest,
            const DecisionPolicy& policy) {
  Entry entry{.candidate = &candidate};
  if (field.reference == nullptr) return entry;
  entry.speedup = 1;
  if (&candidate == field.reference) {
    entry.passes = ratios_by_pass(candidate.rounds, candidate.rounds).size();
    return entry;
  }
  entry.duel = contest.duel(*field.reference, candidate, field.risk, policy);
  entry.standing = judge(entry.duel, policy, field.noise);
  if (entry.duel.rounds > 0) {
    entry.passes = entry.duel.passes;
    entry.speedup = entry.duel.ratio;
  } else if (candidate.per_call.median > 0) {
    entry.speedup = field.reference->per_call.median / candidate.per_call.median;
  }
  return entry;
}

bool is_faster(const Entry& a, const Entry& b) {
  if (a.speedup != b.speedup) return a.speedup > b.speedup;
  return a.candidate->per_call.median < b.candidate->per_call.median;
}

/// How much faster `one` is than `other` in their common rounds; 0 if there are none.
double ratio_to(const Entry& other, const Entry& one, const PassWeights& weights) {
  const auto ratios = ratios_by_pass(other.candidate->rounds, one.candidate->rounds);
  return ratios.empty() ? 0 : balanced_ratio(ratios, weights);
}

/// The fastest entry among those with the most passes, found by direct comparison: it starts with
/// the fastest relative to the reference and moves to whichever entry beats the current one.
/// Comparing two rivals through a third one is less certain, because the third one's fluctuation
/// between rounds enters twice.
const Entry& find_leader(const Field& field, std::size_t most_common) {
  const Entry* leader = nullptr;
  for (const Entry& entry : field.entries)
    if (entry.passes == most_common && (leader == nullptr || is_faster(entry, *leader)))
      leader = &entry;
  constexpr int tries = 8;  // "beats" may be circular, so the search is bounded
  for (int i = 0; i < tries; ++i) {
    const Entry* faster = leader;
    double most = 1;
    for (const Entry& entry : field.entries)
      if (entry.passes == most_common)
        if (const double ratio = ratio_to(*leader, entry, field.weights); ratio > most) {
          most = ratio;
          faster = &entry;
        }
    if (faster == leader) break;
    leader = faster;
  }
  return *leader;
}

std::map<int, std::size_t> passes_by_sweep(const RankedCandidate& candidate) {
  std::map<int, std::size_t> passes;
  for (const auto& [pass, rounds] : candidate.rounds) ++passes[sweep_of_pass(pass)];
  return passes;
}

/// Speed-ups over different passes cannot be compared: a pass may have met a machine state that
/// favoured the variants that ran in it. So every entry is compared with one leader, in their
/// common rounds. An entry that missed a pass (a pass with only void rounds is not missed) cannot
/// win. It has beaten the baseline only if it also does so by way of the leader.
void rank_by_common_passes(Field& field, const DecisionPolicy& policy) {
  std::map<int, std::size_t> most_run;  ///< by sweep
  std::size_t most_common = 0;
  for (const Entry& entry : field.entries) {
    for (const auto& [sweep, passes] : passes_by_sweep(*entry.candidate))
      most_run[sweep] = std::max(most_run[sweep], passes);
    most_common = std::max(most_common, entry.passes);
  }
  if (most_run.empty() || (most_run.size() == 1 && most_run.begin()->second < 2)) return;
  const Entry& leader = find_leader(field, most_common);
  const double speedup = leader.speedup;
  for (Entry& entry : field.entries) {
    entry.has_all_passes = std::ranges::all_of(
        passes_by_sweep(*entry.candidate),
        [&](const auto& of_sweep) { return of_sweep.second == most_run.at(of_sweep.first); });
    if (entry.candidate == field.reference) continue;
    if (const double ratio = ratio_to(leader, entry, field.weights); ratio > 0)
      entry.speedup = speedup * ratio;
    if (!entry.has_all_passes && entry.speedup < 1 + policy.minimum_margin)
      entry.standing = Standing::beaten;
  }
}

/// `whole`, if not null, is the field of all families. If both fields have the same reference, a
/// variant gets the same speed-up in both.
Field make_field(const Contest& contest, const std::string& family, const DecisionPolicy& policy,
                 const Field* whole) {
  std::vector<const RankedCandidate*> all;
  std::vector<const RankedCandidate*> own;
  for (const RankedCandidate& candidate : contest.candidates) {
    all.push_back(&candidate);
    if (family == any_family || candidate.measurement->family == family) own.push_back(&candidate);
  }
  Field field{.own_baseline = fastest_baseline(own),
              .risk = risk_of_duel(policy, contest.rivals()),
              .weights = contest.weights};
  field.reference = field.own_baseline != nullptr ? field.own_baseline : fastest_baseline(all);
  if (field.reference != nullptr)
    field.noise = twin_noise(contest.twin_duel(*field.reference, field.risk, policy));
  for (const RankedCandidate* candidate : own)
    field.entries.push_back(enter(*candidate, field, contest, policy));
  rank_by_common_passes(field, policy);
  if (whole != nullptr && whole->reference == field.reference)
    for (Entry& entry : field.entries)
      entry.speedup =
          std::ranges::find(whole->entries, entry.candidate, &Entry::candidate)->speedup;
  std::ranges::stable_sort(field.entries, is_faster);
  return field;
}

/// Whether `leader` leads `other` by less than the margin.
bool are_equal(const Entry& leader, const Entry& other, const Field& field,
               const DecisionPolicy& policy) {
  const Duel duel =
      fight_in_passes(other.candidate->rounds, leader.candidate->rounds, field.risk, field.weights);
  return duel.rounds > 0 && duel.ratio < 1 + policy.minimum_margin;
}

/// The simplest of the entries that equal the first of `entries`, which are ordered fastest first.
const Entry& simplest_equal(const std::vector<const Entry*>& entries, const Field& field,
                            const DecisionPolicy& policy) {
  const Entry* simplest = entries.front();
  for (const Entry* entry : entries)
    if (is_simpler(*entry->candidate->measurement, *simplest->candidate->measurement) &&
        are_equal(*entries.front(), *entry, field, policy))
      simplest = entry;
  return *simplest;
}

std::string as_simpler(const Entry& winner, const Entry& leader) {
  if (winner.candidate == leader.candidate) return {};
  return fmt::format("; the fastest, {}, is not clearly faster and less simple",
                     name_of_variant(*leader.candidate));
}

/// The winner, and the order of the others.
struct Judgement {
  const RankedCandidate* winner = nullptr;
  Verdict verdict = Verdict::no_baseline;
  std::string reason;
};

Judgement judge_without_baseline(const Field& field, const DecisionPolicy& policy) {
  std::vector<const Entry*> entries;
  for (const Entry& entry : field.entries)
    if (entry.has_all_passes) entries.push_back(&entry);
  const Entry& leader = *entries.front();
  const Entry& winner = simplest_equal(entries, field, policy);
  const std::string name = name_of_variant(*winner.candidate);
  Judgement judgement{.winner = winner.candidate, .verdict = Verdict::no_baseline};
  judgement.reason =
      field.reference == nullptr
          ? fmt::format("no baseline was measured: {} is the fastest of {} variant(s)", name,
                        entries.size())
          : fmt::format(
                "{} is the fastest of {} variant(s) of this family, which has no baseline "
                "of its own; {:.3f}x the speed of {}",
                name, entries.size(), winner.speedup, name_of_variant(*field.reference));
  judgement.reason += as_simpler(winner, leader);
  return judgement;
}

Judgement keep_baseline(const Field& field, const DecisionPolicy& policy) {
  const std::string name = name_of_variant(*field.own_baseline);
  Judgement judgement{.winner = field.own_baseline, .verdict = Verdict::kept};
  const Entry* best = nullptr;  // the fastest rival, or the fastest open one
  for (const Entry& entry : field.entries) {
    if (entry.candidate == field.own_baseline || !entry.has_all_passes) continue;
    if (best == nullptr) best = &entry;
    if (entry.standing != Standing::open) continue;
    best = &entry;
    judgement.verdict = Verdict::undecided;
    break;
  }
  if (field.entries.size() == 1)
    judgement.reason = "the baseline is the only variant that may rank";
  else if (judgement.verdict == Verdict::undecided)
    judgement.reason =
        fmt::format("the baseline {} stays, undecided: {} {}", name,
                    name_of_variant(*best->candidate), explain(best->duel, policy, field.noise));
  else if (best == nullptr || best->speedup <= 1)
    judgement.reason =
        fmt::format("the baseline {} is the fastest of {} variants", name, field.entries.size());
  else
    judgement.reason =
        fmt::format("the baseline {} stays: {} {}", name, name_of_variant(*best->candidate),
                    explain(best->duel, policy, field.noise));
  return judgement;
}

Judgement judge_field(const Field& field, const Contest& contest, const DecisionPolicy& policy) {
  if (field.own_baseline == nullptr) return judge_without_baseline(field, policy);
  std::vector<const Entry*> proven;
  for (const Entry& entry : field.entries)
    if (entry.standing == Standing::proven && entry.has_all_passes) proven.push_back(&entry);
  if (proven.empty()) return keep_baseline(field, policy);
  const Entry& winner = simplest_equal(proven, field, policy);
  return {.winner = winner.candidate,
          .verdict = Verdict::displaced,
          .reason = fmt::format("{} is {:.3f}x as fast as the baseline {} (at least {:.3f}x over "
                                "{} at {:.3g} % confidence among {} rivals{})",
                                name_of_variant(*winner.candidate), winner.duel.ratio,
                                name_of_variant(*field.own_baseline), *winner.duel.low,
                                describe_rounds(winner.duel), 100 * policy.confidence,
                                contest.rivals(), as_simpler(winner, *proven.front()))};
}

RankedVariant to_ranked(const Entry& entry) {
  const RankedCandidate& candidate = *entry.candidate;
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
          .speedup_over_baseline = entry.speedup,
          .samples = candidate.samples,
          .verified_calls = candidate.verified_calls,
          .rounding = measurement.rounding,
          .numeric_class = measurement.numeric_class,
          .limits = measurement.limits};
}

Decision decide_field(const TuningKey& key, const Contest& contest, const std::string& family,
                      Field field, const DecisionPolicy& policy) {
  Judgement judgement = judge_field(field, contest, policy);
  const auto place = [&](const Entry& entry) {
    if (entry.candidate == judgement.winner) return 0;
    if (field.own_baseline != nullptr && entry.standing == Standing::proven)
      return entry.has_all_passes ? 1 : 2;
    return entry.candidate == field.own_baseline ? 3 : 4;
  };
  std::ranges::stable_sort(field.entries, {}, place);
  Decision decision{.key = key,
                    .family = family,
                    .reason = std::move(judgement.reason),
                    .verdict = judgement.verdict};
  for (const Entry& entry : field.entries) decision.ranked.push_back(to_ranked(entry));
  return decision;
}

}  // namespace

namespace {

template <class PolicyOf>
std::vector<Decision> decide_each(std::span<const Measurement> measurements, double confidence,
                                  const std::string& sweep_uuid, PolicyOf&& policy_of) {
  std::vector<Decision> decisions;
  for (const auto& [key, contest] : contests_of(measurements, false, confidence)) {
    const DecisionPolicy& policy = policy_of(key);
    std::set<std::string> families;
    for (const RankedCandidate& candidate : contest.candidates)
      families.insert(candidate.measurement->family);
    const std::string any(any_family);
    const Field whole = make_field(contest, any, policy, nullptr);
    decisions.push_back(decide_field(key, contest, any, whole, policy));
    for (const std::string& family : families)
      decisions.push_back(
          decide_field(key, contest, family, make_field(contest, family, policy, &whole), policy));
    for (Decision& decision : std::span(decisions).last(families.size() + 1))
      decision.sweep_uuid = sweep_uuid;
  }
  return decisions;
}

}  // namespace

std::vector<Decision> decide(std::span<const Measurement> measurements,
                             const DecisionPolicy& policy, const std::string& sweep_uuid) {
  return decide_each(measurements, policy.confidence, sweep_uuid,
                     [&](const TuningKey&) -> const DecisionPolicy& { return policy; });
}

std::vector<Decision> decide_by_key(std::span<const Measurement> measurements,
                                    const std::map<TuningKey, DecisionPolicy>& policies,
                                    const std::string& sweep_uuid) {
  return decide_each(
      measurements, DecisionPolicy{}.confidence, sweep_uuid,
      [&](const TuningKey& key) -> const DecisionPolicy& { return policies.at(key); });
}

std::map<Verdict, std::size_t> count_verdicts(std::span<const Decision> decisions) {
  std::map<Verdict, std::size_t> counts;
  for (const auto& [verdict, name] : enum_names(Verdict{})) counts[verdict] = 0;
  for (const Decision& decision : decisions)
    if (decision.family == any_family) ++counts[decision.verdict];
  return counts;
}

}  // namespace colltune
