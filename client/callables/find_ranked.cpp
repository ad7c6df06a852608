// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/db/store.h"
#include "colltune/json/json.h"
#include "colltune/table/decision_table.h"
#include "colltune/vocabulary/error.h"
#include "program_sweep.h"

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
  lookup.problem = {.collective = parse_name<Collective>(asked.at("collective").get<std::string>()),
                    .data_type = parse_name<DataType>(asked.at("data_type").get<std::string>()),
                    .reduce_op = parse_name<ReduceOp>(asked.at("reduce_op").get<std::string>()),
                    .message_size = {asked.at("message_size").get<std::uint64_t>()}};
  lookup.nodes = asked.at("nodes").get<int>();
  lookup.ranks_per_node = asked.at("ranks_per_node").get<int>();
  if (asked.contains("environment_digest"))
    lookup.environment_digest = asked["environment_digest"].get<std::string>();
  if (asked.contains("placement"))
    lookup.placement = parse_name<Placement>(asked["placement"].get<std::string>());
  const DecisionTable table(read_set(decisions, database));
  const LookupAnswer answer = table.find(lookup);
  return nlohmann::json{{"ranked", to_json_value(answer.decision.ranked)},
                        {"reason", answer.decision.reason}}
      .dump();
}

}  // namespace colltune
