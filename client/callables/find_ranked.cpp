// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/db/store.h"
#include "colltune/json/json.h"
#include "colltune/table/decision_table.h"
#include "colltune/vocabulary/error.h"
#include "program_sweep.h"
#include "sought_call.h"

namespace colltune {
namespace {

DecisionSet read_set(const char* decisions, const char* database) {
  if (decisions == nullptr) return StoreReader(database).published();
  DecisionSet set;
  set.decisions = from_json_value<std::vector<Decision>>(nlohmann::json::parse(decisions),
                                                         "the sweep's decisions");
  return set;
}

}  // namespace

std::string find_ranked(const char* decisions, const char* database, const char* query) {
  const nlohmann::json asked = nlohmann::json::parse(query);
  LookupQuery lookup;
  lookup.nodes = asked.at("nodes").get<int>();
  lookup.ranks_per_node = asked.at("ranks_per_node").get<int>();
  const SoughtCall call = read_call(asked, *lookup.nodes * *lookup.ranks_per_node);
  lookup.problem = call.problem;
  if (asked.contains("environment_digest"))
    lookup.environment_digest = asked["environment_digest"].get<std::string>();
  if (asked.contains("placement"))
    lookup.placement = parse_name<Placement>(asked["placement"].get<std::string>());
  const DecisionTable table(read_set(decisions, database));
  const LookupAnswer answer = table.find(lookup);
  nlohmann::json found = describe_call(call);
  found["problem"]["nodes"] = *lookup.nodes;
  found["problem"]["ranks_per_node"] = *lookup.ranks_per_node;
  found["ranked"] = to_json_value(answer.decision.ranked);
  found["reason"] = answer.decision.reason;
  return found.dump();
}

}  // namespace colltune
