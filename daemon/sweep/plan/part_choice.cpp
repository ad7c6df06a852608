// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "part_choice.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "colltune/kernels/catalogue.h"
#include "selection.h"

namespace colltune {
namespace {

/// Cost model that picks which of several variants is tried for a part for which nothing was
/// measured: 300 ns a stage and 0.1 ns a byte. The resulting composition is measured like any
/// other.
double expected_time(const Cost& cost) {
  constexpr double step_ns = 300;
  constexpr double byte_ns = 0.1;
  return cost.steps * step_ns + (cost.bytes_per_rank + cost.reduced_bytes) * byte_ns;
}

// A winner is tried for sizes up to this many times larger or smaller than the one at which it won.
constexpr double farthest_size = 4;

}  // namespace

PartChooser::Choice PartChooser::choose(std::span<const PartCall> stages,
                                        std::span<const int> kinds) const {
  Choice choice;
  const auto found = setting_.selected.find(stages.front().problem.collective);
  if (found == setting_.selected.end()) return choice;
  double least = 0;
  std::string_view library_family;
  for (const Implementation* const implementation : found->second) {
    if (implementation->family() == library_family) continue;
    const auto variant = cheapest(*implementation, stages, kinds);
    if (!variant) continue;
    // The baselines come first.
    if (implementation->is_baseline()) {
      choice.library = variant;
      library_family = implementation->family();
      continue;
    }
    const double time = expected_time(
        implementation->cost(stages.front().problem, stages.front().topology, *variant));
    if (choice.own && time >= least) continue;
    choice.own = variant;
    least = time;
  }
  if (!choice.own) choice.own = choice.library;
  for (const PartCall& stage : stages) {
    const auto known = best_known(stage);
    const Implementation* const implementation = known ? find(*known) : nullptr;
    if (implementation == nullptr || !can_run(*implementation, *known, stages, kinds)) continue;
    choice.own = known;
    break;
  }
  return choice;
}

std::optional<Variant> PartChooser::best_known(const PartCall& stage) const {
  const Topology topology = topology_of(setting_.availability, stage.ranks);
  // If ranks of other capability share this topology, the decisions of these ranks may be stored
  // under the topology that names their capabilities.
  Topology of_these_alone = topology;
  of_these_alone.layout_digest = digest_of_capabilities(setting_.availability, stage.ranks);
  const Decision* nearest = nullptr;
  std::pair<bool, double> least;  // whether the topology may be shared with other ranks, then the
                                  // distance in size
  for (const Decision& decision : setting_.decisions) {
    const TuningKey& key = decision.key;
    const bool is_of_these_alone = key.topology == of_these_alone;
    if (decision.family != any_family || (key.topology != topology && !is_of_these_alone) ||
        key.environment_digest != setting_.key.environment_digest ||
        regime_of(key) != regime_of(setting_.key) ||
        !parts_named_by(decision.ranked.front().variant).empty())
      continue;
    Problem alike = key.problem;
    alike.message_size = stage.problem.message_size;
    alike.in_place = stage.problem.in_place;
    if (alike != stage.problem) continue;
    const double factor = std::abs(std::log(static_cast<double>(key.problem.message_size.value) /
                                            static_cast<double>(alike.message_size.value)));
    const std::pair distance(!is_of_these_alone, factor);
    if (factor > std::log(farthest_size) || (nearest != nullptr && distance >= least)) continue;
    nearest = &decision;
    least = distance;
  }
  if (nearest == nullptr) return {};
  return nearest->ranked.front().variant;
}

std::optional<Variant> PartChooser::cheapest(const Implementation& implementation,
                                             std::span<const PartCall> stages,
                                             std::span<const int> kinds) const {
  std::set<Variant> seen;
  std::optional<Variant> found;
  double least = 0;
  for (const PartCall& stage : stages)
    for (const int kind : kinds)
      for (Variant& variant :
           implementation.variants(stage.problem, stage.topology, capability(kind))) {
        if (!seen.insert(variant).second || !can_run(implementation, variant, stages, kinds))
          continue;
        const double time =
            expected_time(implementation.cost(stage.problem, stage.topology, variant));
        if (found && time >= least) continue;
        found = std::move(variant);
        least = time;
      }
  return found;
}

bool PartChooser::can_run(const Implementation& implementation, const Variant& variant,
                          std::span<const PartCall> stages, std::span<const int> kinds) const {
  return std::ranges::all_of(stages, [&](const PartCall& stage) {
    return why_not_among(implementation, variant, stage, kinds).empty();
  });
}

std::string PartChooser::why_not_among(const Implementation& implementation, const Variant& variant,
                                       const PartCall& stage, std::span<const int> kinds) const {
  if (implementation.facts().buffer_source != nullptr)
    return "its buffers come from a library, those of parts do not";
  std::vector<const Capability*> capabilities;
  for (const int kind : kinds) capabilities.push_back(&capability(kind));
  if (std::string why = why_not_together(implementation, capabilities); !why.empty()) return why;
  for (const int kind : kinds)
    if (const Support support = support_of(implementation, stage.problem, setting_.key.calling,
                                           stage.topology, capability(kind), variant);
        !support)
      return fmt::format("{} (ranks like {}, {})", support.reason(), first_rank(kind),
                         to_string(variant));
  return {};
}

const Implementation* PartChooser::find(const Variant& variant) const {
  return find_implementation(setting_.catalogue, variant.implementation);
}

int PartChooser::first_rank(int kind) const {
  for (const int rank : setting_.world.ranks)
    if (setting_.availability.kind_of_rank[static_cast<std::size_t>(rank)] == kind) return rank;
  return -1;
}

}  // namespace colltune
