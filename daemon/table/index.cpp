// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "index.h"

#include <algorithm>

namespace colltune {
namespace {

/// Everything of a problem but its size, with the family: what curves are hashed by. Each field has
/// room for far more enumerators than there are.
std::uint64_t pack(const Problem& problem, NumericClass numeric_class, std::uint32_t family) {
  std::uint64_t packed = family;
  const auto append = [&](auto value, unsigned bits) {
    packed = packed << bits | static_cast<std::uint64_t>(value);
  };
  append(problem.kind, 4);
  append(problem.collective, 6);
  append(problem.data_type, 6);
  append(problem.reduce_op, 6);
  append(problem.in_place, 1);
  append(problem.registered, 1);
  append(problem.graph_capture, 1);
  append(numeric_class, 3);
  return packed;
}

template <class T>
bool fits(const std::optional<T>& asked, const auto& stored) {
  return !asked || *asked == stored;
}

bool is_world_admitted(const LookupQuery& query, const Curve& curve) {
  const Topology& topology = *curve.topology;
  return fits(query.nodes, topology.nodes) && fits(query.ranks_per_node, topology.ranks_per_node) &&
         query.placement.value_or(Placement::dedicated) == topology.placement &&
         fits(query.architecture, curve.architecture) &&
         fits(query.layout_digest, topology.layout_digest) &&
         fits(query.interconnect, topology.interconnect);
}

bool is_same_world(const Curve& a, const Curve& b) {
  return a.environment_digest == b.environment_digest && *a.topology == *b.topology;
}

}  // namespace

DecisionTable::Index::Index(std::span<const Decision> decisions) {
  for (const Decision& decision : decisions) {
    const TuningKey& key = decision.key;
    if (decision.ranked.empty())
      throw Error(StatusCode::invalid_argument, "the decision for " + describe(key.problem) +
                                                    " on " + describe(key.topology) +
                                                    " ranks no variant");
    const auto [entry, is_new] =
        families_.emplace(decision.family, static_cast<std::uint32_t>(families_.size()));
    auto& curves = curves_[pack(key.problem, key.problem.numeric_class, entry->second)];
    const auto architecture = architectures_.insert(architecture_name(key.topology)).first;
    Curve curve{&key.topology, *architecture, key.environment_digest, {}};
    const auto known = std::ranges::find_if(
        curves, [&](const Curve& other) { return is_same_world(other, curve); });
    Curve& home = known != curves.end() ? *known : curves.emplace_back(std::move(curve));
    home.decisions.push_back(&decision);
  }
  for (auto& [packed, curves] : curves_) {
    for (Curve& curve : curves) {
      const auto size_of_decision = [](const Decision* decision) {
        return decision->key.problem.message_size;
      };
      std::ranges::sort(curve.decisions, {}, size_of_decision);
      const auto twice = std::ranges::adjacent_find(curve.decisions, {}, size_of_decision);
      if (twice != curve.decisions.end())
        throw Error(StatusCode::invalid_argument,
                    "two decisions for " + describe((*twice)->key.problem) + " on " +
                        describe((*twice)->key.topology) + " in family " + (*twice)->family);
    }
  }
}

std::vector<const Curve*> DecisionTable::Index::admitted(const LookupQuery& query) const {
  std::vector<const Curve*> found;
  const auto family = families_.find(query.family);
  if (family == families_.end()) return found;
  for (int numeric_class = static_cast<int>(query.problem.numeric_class); numeric_class >= 0;
       --numeric_class) {
    const auto curves =
        curves_.find(pack(query.problem, static_cast<NumericClass>(numeric_class), family->second));
    if (curves == curves_.end()) continue;
    for (const Curve& curve : curves->second) {
      if (!is_world_admitted(query, curve)) continue;
      if (std::ranges::none_of(found, [&](auto* other) { return is_same_world(*other, curve); }))
        found.push_back(&curve);
    }
  }
  return found;
}

std::vector<const Curve*> DecisionTable::Index::all() const {
  std::vector<const Curve*> found;
  for (const auto& [packed, curves] : curves_)
    for (const Curve& curve : curves) found.push_back(&curve);
  return found;
}

}  // namespace colltune
