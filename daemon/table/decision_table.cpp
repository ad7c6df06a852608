// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/table/decision_table.h"

#include <algorithm>

#include "colltune/model/size_model.h"
#include "explain.h"
#include "index.h"
#include "ranking.h"

namespace colltune {
namespace {

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
}

/// Keeps the curves of the environment asked for. True where there is none and the query takes
/// another one.
bool narrow_environment(const LookupQuery& query, std::vector<const Curve*>& fitting) {
  if (!query.environment_digest) return false;
  const auto is_other = [&](const Curve* curve) {
    return curve->environment_digest != *query.environment_digest;
  };
  if (query.at_least == MatchLevel::any_environment && std::ranges::all_of(fitting, is_other))
    return true;
  std::erase_if(fitting, is_other);
  return false;
}

/// The measured sizes around the asked one: one where it was measured itself or lies beyond them.
struct Neighbours {
  const Decision* lower = nullptr;
  const Decision* upper = nullptr;
};

Neighbours find_neighbours(const Curve& curve, Bytes size) {
  const auto above = std::ranges::lower_bound(
      curve.decisions, size, {},
      [](const Decision* decision) { return decision->key.problem.message_size; });
  if (above == curve.decisions.end()) return {curve.decisions.back(), nullptr};
  if ((*above)->key.problem.message_size == size) return {*above, *above};
  if (above == curve.decisions.begin()) return {nullptr, *above};
  return {*(above - 1), *above};
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

const Decision& nearer(const Neighbours& around, Bytes size) {
  const Bytes low = around.lower->key.problem.message_size;
  const Bytes high = around.upper->key.problem.message_size;
  return position_between(low, high, size) < 0.5 ? *around.lower : *around.upper;
}

/// Answers from the sizes around `asked`; leaves match and generation to the caller.
LookupAnswer answer_from(const Neighbours& around, const Asked& asked) {
  const bool is_measured = around.lower == around.upper;
  const bool is_between = !is_measured && around.lower != nullptr && around.upper != nullptr;
  LookupAnswer answer;
  const Decision* basis = around.lower != nullptr ? around.lower : around.upper;
  Ranking ranking;
  if (is_measured) {
    answer.source = Source::measured;
    ranking = rank_at(*basis, asked);
  } else if (is_between) {
    answer.source = Source::interpolated;
    answer.measured_sizes = {around.lower->key.problem.message_size,
                             around.upper->key.problem.message_size};
    ranking = rank_between(*around.lower, *around.upper, asked);
  }
  if (!is_measured && ranking.ranked.empty()) {
    answer.source = Source::predicted;
    if (is_between) basis = &nearer(around, asked.problem.message_size);
    answer.measured_sizes.clear();
    ranking = rank_beyond(*basis, asked);
  }
  if (ranking.ranked.empty()) fail_no_variant(*basis, asked);
  if (answer.measured_sizes.empty())
    answer.measured_sizes.push_back(basis->key.problem.message_size);
  answer.decision = {.key = {asked.problem, basis->key.topology, basis->key.environment_digest},
                     .family = basis->family,
                     .ranked = std::move(ranking.ranked),
                     .reason = std::move(ranking.reason),
                     .sweep_uuid = basis->sweep_uuid,
                     .verdict = ranking.verdict,
                     .status = ranking.status,
                     .confirmation = ranking.confirmation};
  return answer;
}

}  // namespace

DecisionTable::DecisionTable(Generation generation, std::vector<Decision> decisions,
                             std::vector<std::pair<std::string, Environment>> environments)
    : generation_(std::move(generation)),
      decisions_(std::move(decisions)),
      environments_(std::move(environments)) {
  std::ranges::sort(decisions_, {}, [](const Decision& decision) {
    return std::tie(decision.key, decision.family);
  });
  index_ = std::make_unique<const Index>(decisions_);
}

DecisionTable::~DecisionTable() = default;

const Generation& DecisionTable::generation() const { return generation_; }
std::span<const Decision> DecisionTable::decisions() const { return decisions_; }
std::span<const std::pair<std::string, Environment>> DecisionTable::environments() const {
  return environments_;
}

LookupAnswer DecisionTable::find(const LookupQuery& query) const {
  check_query(query, generation_);
  std::vector<const Curve*> fitting = index_->admitted(query);
  const bool is_other_environment = narrow_environment(query, fitting);
  if (fitting.empty()) throw Error(StatusCode::not_found, explain_absence(query, index_->all()));
  if (fitting.size() > 1)
    throw Error(StatusCode::invalid_argument, explain_ambiguity(query, fitting, environments_));

  const Curve& curve = *fitting.front();
  Asked asked{query.problem, curve.topology->ranks};
  asked.problem.message_size = round_message_size(asked.problem.collective, asked.problem.data_type,
                                                  asked.problem.message_size, asked.ranks);
  const Neighbours around = find_neighbours(curve, asked.problem.message_size);
  const bool is_measured = around.lower == around.upper;
  if (!is_measured && query.at_least == MatchLevel::exact)
    throw Error(StatusCode::not_found, describe(asked.problem) + " on " +
                                           describe(*curve.topology) +
                                           " was not measured, and only an exact match is "
                                           "accepted; measured are " +
                                           describe_sizes(curve));
  LookupAnswer answer = answer_from(around, asked);
  answer.match = is_other_environment ? MatchLevel::any_environment
                 : is_measured        ? MatchLevel::exact
                                      : MatchLevel::nearest_size;
  answer.generation = generation_;
  return answer;
}

}  // namespace colltune
