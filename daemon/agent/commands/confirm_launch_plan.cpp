// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "confirm_launch_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "colltune/decide/confirm.h"
#include "colltune/vocabulary/canonical.h"

namespace colltune {
namespace {

/// The world of this launch that has a topology, or the reason why there is none.
struct WorldSearch {
  std::optional<PlannedWorld> world;
  std::string reason;
};

// Every subset of the kinds may have been a world; with more kinds than this, subsets are not
// searched.
constexpr std::size_t most_kinds = 12;

/// The ranks of each subset of kinds, which may be a world of its own, in the order of the launch.
std::vector<std::vector<int>> ranks_by_kinds(const Availability& availability) {
  std::vector<std::vector<int>> found;
  const std::size_t kinds = availability.kinds.size();
  if (kinds < 2 || kinds > most_kinds) return found;
  const std::vector<int> all = node_major_ranks(availability);
  for (std::size_t set = 1; set + 1 < std::size_t{1} << kinds; ++set) {
    auto& ranks = found.emplace_back(all);
    std::erase_if(ranks, [&](int rank) {
      return (set >> availability.kind_of_rank[static_cast<std::size_t>(rank)] & 1) == 0;
    });
  }
  return found;
}

/// Finds the world of a topology. If several worlds of a launch have it, takes the one whose
/// members have the capabilities of `measured`, otherwise one whose members have more. `measured`
/// null: not known.
WorldSearch find_world(const Availability& availability, const Topology& topology,
                       const Members* measured) {
  std::vector<PlannedWorld> worlds;
  const auto add = [&](const std::vector<int>& ranks) {
    if (ranks.size() != static_cast<std::size_t>(topology.ranks)) return;
    Topology own = topology_of(availability, ranks);
    // Worlds that are otherwise alike have the digest of their capabilities in place of the
    // layout's.
    if (own != topology) own.layout_digest = digest_of_capabilities(availability, ranks);
    if (own != topology) return;
    worlds.push_back(
        {.topology = topology, .ranks = ranks, .members = members_of(availability, ranks)});
  };
  add(node_major_ranks(availability));
  WorldSearch search;
  try {
    const auto ranks = ranks_of_world(
        availability, {.nodes = topology.nodes, .ranks_per_node = topology.ranks_per_node});
    add(ranks);
    search.reason = "the launch has no such world: " + describe(topology_of(availability, ranks));
  } catch (const Error& error) {
    search.reason = error.what();
  }
  for (const std::vector<int>& ranks : ranks_by_kinds(availability)) {
    add(ranks);
    if (topology.nodes != 1) continue;
    // Also tries the ranks on each node, since a group may be a world.
    std::map<int, std::vector<int>> by_node;
    for (const int rank : ranks)
      by_node[availability.node_of_rank[static_cast<std::size_t>(rank)]].push_back(rank);
    if (by_node.size() < 2) continue;
    for (const auto& [node, on_node] : by_node) add(on_node);
  }
  if (worlds.empty()) return search;
  auto found = worlds.begin();
  if (measured != nullptr) {
    const auto same = std::ranges::find(worlds, *measured, &PlannedWorld::members);
    const auto more = std::ranges::find_if(worlds, [&](const PlannedWorld& world) {
      return why_less(world.members, *measured).empty();
    });
    if (same != worlds.end() || more != worlds.end()) found = same != worlds.end() ? same : more;
  }
  return {std::move(*found), {}};
}

std::set<Variant> contestants_of(std::span<const Decision* const> decisions) {
  std::set<Variant> variants;
  for (const Decision* decision : decisions) {
    const auto contest = contest_of(*decision);
    variants.insert(contest->candidate);
    variants.insert(contest->reference);
  }
  return variants;
}

/// The configuration whose plan contains the cell of `key` with all of `variants` that are not
/// compositions.
SweepSpec spec_for(const TuningKey& key, const std::set<Variant>& variants) {
  const Problem& problem = key.problem;
  SweepSpec spec{.collectives = {problem.collective},
                 .data_types = {problem.data_type},
                 .reduce_ops = {problem.reduce_op},
                 .sizes = {problem.message_size},
                 .worlds = {},
                 .compositions = {},
                 .in_place = {.off = !problem.in_place, .on = problem.in_place},
                 .registered = {.off = !problem.registered, .on = problem.registered},
                 .graph_capture = {.off = !problem.graph_capture, .on = problem.graph_capture},
                 .counts = {problem.counts},
                 .calling = key.calling,
                 .input_mode = key.input,
                 .null_test = false};
  if (problem.mesh) {
    spec.collectives.clear();
    spec.meshes = {*problem.mesh};
  }
  std::map<std::pair<std::string, std::string>, std::set<std::string>> values;
  for (const Variant& variant : variants) {
    if (!parts_named_by(variant).empty()) continue;
    if (std::ranges::find(spec.include, variant.implementation) == spec.include.end())
      spec.include.push_back(variant.implementation);
    for (const Parameter& parameter : variant.parameters)
      values[{variant.implementation, parameter.name}].insert(
          std::visit([](const auto& value) { return fmt::format("{}", value); }, parameter.value));
  }
  for (const auto& [place, allowed] : values)
    spec.parameters.push_back({.pattern = place.first,
                               .parameter = place.second,
                               .values = {allowed.begin(), allowed.end()}});
  return spec;
}

/// Collects the keys' cells and their worlds, each once.
class CellCollector {
 public:
  explicit CellCollector(const ConfirmLaunchFacts& launch) : launch_(launch) {}

  /// Adds the cell of `key`. Returns the reason if it cannot; empty on success.
  std::string add(const TuningKey& key, const std::set<Variant>& variants,
                  const PlannedWorld& world) {
    const std::vector<Composition> compositions = compositions_of(variants);
    for (const Variant& variant : variants)
      if (const auto name = parts_named_by(variant);
          !name.empty() && std::ranges::find(compositions, name, parts_name) == compositions.end())
        return to_string(variant) + ": the database does not have its parts";
    if (std::ranges::any_of(result_.worlds, [&](const PlannedWorld& other) {
          return other.topology == world.topology && other != world;
        }))
      return "other ranks of this launch with the same topology are measured already: confirm it "
             "in a launch of its own ranks alone";
    SweepPlan plan;
    try {
      plan = make_plan(
          spec_for(key, variants), launch_.availability, launch_.implementations,
          launch_.environment_digest,
          {.quarantined = launch_.quarantined, .compositions = compositions, .world = &world});
    } catch (const Error& error) {
      return error.what();
    }
    for (Cell& cell : plan.cells) {
      if (cell.key != key) continue;
      std::erase_if(cell.variants, [&](const PlannedVariant& planned) {
        return !variants.contains(planned.variant);
      });
      if (cell.variants.size() < 2) break;
      cell.world = index_of(plan.worlds.at(static_cast<std::size_t>(cell.world)));
      result_.cells.push_back(std::move(cell));
      return {};
    }
    for (const Skipped& skipped : plan.skipped)
      for (const Variant& variant : variants)
        if (skipped.variant == to_string(variant)) return skipped.variant + ": " + skipped.reason;
    return plan.skipped.empty() ? "this launch does not measure such problems"
                                : plan.skipped.front().reason;
  }

  SweepPlan finish() { return std::move(result_); }

 private:
  [[nodiscard]] std::vector<Composition> compositions_of(const std::set<Variant>& variants) const {
    std::set<std::string_view> names;
    for (const Variant& variant : variants) names.insert(parts_named_by(variant));
    std::vector<Composition> found;
    for (const Composition& one : launch_.compositions)
      if (names.contains(parts_name(one))) found.push_back(one);
    return found;
  }

  int index_of(const PlannedWorld& world) {
    const auto found = std::ranges::find(result_.worlds, world);
    if (found != result_.worlds.end()) return static_cast<int>(found - result_.worlds.begin());
    result_.worlds.push_back(world);
    return static_cast<int>(result_.worlds.size()) - 1;
  }

  const ConfirmLaunchFacts& launch_;
  SweepPlan result_;
};

/// The members where `decision` was made; null if the database does not have them.
const Members* members_of(const Decision& decision, const ConfirmLaunchFacts& launch) {
  const std::string topology = digest_of_value(decision.key.topology);
  const auto found = std::ranges::find_if(launch.members, [&](const WorldMembers& world) {
    return world.sweep_uuid == decision.sweep_uuid && world.topology_digest == topology;
  });
  return found == launch.members.end() ? nullptr : &found->members;
}

}  // namespace

std::string describe_decision(const Decision& decision) {
  return fmt::format("{} on {} ({})", describe(decision.key.problem),
                     describe(decision.key.topology), decision.family);
}

ConfirmLaunchPlan make_confirm_launch_plan(std::span<const Decision> decisions,
                                           const ConfirmLaunchFacts& launch,
                                           std::chrono::nanoseconds time_per_key,
                                           std::uint64_t seed) {
  ConfirmLaunchPlan result;
  const auto leave_out = [&](const Decision& decision, const std::string& reason) {
    result.left_out.push_back(describe_decision(decision) + ": " + reason);
  };
  std::map<TuningKey, std::vector<const Decision*>> contests;
  std::optional<InputMode> input;
  for (const Decision& decision : decisions) {
    if (!contest_of(decision)) continue;
    if (decision.key.environment_digest != launch.environment_digest)
      leave_out(decision, "decided in another environment (" + decision.key.environment_digest +
                              ", this launch has " + launch.environment_digest + ")");
    else if (const InputMode own = decision.key.input; own != input.value_or(own))
      leave_out(decision, fmt::format("measured with input {}, this launch confirms what was "
                                      "measured with {}; confirm again for it",
                                      name_of(own), name_of(*input)));
    else {
      input = own;
      contests[decision.key].push_back(&decision);
    }
  }
  CellCollector cells(launch);
  for (const auto& [key, of_key] : contests) {
    const WorldSearch search =
        find_world(launch.availability, key.topology, members_of(*of_key.front(), launch));
    const std::string reason =
        search.world ? cells.add(key, contestants_of(of_key), *search.world) : search.reason;
    if (reason.empty()) continue;
    for (const Decision* decision : of_key) leave_out(*decision, reason);
  }
  result.plan = cells.finish();
  result.plan.budget = time_per_key * static_cast<std::int64_t>(result.plan.cells.size());
  result.plan.input_mode = input.value_or(result.plan.input_mode);
  // One pass: each launch is a further look at the machine, and launches are what is compared.
  result.plan.passes = 1;
  result.plan.seed = seed;
  result.plan.soak = {.runs = 0, .time = {}};
  return result;
}

}  // namespace colltune
