// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "launch_comparison.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

using RanksByValue = std::map<std::string, std::vector<int>>;

/// The hosts of the ranks; if there are many, the first ones.
std::string render_hosts(const LaunchProcesses& launch, const std::vector<int>& ranks) {
  constexpr std::size_t most = 8;
  std::set<std::string> hosts;
  for (const int rank : ranks) hosts.insert(launch.hosts[static_cast<std::size_t>(rank)]);
  const std::size_t count = hosts.size();
  while (hosts.size() > most) hosts.erase(std::prev(hosts.end()));
  std::string text = fmt::format("{}", fmt::join(hosts, ", "));
  return count > most ? fmt::format("{} and {} more", text, count - most) : text;
}

/// Which ranks have which value.
template <class ValueOf>
RanksByValue ranks_by_value(const LaunchProcesses& launch, ValueOf value_of) {
  RanksByValue ranks;
  for (std::size_t rank = 0; rank < launch.kind_of_rank.size(); ++rank)
    ranks[value_of(launch.kinds[static_cast<std::size_t>(launch.kind_of_rank[rank])])].push_back(
        static_cast<int>(rank));
  return ranks;
}

}  // namespace

std::string build_of(const ProcessFacts& process) {
  const auto& [environment, provenance] = process;
  std::string text = fmt::format("{} ({})", provenance.colltune_version, provenance.build);
  for (const auto& [name, version] :
       {std::pair("", environment.mpi_library), std::pair("CUDA ", environment.cuda_version),
        std::pair("NCCL ", environment.nccl_version)})
    if (!version.empty()) text += fmt::format(", {}{}", name, version);
  return text;
}

bool are_builds_unlike(const LaunchProcesses& launch, bool may_differ) {
  const RanksByValue builds = ranks_by_value(launch, build_of);
  if (builds.size() < 2) return false;
  const RanksByValue versions = ranks_by_value(
      launch, [](const ProcessFacts& process) { return process.provenance.colltune_version; });
  if (may_differ && versions.size() == 1) return true;
  std::size_t widest_build = std::string_view("build").size();
  std::size_t widest_ranks = std::string_view("ranks").size();
  for (const auto& [build, ranks] : builds) {
    widest_build = std::max(widest_build, build.size());
    widest_ranks = std::max(widest_ranks, render_ranges(ranks).size());
  }
  std::string table =
      fmt::format("the ranks run different builds; install one on all hosts{}",
                  versions.size() > 1 ? "" : ", or let each do its part: --unlike-builds group");
  table += fmt::format("\n  {:{}}  {:{}}  hosts", "build", widest_build, "ranks", widest_ranks);
  for (const auto& [build, ranks] : builds)
    table += fmt::format("\n  {:{}}  {:{}}  {}", build, widest_build, render_ranges(ranks),
                         widest_ranks, render_hosts(launch, ranks));
  throw Error(StatusCode::failed_precondition, table);
}

std::vector<std::string> differences_of(const LaunchProcesses& launch) {
  std::vector<std::string> fields;
  visit_all_facts(launch.kinds.front(),
                  [&](std::string_view name, const std::string&) { fields.emplace_back(name); });
  std::vector<std::string> lines;
  for (const std::string& field : fields) {
    const RanksByValue values = ranks_by_value(launch, [&](const ProcessFacts& process) {
      std::string found;
      visit_all_facts(process, [&](std::string_view name, const std::string& value) {
        if (name == field) found = value;
      });
      return found;
    });
    if (values.size() < 2) continue;
    std::vector<std::string> parts;
    for (const auto& [value, ranks] : values)
      parts.push_back(fmt::format("'{}' on rank {}", value, render_ranges(ranks)));
    lines.push_back(fmt::format("ranks differ in {}: {}", field, fmt::join(parts, ", ")));
  }
  return lines;
}

std::string describe(const LaunchProcesses& launch) {
  std::map<std::string, int> ranks_per_host;
  for (const std::string& host : launch.hosts) ++ranks_per_host[host];
  std::vector<std::string> parts;
  for (const auto& [host, count] : ranks_per_host)
    parts.push_back(fmt::format("{}:{}", host, count));
  return fmt::format("{} ranks on {}", launch.hosts.size(), fmt::join(parts, ","));
}

}  // namespace colltune
