// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/decision_json.h"

#include "colltune/apply/settings.h"
#include "colltune/json/json.h"

namespace colltune {
namespace {

nlohmann::json ranked_to_json(const RankedVariant& ranked, const Problem& problem,
                              const Environment* environment) {
  nlohmann::json json = to_json_value(ranked);
  json["apply"] = to_json_value(settings_to_apply(ranked, problem, environment));
  return json;
}

nlohmann::json with_source(const Decision& decision, Source source, const Generation& generation,
                           const Environment* environment) {
  if (decision.ranked.empty())
    throw Error(StatusCode::internal, "the decision for " + describe(decision.key.problem) +
                                          " on " + describe(decision.key.topology) +
                                          " ranks no variant");
  const RankedVariant& winner = decision.ranked.front();
  nlohmann::json alternatives = nlohmann::json::array();
  for (std::size_t i = 1; i < decision.ranked.size(); ++i)
    alternatives.push_back(ranked_to_json(decision.ranked[i], decision.key.problem, environment));
  return {{"key", to_json_value(decision.key)},
          {"family", decision.family},
          {"winner", to_string(winner.variant)},
          {"source", to_json_value(source)},
          {"median_ns", to_json_value(winner.median)},
          {"speedup_over_baseline", winner.speedup_over_baseline},
          {"generation", to_json_value(generation)},
          {"evidence", ranked_to_json(winner, decision.key.problem, environment)},
          {"alternatives", std::move(alternatives)},
          {"verdict", to_json_value(decision.verdict)},
          {"status", to_json_value(decision.status)},
          {"confirmation", decision.status == DecisionStatus::confirmed
                               ? to_json_value(decision.confirmation)
                               : nlohmann::json()},
          {"reason", decision.reason},
          {"sweep_uuid", decision.sweep_uuid}};
}

}  // namespace

nlohmann::json decision_to_json(const Decision& decision, const Generation& generation,
                                const Environment* environment) {
  return with_source(decision, Source::measured, generation, environment);
}

nlohmann::json answer_to_json(const LookupAnswer& answer,
                              const std::optional<Environment>& environment) {
  nlohmann::json json = with_source(answer.decision, answer.source, answer.generation,
                                    environment ? &*environment : nullptr);
  json["match"] = to_json_value(answer.match);
  json["measured_sizes_bytes"] = to_json_value(answer.measured_sizes);
  json["members"] = to_json_value(answer.members);
  json["compositions"] = nlohmann::json::object();
  for (const Composition& composition : answer.compositions)
    json["compositions"][parts_name(composition)] = to_json_value(composition);
  json["prediction"] = answer.prediction ? to_json_value(*answer.prediction) : nlohmann::json();
  if (environment) json["environment"] = to_json_value(*environment);
  return json;
}

}  // namespace colltune
