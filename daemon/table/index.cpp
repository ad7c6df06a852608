// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "index.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "colltune/vocabulary/canonical.h"

namespace colltune {
namespace {

/// Everything in a problem except its size, the regime, and the family: the key by which curves are
/// hashed. Each field has room for more enumerators than exist.
std::uint64_t pack(const Problem& problem, NumericClass numeric_class, const Regime& regime,
                   std::uint32_t family) {
  std::uint64_t packed = family;
  const auto append = [&](auto value, unsigned bits) {
    packed = packed << bits | static_cast<std::uint64_t>(value);
  };
  append(problem.kind, 2);
  append(problem.counts, 2);
  append(problem.collective, 6);
  append(problem.data_type, 6);
  append(problem.reduce_op, 6);
  append(problem.in_place, 1);
  append(problem.registered, 1);
  append(problem.graph_capture, 1);
  append(numeric_class, 3);
  append(regime.calling, 2);
  append(regime.input, 2);
  return packed;
}

/// The key by which the curves of a family are hashed; mesh reductions are separated by their
/// meshes.
std::string family_key(const std::string& family, const MeshReduction& mesh) {
  return family + '\n' + shape_text(mesh) + '\n' + steps_text(mesh);
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
         fits(query.interconnect, topology.interconnect) &&
         (!query.members ||
          query.members->kind_of_rank.size() == static_cast<std::size_t>(topology.ranks));
}

bool is_same_world(const Curve& a, const Curve& b) {
  return a.environment_digest == b.environment_digest && *a.topology == *b.topology;
}

/// What one curve is for. There may be thousands of worlds for one problem.
struct ProblemInWorld {
  std::uint64_t problem = 0;  ///< pack()
  std::string_view environment_digest;
  const Topology* topology = nullptr;

  friend bool operator<(const ProblemInWorld& a, const ProblemInWorld& b) {
    return std::tie(a.problem, a.environment_digest, *a.topology) <
           std::tie(b.problem, b.environment_digest, *b.topology);
  }
};

/// The members of a sweep's worlds; equal members share one pointer.
class KnownMembers {
 public:
  explicit KnownMembers(std::span<const WorldMembers> worlds) {
    std::unordered_map<std::string, const Members*> distinct;
    for (const WorldMembers& world : worlds) {
      const auto* const members =
          distinct.emplace(digest_of_value(world.members), &world.members).first->second;
      known_.emplace(std::pair(world.sweep_uuid, world.topology_digest), members);
    }
  }

  [[nodiscard]] bool is_empty() const { return known_.empty(); }
  [[nodiscard]] const Members* find(const std::string& sweep_uuid,
                                    const std::string& topology_digest) const {
    const auto found = known_.find({sweep_uuid, topology_digest});
    return found == known_.end() ? nullptr : found->second;
  }

 private:
  std::map<std::pair<std::string, std::string>, const Members*> known_;
};

/// Records which members measured `curve`; splits the curve if they differed.
void set_members(Curve& curve, const KnownMembers& known) {
  const std::string topology_digest = digest_of_value(*curve.topology);
  for (const Decision* decision : curve.decisions) {
    const Members* const members = known.find(decision->sweep_uuid, topology_digest);
    auto part = std::ranges::find(curve.apart, members, &Curve::members);
    if (part == curve.apart.end()) {
      curve.apart.push_back(
          {curve.topology, curve.architecture, curve.environment_digest, curve.regime, {}});
      part = curve.apart.end() - 1;
      part->has_composed = curve.has_composed;
      part->has_for_members = curve.has_for_members;
      part->members = members;
    }
    part->decisions.push_back(decision);
  }
  if (curve.apart.size() > 1) return;
  curve.members = curve.apart.front().members;
  curve.apart.clear();
}

TuningKey without_size(TuningKey key) {
  key.problem.message_size = {};
  return key;
}

bool names_composition(const Decision& decision) {
  return std::ranges::any_of(decision.ranked, [](const RankedVariant& ranked) {
    return !parts_named_by(ranked.variant).empty();
  });
}

bool is_for_some_members(const Decision& decision) {
  return std::ranges::any_of(decision.ranked, [](const RankedVariant& ranked) {
    return is_for_certain_members(ranked.variant);
  });
}

}  // namespace

DecisionTable::Index::Index(std::span<const Decision> decisions,
                            std::span<const WorldMembers> members,
                            std::span<const Composition> compositions,
                            std::span<const VariantFit> fits) {
  for (const Composition& composition : compositions)
    compositions_.emplace(parts_name(composition), &composition);
  std::map<ProblemInWorld, std::size_t> places;  // in the problem's curves
  for (const Decision& decision : decisions) {
    const TuningKey& key = decision.key;
    if (decision.ranked.empty())
      throw Error(StatusCode::invalid_argument, "the decision for " + describe(key.problem) +
                                                    " on " + describe(key.topology) +
                                                    " ranks no variant");
    const auto [entry, is_new] = families_.emplace(
        key.problem.mesh ? family_key(decision.family, *key.problem.mesh) : decision.family,
        static_cast<std::uint32_t>(families_.size()));
    const std::uint64_t problem =
        pack(key.problem, key.problem.numeric_class, regime_of(key), entry->second);
    auto& curves = curves_[problem];
    const auto [place, is_first] =
        places.try_emplace({problem, key.environment_digest, &key.topology}, curves.size());
    if (is_first)
      curves.push_back({&key.topology,
                        *architectures_.insert(architecture_name(key.topology)).first,
                        key.environment_digest,
                        regime_of(key),
                        {}});
    Curve& home = curves[place->second];
    home.decisions.push_back(&decision);
    home.has_composed = home.has_composed || names_composition(decision);
    home.has_for_members = home.has_for_members || is_for_some_members(decision);
  }
  const KnownMembers known(members);
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
      if (!known.is_empty()) set_members(curve, known);
    }
  }
  set_fits(fits);
}

void DecisionTable::Index::set_fits(std::span<const VariantFit> fits) {
  if (fits.empty()) return;
  std::map<TuningKey, std::vector<const VariantFit*>> by_problem;
  for (const VariantFit& fit : fits) by_problem[without_size(fit.key)].push_back(&fit);
  for (auto& [key, of_problem] : by_problem)
    std::ranges::sort(of_problem, {},
                      [](const VariantFit* fit) -> const Variant& { return fit->variant; });
  for (auto& [packed, curves] : curves_)
    for (Curve& curve : curves) {
      if (!curve.apart.empty()) continue;
      const auto own = by_problem.find(without_size(curve.decisions.front()->key));
      if (own != by_problem.end()) curve.fits = own->second;
    }
}

std::vector<const Curve*> DecisionTable::Index::admitted(const LookupQuery& query,
                                                         const Regime& regime) const {
  std::vector<const Curve*> found;
  std::size_t stricter = 0;  // of those found: the curves of one class are of unlike worlds
  const auto add = [&](const Curve& curve) {
    const auto stricter_ones = std::span(found).first(stricter);
    const bool is_there = std::ranges::any_of(stricter_ones, [&](const Curve* other) {
      return is_same_world(*other, curve) && (!query.members || other->members == curve.members);
    });
    if (!is_there) found.push_back(&curve);
  };
  const auto family = query.problem.mesh
                          ? families_.find(family_key(query.family, *query.problem.mesh))
                          : families_.find(query.family);
  if (family == families_.end()) return found;
  for (int numeric_class = static_cast<int>(query.problem.numeric_class); numeric_class >= 0;
       --numeric_class) {
    const auto curves = curves_.find(
        pack(query.problem, static_cast<NumericClass>(numeric_class), regime, family->second));
    if (curves == curves_.end()) continue;
    stricter = found.size();
    for (const Curve& curve : curves->second) {
      if (!is_world_admitted(query, curve)) continue;
      if (!query.members || curve.apart.empty())
        add(curve);
      else
        for (const Curve& part : curve.apart) add(part);
    }
  }
  return found;
}

std::vector<Composition> DecisionTable::Index::compositions_of(const Decision& decision) const {
  std::vector<Composition> named;
  for (const RankedVariant& ranked : decision.ranked) {
    const std::string_view name = parts_named_by(ranked.variant);
    if (name.empty()) continue;
    const auto found = compositions_.find(name);
    if (found == compositions_.end())
      throw Error(StatusCode::data_loss, "the composition that " + to_string(ranked.variant) +
                                             " names is not in the table");
    if (std::ranges::find(named, *found->second) == named.end()) named.push_back(*found->second);
  }
  return named;
}

std::vector<const Curve*> DecisionTable::Index::all() const {
  std::vector<const Curve*> found;
  for (const auto& [packed, curves] : curves_)
    for (const Curve& curve : curves) found.push_back(&curve);
  return found;
}

}  // namespace colltune
