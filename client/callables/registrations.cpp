// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "registrations.h"

#include <fmt/format.h>

#include <map>
#include <utility>

#include "colltune/vocabulary/collective.h"
#include "colltune/vocabulary/error.h"

namespace colltune {

nlohmann::json described_entry(const colltune_callable& callable) {
  if (callable.struct_size < sizeof(colltune_callable) || callable.description == nullptr ||
      callable.run == nullptr)
    throw Error(StatusCode::invalid_argument,
                "a callable lacks its description or its function, or is of an older revision");
  auto entry = nlohmann::json::parse(callable.description, nullptr, false);
  if (!entry.is_object() || !entry.contains("name") || !entry["name"].is_string() ||
      !entry.contains("collective") || !entry["collective"].is_string())
    throw Error(StatusCode::invalid_argument,
                fmt::format("a callable's description is '{}'; expected a JSON object with 'name' "
                            "and 'collective'",
                            callable.description));
  const auto name = entry["name"].get<std::string>();
  const auto collective = parse_name<Collective>(entry["collective"].get<std::string>());
  const bool reduces = shape_of(collective).reduces;
  const std::pair<const char*, nlohmann::json> defaults[] = {
      {"description", "the program's function " + name},
      {"rounding", reduces ? "each_step" : "exact"},
      {"numeric_class", "any"}};
  for (const auto& [key, value] : defaults)
    if (!entry.contains(key)) entry[key] = value;
  entry["name"] = fmt::format("{}_{}", name_of(collective), name);
  return entry;
}

std::string family_of_entry(const nlohmann::json& entry) {
  const auto prefix = entry.at("collective").get<std::string>().size() + 1;
  return fmt::format("{}:{}", callables_prefix, entry.at("name").get<std::string>().substr(prefix));
}

std::vector<nlohmann::json> merge_entries(std::span<const std::vector<nlohmann::json>> by_rank) {
  std::map<std::string, std::pair<std::size_t, nlohmann::json>>
      merged;  // name -> first rank, entry
  for (std::size_t rank = 0; rank < by_rank.size(); ++rank)
    for (const nlohmann::json& entry : by_rank[rank]) {
      const auto name = entry.at("name").get<std::string>();
      const auto [found, is_new] = merged.try_emplace(name, rank, entry);
      const auto& [first, other] = found->second;
      if (is_new) continue;
      if (first == rank)
        throw Error(StatusCode::invalid_argument,
                    fmt::format("rank {} registered {} twice", rank, name));
      if (other != entry)
        throw Error(StatusCode::invalid_argument,
                    fmt::format("rank {} registered {} unlike rank {}: {} there, {} here; register "
                                "a name with the same parameters on all ranks that have it",
                                rank, name, first, other.dump(), entry.dump()));
    }
  std::vector<nlohmann::json> entries;
  for (auto& [name, entry] : merged) entries.push_back(std::move(entry.second));
  return entries;
}

}  // namespace colltune
