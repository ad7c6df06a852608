// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "explain.h"

#include <algorithm>
#include <set>

namespace colltune {
namespace {

// Enough for a person to see the pattern, and short enough for the status of an RPC.
constexpr std::size_t listed_at_most = 8;
constexpr std::size_t shown_value_at_most = 60;

std::string join(std::span<const std::string_view> items) {
  std::string out;
  for (const std::string_view item : items) {
    if (!out.empty()) out += ", ";
    out += item;
  }
  return out;
}

std::string short_digest(std::string_view digest) { return std::string(digest.substr(0, 8)); }

/// The problem without its size.
std::string describe_shape(const Problem& problem) {
  std::string out = operation_text(problem);
  const auto append = [&](std::string_view word) { out.append(" ").append(word); };
  append(name_of(problem.data_type));
  if (problem.reduce_op != ReduceOp::none) append(name_of(problem.reduce_op));
  append(problem.in_place ? "in place" : "out of place");
  if (problem.registered) append("registered");
  if (problem.graph_capture) append("graph capture");
  if (problem.numeric_class != NumericClass::any) append(name_of(problem.numeric_class));
  return out;
}

std::string describe_curve(const Curve& curve) {
  const Decision& first = *curve.decisions.front();
  return describe_shape(first.key.problem) + ", " + describe_sizes(curve) + ", on " +
         describe(*curve.topology) + ", family " + first.family + ", " + describe(curve.regime) +
         ", environment " + short_digest(curve.environment_digest);
}

/// Where a stored curve differs from what the query admits, the most important difference first.
std::vector<std::string_view> differences(const LookupQuery& query, const Curve& curve) {
  std::vector<std::string_view> out;
  const auto compare = [&](bool is_equal, std::string_view name) {
    if (!is_equal) out.push_back(name);
  };
  const Problem& asked = query.problem;
  const Problem& stored = curve.decisions.front()->key.problem;
  const Topology& world = *curve.topology;
  compare(operation_name(asked) == operation_name(stored), "collective");
  compare(asked.mesh == stored.mesh, "mesh or what is reduced over it");
  compare(asked.counts == stored.counts, "counts");
  compare(asked.data_type == stored.data_type, "data type");
  compare(asked.reduce_op == stored.reduce_op, "reduce op");
  compare(asked.in_place == stored.in_place, "in place");
  compare(asked.registered == stored.registered, "registered");
  compare(asked.graph_capture == stored.graph_capture, "graph capture");
  compare(asked.numeric_class >= stored.numeric_class, "numeric class");
  compare(regime_of(query).calling == curve.regime.calling, "calling");
  compare(regime_of(query).input == curve.regime.input, "input");
  compare(query.family == curve.decisions.front()->family, "family");
  compare(!query.nodes || *query.nodes == world.nodes, "nodes");
  compare(!query.ranks_per_node || *query.ranks_per_node == world.ranks_per_node, "ranks per node");
  compare(
      !query.members || query.members->kind_of_rank.size() == static_cast<std::size_t>(world.ranks),
      "number of members");
  compare(!query.architecture || *query.architecture == curve.architecture, "architecture");
  compare(query.placement.value_or(Placement::dedicated) == world.placement, "placement");
  compare(!query.layout_digest || *query.layout_digest == world.layout_digest, "layout digest");
  compare(!query.interconnect || *query.interconnect == world.interconnect, "interconnect");
  compare(!query.environment_digest || *query.environment_digest == curve.environment_digest,
          "environment");
  return out;
}

std::string describe_query(const LookupQuery& query) {
  std::string out = describe_shape(query.problem);
  if (query.nodes) out += ", nodes " + std::to_string(*query.nodes);
  if (query.ranks_per_node) out += ", ranks per node " + std::to_string(*query.ranks_per_node);
  if (query.members) out += ", members " + std::to_string(query.members->kind_of_rank.size());
  if (query.architecture) out += ", architecture " + *query.architecture;
  if (query.environment_digest) out += ", environment " + short_digest(*query.environment_digest);
  out += ", placement " + std::string(name_of(query.placement.value_or(Placement::dedicated)));
  return out + ", family " + query.family + ", " + describe(regime_of(query));
}

const Environment* find_environment(EnvironmentList environments, std::string_view digest) {
  for (const auto& [known, facts] : environments)
    if (known == digest) return &facts;
  return nullptr;
}

/// For each digest, the facts in which the environments differ.
std::string compare_environments(const std::set<std::string_view>& digests,
                                 EnvironmentList environments) {
  std::set<std::string_view> differing;
  const Environment* first = find_environment(environments, *digests.begin());
  for (const std::string_view digest : digests) {
    const Environment* other = find_environment(environments, digest);
    if (first == nullptr || other == nullptr) continue;
    std::vector<std::string> values;
    visit_facts(*first,
                [&](std::string_view, const std::string& value) { values.push_back(value); });
    std::size_t next = 0;
    visit_facts(*other, [&](std::string_view name, const std::string& value) {
      if (values[next++] != value) differing.insert(name);
    });
  }
  std::string out;
  std::size_t listed = 0;
  for (const std::string_view digest : digests) {
    if (listed++ == listed_at_most) break;
    out += "\n  environment " + std::string(digest);
    const Environment* facts = find_environment(environments, digest);
    if (facts == nullptr) continue;
    visit_facts(*facts, [&](std::string_view name, const std::string& value) {
      if (!differing.contains(name)) return;
      out += "; " + std::string(name) + " '" + value.substr(0, shown_value_at_most) + "'";
    });
  }
  return out;
}

/// Whether `value_of` differs between the curves.
template <class Projection>
bool differs(std::span<const Curve* const> curves, Projection value_of) {
  return std::ranges::any_of(
      curves, [&](const Curve* curve) { return value_of(*curve) != value_of(*curves.front()); });
}

}  // namespace

std::string describe_sizes(const Curve& curve) {
  const Bytes first = curve.decisions.front()->key.problem.message_size;
  const Bytes last = curve.decisions.back()->key.problem.message_size;
  if (first == last) return format_bytes(first);
  return format_bytes(first) + ".." + format_bytes(last) + " (" +
         std::to_string(curve.decisions.size()) + " sizes)";
}

std::string explain_absence(const LookupQuery& query, const std::vector<const Curve*>& stored) {
  std::string out = "nothing is stored for " + describe_query(query);
  if (stored.empty()) return out + "; the table is empty";
  // Orders by few differences first; another collective is further away than anything else. Ties
  // are broken by the decisions' addresses, since decisions are stored in the order of their keys.
  struct Distance {
    bool is_other_collective = false;
    std::size_t differences = 0;
    const Decision* first = nullptr;
    const Curve* curve = nullptr;
    auto operator<=>(const Distance&) const = default;
  };
  std::vector<Distance> closest;
  closest.reserve(stored.size());
  for (const Curve* curve : stored) {
    const Decision* first = curve->decisions.front();
    closest.push_back({operation_name(first->key.problem) != operation_name(query.problem),
                       differences(query, *curve).size(), first, curve});
  }
  const std::size_t listed = std::min(closest.size(), listed_at_most);
  std::ranges::partial_sort(closest, closest.begin() + static_cast<std::ptrdiff_t>(listed));
  out += "; the closest differs in " + join(differences(query, *closest.front().curve)) +
         ". There is:";
  for (std::size_t i = 0; i < listed; ++i) out += "\n  " + describe_curve(*closest[i].curve);
  if (closest.size() > listed_at_most)
    out += "\n  and " + std::to_string(closest.size() - listed_at_most) + " more";
  return out;
}

std::string explain_other_regimes(const LookupQuery& query, std::span<const Regime> decided) {
  std::string only;
  std::string options;
  for (const Regime& regime : decided) {
    only += (only.empty() ? "" : "; ") + describe(regime);
    options += (options.empty() ? "" : ", or with ") + std::string("--calling ") +
               std::string(name_of(regime.calling)) + " --input " +
               std::string(name_of(regime.input));
  }
  return "nothing is stored for " + describe_query(query) + "; decided only for " + only +
         ": ask for that with " + options;
}

std::string explain_ambiguity(const LookupQuery& query, std::span<const Curve* const> fitting,
                              EnvironmentList environments) {
  std::vector<std::string_view> options;
  const auto offer = [&](std::string_view option, auto value_of) {
    if (differs(fitting, value_of)) options.push_back(option);
  };
  offer("nodes (--nodes)", [](const Curve& curve) { return curve.topology->nodes; });
  offer("ranks per node (--ranks-per-node)",
        [](const Curve& curve) { return curve.topology->ranks_per_node; });
  offer("architecture (--arch)", [](const Curve& curve) { return curve.architecture; });
  offer("layout digest (--layout)",
        [](const Curve& curve) -> std::string_view { return curve.topology->layout_digest; });
  offer("interconnect (--interconnect)",
        [](const Curve& curve) -> std::string_view { return curve.topology->interconnect; });
  offer("environment digest (--environment)",
        [](const Curve& curve) { return curve.environment_digest; });

  std::set<std::string> worlds;
  std::set<std::string_view> digests;
  for (const Curve* curve : fitting) {
    worlds.insert(describe(*curve->topology) + ", " + curve->topology->interconnect + ", layout " +
                  curve->topology->layout_digest);
    digests.insert(curve->environment_digest);
  }
  std::string out = describe_shape(query.problem) + " was measured in several worlds that fit; " +
                    "name one by " + join(options) + ". They are:";
  std::size_t listed = 0;
  for (const std::string& world : worlds) {
    if (listed++ == listed_at_most) {
      out += "\n  and " + std::to_string(worlds.size() - listed_at_most) + " more";
      break;
    }
    out += "\n  " + world;
  }
  if (digests.size() > 1) out += compare_environments(digests, environments);
  return out;
}

}  // namespace colltune
