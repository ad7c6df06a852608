// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/table/decision_table.h"

#include <algorithm>
#include <array>

#include "answer_groups.h"
#include "colltune/vocabulary/problem_form.h"
#include "explain.h"
#include "fitted_choice.h"
#include "index.h"
#include "members_choice.h"
#include "other_ranks.h"
#include "rank_around.h"

namespace colltune {
namespace {

/// Throws if nodes, ranks per node (the most on any node) and the number of members contradict each
/// other.
void check_members(const LookupQuery& query) {
  check(*query.members);
  const std::size_t ranks = query.members->kind_of_rank.size();
  const auto nodes = static_cast<std::size_t>(query.nodes.value_or(1));
  const auto per_node = static_cast<std::size_t>(query.ranks_per_node.value_or(1));
  const std::size_t least = nodes - 1 + per_node;
  const bool is_bounded = query.nodes && query.ranks_per_node;
  if (ranks >= least && (!is_bounded || ranks <= nodes * per_node)) return;
  std::string allowed = "at least " + std::to_string(least);
  if (is_bounded) allowed += " and at most " + std::to_string(nodes * per_node);
  throw Error(StatusCode::invalid_argument,
              "members: there are " + std::to_string(ranks) +
                  " ranks; with the nodes and ranks per node asked for there are " + allowed);
}

/// How much of a query is examined before any stored entry fits. Only a query that fits costs more,
/// so no query costs more than its size and the stored data.
constexpr std::uint64_t most_work_unseen = 1U << 20U;

bool needs_merging(const LookupQuery& query) {
  return query.form && *query.form != CompositionMode::sequential && query.problem.mesh;
}

/// A form whose result differs from that of the steps cannot answer for them.
void check_merges(const LookupQuery& query) {
  if (const Merge merge = merge_steps(*query.problem.mesh, query.problem.data_type);
      !merge.why_not.empty())
    throw Error(StatusCode::invalid_argument, describe(query.problem) + " has no " +
                                                  std::string(name_of(*query.form)) +
                                                  " form: " + merge.why_not);
}

bool is_merging_cheap(const LookupQuery& query) {
  return merging_work(*query.problem.mesh) <= most_work_unseen;
}

void check_form(const LookupQuery& query) {
  const std::string form(name_of(*query.form));
  if (!query.problem.mesh)
    throw Error(StatusCode::invalid_argument,
                "the form " + form + " is asked for, which only mesh reductions have");
  if (*query.form == CompositionMode::sequential) return;
  if (*query.form != CompositionMode::merged && *query.form != CompositionMode::hierarchical)
    throw Error(StatusCode::invalid_argument,
                form +
                    " is no form of a mesh reduction; allowed are sequential, merged and "
                    "hierarchical");
  if (is_merging_cheap(query)) check_merges(query);
}

void check_query(const LookupQuery& query, const Generation& generation) {
  check(query.problem);
  if (query.nodes && *query.nodes < 1)
    throw Error(StatusCode::invalid_argument, "nodes must be at least 1");
  if (query.ranks_per_node && *query.ranks_per_node < 1)
    throw Error(StatusCode::invalid_argument, "ranks per node must be at least 1");
  if (query.generation && *query.generation != generation.number)
    throw Error(StatusCode::not_found, "generation " + std::to_string(*query.generation) +
                                           " is not in this table, which is generation " +
                                           std::to_string(generation.number) + " of store " +
                                           generation.store_uuid);
  if (query.members) check_members(query);
  if (query.form) check_form(query);
}

/// Keeps the curves of the environment asked for. True if there are none and the query accepts
/// another environment.
bool narrow_environment(const LookupQuery& query, std::vector<const Curve*>& fitting) {
  if (!query.environment_digest) return false;
  const auto is_other = [&](const Curve* curve) {
    return curve->environment_digest != *query.environment_digest;
  };
  if (query.at_least >= MatchLevel::any_environment && std::ranges::all_of(fitting, is_other))
    return true;
  std::erase_if(fitting, is_other);
  return false;
}

[[noreturn]] void fail_no_variant(const Decision& decision, const Asked& asked) {
  std::string message = "no measured variant can run " + describe(asked.problem) + " on " +
                        std::to_string(asked.ranks) + " ranks:";
  for (const RankedVariant& variant : decision.ranked) {
    const std::string reason = why_not(variant, asked);
    message += "\n  " + to_string(variant.variant) + ": " +
               (reason.empty() ? "was not measured at both neighbouring sizes" : reason);
  }
  throw Error(StatusCode::not_found, message);
}

/// The key that was measured, with the problem that was asked for.
TuningKey key_of_answer(const Asked& asked, TuningKey measured) {
  measured.problem = asked.problem;
  return measured;
}

/// Answers from the sizes around `asked`; the caller fills in match and generation.
LookupAnswer answer_from(const Curve& curve, const Neighbours& around, const Asked& asked) {
  RankedAround found = rank_around(around, asked);
  const std::optional<AnswerPrediction> prediction = choose_by_fits(curve, around, asked, found);
  const Decision* const basis = found.basis;
  Ranking& ranking = found.ranking;
  if (ranking.ranked.empty()) fail_no_variant(*basis, asked);
  LookupAnswer answer;
  answer.source = found.source;
  answer.measured_sizes = std::move(found.measured_sizes);
  answer.decision = {.key = key_of_answer(asked, basis->key),
                     .family = basis->family,
                     .ranked = std::move(ranking.ranked),
                     .reason = std::move(ranking.reason),
                     .sweep_uuid = basis->sweep_uuid,
                     .verdict = ranking.verdict,
                     .status = ranking.status,
                     .confirmation = ranking.confirmation};
  if (prediction) answer.prediction = prediction_at(*prediction, asked.problem.message_size);
  return answer;
}

/// Whether those of the curve's decisions that are around the asked size rank `variant` as a
/// baseline.
bool has_baseline(const Curve& curve, const Variant& variant, Bytes size) {
  const Neighbours around = find_neighbours(curve, size);
  return std::ranges::any_of(std::array{around.lower, around.upper}, [&](const Decision* decision) {
    return decision != nullptr &&
           std::ranges::any_of(decision->ranked, [&](const RankedVariant& ranked) {
             return ranked.is_baseline && ranked.variant == variant;
           });
  });
}

/// The baseline that can run the problem and that all curves rank. It has no times, because it was
/// not measured with the asking members. Empty if there is none.
std::optional<RankedVariant> common_baseline(const Decision& decision,
                                             const std::vector<const Curve*>& curves,
                                             const Asked& asked) {
  for (RankedVariant ranked : decision.ranked) {
    const bool is_common =
        ranked.is_baseline && why_not(ranked, asked).empty() &&
        std::ranges::all_of(curves, [&](const Curve* curve) {
          return has_baseline(*curve, ranked.variant, asked.problem.message_size);
        });
    if (!is_common) continue;
    ranked.median = ranked.low = ranked.high = {};
    ranked.speedup_over_baseline = 1.0;
    ranked.samples = ranked.verified_calls = 0;
    return ranked;
  }
  return {};
}

/// The answer for members for which no measurement may answer: `fitting` was measured with members
/// that can do more, or unknown ones. The caller fills in match and generation.
LookupAnswer baseline_answer(const std::vector<const Curve*>& fitting, const LookupQuery& query) {
  const Curve& closest = closest_by_members(fitting, *query.members);
  Asked asked = rounded(query.problem, closest.topology->ranks);
  asked.form = query.form;
  const Neighbours around = find_neighbours(closest, asked.problem.message_size);
  const Decision& decision = around.lower != nullptr ? *around.lower : *around.upper;
  const std::string why =
      "nothing was measured with such members, nor with members that can do no more (" +
      why_not_for(closest, *query.members) + ")";
  std::optional<RankedVariant> baseline = common_baseline(decision, fitting, asked);
  if (!baseline)
    throw Error(StatusCode::not_found,
                describe(asked.problem) + ": " + why +
                    ", and what was measured has no baseline in common that can run it");
  if (query.at_least == MatchLevel::exact)
    throw Error(StatusCode::not_found,
                describe(asked.problem) + ": " + why + ", and only an exact match is accepted");
  LookupAnswer answer;
  answer.source = Source::baseline;
  answer.members = MembersMatch::unknown;
  answer.decision = {.key = key_of_answer(asked, decision.key),
                     .family = decision.family,
                     .ranked = {*std::move(baseline)},
                     .reason = why + ": the baseline, which all members can run",
                     .sweep_uuid = "",
                     .verdict = Verdict::undecided,
                     .status = DecisionStatus::provisional};
  return answer;
}

/// The regimes, other than the query's, that have an answer to it.
template <class Index>
std::vector<Regime> other_regimes(const Index& index, const LookupQuery& query) {
  std::vector<Regime> found;
  for (const auto& calling : enum_names(Calling{}))
    for (const auto& input : enum_names(InputMode{})) {
      const Regime regime{calling.value, input.value};
      if (regime == regime_of(query)) continue;
      std::vector<const Curve*> fitting = index.admitted(query, regime);
      (void)narrow_environment(query, fitting);
      if (!fitting.empty()) found.push_back(regime);
    }
  return found;
}

/// The answer for a number of ranks per node that was not measured, if the query accepts that and
/// measurements with other numbers predict it. Throws Error(invalid_argument) if several worlds
/// fit. The caller fills in the generation.
template <class Index>
std::optional<LookupAnswer> find_for_other_ranks(const Index& index, const LookupQuery& query,
                                                 EnvironmentList environments) {
  if (query.at_least != MatchLevel::other_ranks || !query.ranks_per_node || query.members)
    return {};
  LookupQuery wider = query;
  wider.ranks_per_node.reset();
  std::vector<const Curve*> measured = index.admitted(wider, regime_of(wider));
  (void)narrow_environment(wider, measured);
  const std::vector<PredictedWorld> worlds =
      predicted_worlds(measured, *query.ranks_per_node, index.fits_of_worlds());
  if (worlds.empty()) return {};
  if (worlds.size() > 1) {
    std::vector<const Curve*> one_of_each;
    for (const PredictedWorld& world : worlds) one_of_each.push_back(world.measured.front());
    throw Error(StatusCode::invalid_argument, explain_ambiguity(query, one_of_each, environments));
  }
  return answer_for_other_ranks(worlds.front(), query);
}

}  // namespace

DecisionTable::DecisionTable(DecisionSet set) : set_(std::move(set)) {
  std::ranges::sort(set_.decisions, {}, [](const Decision& decision) {
    return std::tie(decision.key, decision.family);
  });
  index_ =
      std::make_unique<const Index>(set_.decisions, set_.members, set_.compositions, set_.fits);
}

DecisionTable::~DecisionTable() = default;

std::vector<AnswerGroup> DecisionTable::answer_groups() const {
  return colltune::answer_groups(index_->all());
}

LookupAnswer DecisionTable::find(const LookupQuery& asked_for) const {
  check_query(asked_for, set_.generation);
  LookupQuery query = asked_for;
  query.problem = in_its_form(query.problem);
  std::vector<const Curve*> fitting = index_->admitted(query, regime_of(query));
  const bool is_other_environment = narrow_environment(query, fitting);
  if (fitting.empty()) {
    if (auto predicted = find_for_other_ranks(*index_, query, set_.environments)) {
      predicted->generation = set_.generation;
      return *std::move(predicted);
    }
    if (const auto others = other_regimes(*index_, query); !others.empty())
      throw Error(StatusCode::not_found, explain_other_regimes(query, others));
    throw Error(StatusCode::not_found, explain_absence(query, index_->all()));
  }
  if (needs_merging(query) && !is_merging_cheap(query)) check_merges(query);
  MembersChoice choice{.match = MembersMatch::not_asked};
  if (query.members) {
    choice = choose_by_members(fitting, *query.members);
    if (choice.curves.empty()) {
      LookupAnswer answer = baseline_answer(fitting, query);
      answer.match = is_other_environment ? MatchLevel::any_environment : MatchLevel::nearest_size;
      answer.generation = set_.generation;
      return answer;
    }
    fitting = std::move(choice.curves);
  }
  if (fitting.size() > 1)
    throw Error(StatusCode::invalid_argument, explain_ambiguity(query, fitting, set_.environments));

  const Curve& curve = *fitting.front();
  Asked asked = rounded(query.problem, curve.topology->ranks);
  asked.takes_composed = !curve.has_for_members || choice.match == MembersMatch::same;
  asked.form = query.form;
  const Neighbours around = find_neighbours(curve, asked.problem.message_size);
  const bool is_measured = around.lower == around.upper;
  if (!is_measured && query.at_least == MatchLevel::exact)
    throw Error(StatusCode::not_found, describe(asked.problem) + " on " +
                                           describe(*curve.topology) +
                                           " was not measured, and only an exact match is "
                                           "accepted; measured are " +
                                           describe_sizes(curve));
  LookupAnswer answer = answer_from(curve, around, asked);
  answer.match = is_other_environment ? MatchLevel::any_environment
                 : is_measured        ? MatchLevel::exact
                                      : MatchLevel::nearest_size;
  answer.generation = set_.generation;
  answer.members = choice.match;
  if (!choice.note.empty()) answer.decision.reason += "; " + choice.note;
  if (curve.has_composed) answer.compositions = index_->compositions_of(answer.decision);
  return answer;
}

}  // namespace colltune
