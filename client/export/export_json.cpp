// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/export_json.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <vector>

#include "colltune/export/decision_json.h"
#include "colltune/export/size_ranges.h"
#include "colltune/json/json.h"

namespace colltune {
namespace {

/// What the decisions of one table share: all but the message size.
struct TableKey {
  Topology topology;
  std::string environment_digest;
  Problem problem;  ///< its message size is 0
  std::string family;

  friend auto operator<=>(const TableKey&, const TableKey&) = default;
};

TableKey table_key_of(const Decision& decision) {
  TableKey key{.topology = decision.key.topology,
               .environment_digest = decision.key.environment_digest,
               .problem = decision.key.problem,
               .family = decision.family};
  key.problem.message_size = {};
  return key;
}

using Tables = std::map<TableKey, std::vector<const Decision*>>;

/// The decisions by table, each table by message size.
Tables group_into_tables(std::span<const Decision> decisions) {
  Tables tables;
  for (const auto& decision : decisions) tables[table_key_of(decision)].push_back(&decision);
  const auto size_of_decision = [](const Decision* decision) {
    return decision->key.problem.message_size;
  };
  for (auto& [key, rows] : tables) {
    std::ranges::sort(rows, {}, size_of_decision);
    const auto twice = std::ranges::adjacent_find(rows, {}, size_of_decision);
    if (twice != rows.end())
      throw Error(StatusCode::data_loss, "two decisions of family " + key.family + " for " +
                                             describe((*twice)->key.problem) + " on " +
                                             describe(key.topology));
  }
  return tables;
}

nlohmann::json range_to_json(const SizeRange& range) {
  nlohmann::json json = to_json_value(range);
  if (!range.max) json["max_bytes"] = nullptr;
  return json;
}

nlohmann::json table_to_json(const TableKey& key, std::span<const Decision* const> rows) {
  nlohmann::json problem = to_json_value(key.problem);
  problem.erase("message_size_bytes");
  nlohmann::json ranges = nlohmann::json::array();
  for (const SizeRange& range : size_ranges(rows)) ranges.push_back(range_to_json(range));
  return {{"topology", to_json_value(key.topology)},
          {"architecture", architecture_name(key.topology)},
          {"environment_digest", key.environment_digest},
          {"problem", std::move(problem)},
          {"family", key.family},
          {"ranges", std::move(ranges)}};
}

}  // namespace

nlohmann::json export_json(const Generation& generation, std::span<const Decision> decisions,
                           std::span<const std::pair<std::string, Environment>> environments) {
  std::map<std::string, nlohmann::json> known;
  for (const auto& [digest, environment] : environments) known[digest] = to_json_value(environment);

  nlohmann::json used = nlohmann::json::object();
  nlohmann::json listed = nlohmann::json::array();
  nlohmann::json tables = nlohmann::json::array();
  for (const auto& [key, rows] : group_into_tables(decisions)) {
    const auto environment = known.find(key.environment_digest);
    if (environment == known.end())
      throw Error(StatusCode::data_loss, "a decision for " + describe(rows.front()->key.problem) +
                                             " names environment '" + key.environment_digest +
                                             "', which is not there");
    used[key.environment_digest] = environment->second;
    for (const Decision* decision : rows) listed.push_back(decision_to_json(*decision, generation));
    tables.push_back(table_to_json(key, rows));
  }
  return {{"format", "colltune.decisions"},          {"version", 1},
          {"generation", to_json_value(generation)}, {"environments", std::move(used)},
          {"decisions", std::move(listed)},          {"tables", std::move(tables)}};
}

}  // namespace colltune
