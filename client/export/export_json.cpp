// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/export_json.h"

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "colltune/export/decision_json.h"
#include "colltune/export/size_ranges.h"
#include "colltune/json/json.h"
#include "colltune/vocabulary/canonical.h"

namespace colltune {
namespace {

/// What the decisions of one table share: everything but the message size.
struct TableKey {
  Topology topology;
  std::string environment_digest;
  Regime regime;
  Problem problem;  ///< its message size is 0
  std::string family;

  friend auto operator<=>(const TableKey&, const TableKey&) = default;
};

TableKey table_key_of(const Decision& decision) {
  TableKey key{.topology = decision.key.topology,
               .environment_digest = decision.key.environment_digest,
               .regime = regime_of(decision.key),
               .problem = decision.key.problem,
               .family = decision.family};
  key.problem.message_size = {};
  return key;
}

using Tables = std::map<TableKey, std::vector<const Decision*>>;

/// The decisions by table; within a table they are ordered by message size.
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
          {"calling", name_of(key.regime.calling)},
          {"input", name_of(key.regime.input)},
          {"problem", std::move(problem)},
          {"family", key.family},
          {"ranges", std::move(ranges)}};
}

/// The compositions that the decisions' variants name, by name.
nlohmann::json compositions_of(std::span<const Decision> decisions,
                               std::span<const Composition> given) {
  std::map<std::string, const Composition*, std::less<>> known;
  for (const Composition& composition : given) known.emplace(parts_name(composition), &composition);
  nlohmann::json compositions = nlohmann::json::object();
  for (const Decision& decision : decisions)
    for (const RankedVariant& ranked : decision.ranked) {
      const std::string_view name = parts_named_by(ranked.variant);
      if (name.empty()) continue;
      const auto found = known.find(name);
      if (found == known.end())
        throw Error(StatusCode::data_loss, "the decision for " + describe(decision.key.problem) +
                                               " ranks " + to_string(ranked.variant) +
                                               ", whose parts are not there");
      compositions[found->first] = to_json_value(*found->second);
    }
  return compositions;
}

/// The worlds in which the decisions were measured, if their members are known. `kinds` receives
/// what their ranks can do, by the digest that parts name.
nlohmann::json worlds_of(std::span<const Decision> decisions, std::span<const WorldMembers> given,
                         nlohmann::json& kinds) {
  std::map<std::pair<std::string, std::string>, const Topology*> wanted;
  for (const Decision& decision : decisions)
    wanted.emplace(std::pair(decision.sweep_uuid, digest_of_value(decision.key.topology)),
                   &decision.key.topology);
  std::map<std::pair<std::string, Topology>, nlohmann::json> worlds;
  for (const auto& [sweep_uuid, topology_digest, members] : given) {
    const auto topology = wanted.find({sweep_uuid, topology_digest});
    if (topology == wanted.end()) continue;
    nlohmann::json own = nlohmann::json::array();
    for (const MemberKind& kind : members.kinds) {
      const std::string digest = digest_of_value(kind);
      kinds[digest] = to_json_value(kind);
      own.push_back(digest);
    }
    worlds[{sweep_uuid, *topology->second}] = {{"sweep_uuid", sweep_uuid},
                                               {"topology", to_json_value(*topology->second)},
                                               {"kinds", std::move(own)},
                                               {"kind_of_rank", members.kind_of_rank}};
  }
  nlohmann::json listed = nlohmann::json::array();
  for (auto& [where, world] : worlds) listed.push_back(std::move(world));
  return listed;
}

}  // namespace

nlohmann::json export_json(const DecisionSet& source) {
  std::map<std::string, nlohmann::json> known;
  for (const auto& [digest, environment] : source.environments)
    known[digest] = to_json_value(environment);

  nlohmann::json used = nlohmann::json::object();
  nlohmann::json listed = nlohmann::json::array();
  nlohmann::json tables = nlohmann::json::array();
  for (const auto& [key, rows] : group_into_tables(source.decisions)) {
    const auto environment = known.find(key.environment_digest);
    if (environment == known.end())
      throw Error(StatusCode::data_loss, "a decision for " + describe(rows.front()->key.problem) +
                                             " names environment '" + key.environment_digest +
                                             "', which is not there");
    used[key.environment_digest] = environment->second;
    for (const Decision* decision : rows)
      listed.push_back(decision_to_json(*decision, source.generation,
                                        find_environment(source, key.environment_digest)));
    tables.push_back(table_to_json(key, rows));
  }
  nlohmann::json kinds = nlohmann::json::object();
  nlohmann::json worlds = worlds_of(source.decisions, source.members, kinds);
  return {{"format", "colltune.decisions"},
          {"version", 3},
          {"generation", to_json_value(source.generation)},
          {"environments", std::move(used)},
          {"decisions", std::move(listed)},
          {"tables", std::move(tables)},
          {"compositions", compositions_of(source.decisions, source.compositions)},
          {"worlds", std::move(worlds)},
          {"kinds", std::move(kinds)}};
}

}  // namespace colltune
