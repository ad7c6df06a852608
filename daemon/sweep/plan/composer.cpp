// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "composer.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/composition/composed.h"
#include "colltune/vocabulary/canonical.h"
#include "planned_variant.h"
#include "selection.h"

namespace colltune {
namespace {

/// In how many settings two variants of one implementation differ; the largest number for variants
/// of different implementations.
std::size_t distance(const Variant& one, const Variant& other) {
  if (one.implementation != other.implementation) return std::numeric_limits<std::size_t>::max();
  return static_cast<std::size_t>(std::ranges::count_if(one.parameters, [&](const Parameter& own) {
    return std::ranges::find(other.parameters, own) == other.parameters.end();
  }));
}

}  // namespace

Composer::Composer(const Setting& setting) : setting_(setting), parts_(setting) {
  std::set<int> kinds;
  for (const int rank : setting.world.ranks) {
    kinds.insert(setting.availability.kind_of_rank[static_cast<std::size_t>(rank)]);
    nodes_.push_back(setting.availability.node_of_rank[static_cast<std::size_t>(rank)]);
  }
  kinds_.assign(kinds.begin(), kinds.end());
  if (kinds_.size() < 2) return;
  for (const int kind : kinds_)
    digests_.emplace(kind, digest_of_value(member_kind(capability(kind))));
}

Composer::Composed Composer::compose(CompositionMode mode, std::span<const Option> options) const {
  if (kinds_.size() < 2) return {};
  switch (mode) {
    case CompositionMode::substituted:
      return {.compositions = substitutions(options), .why_none = {}};
    case CompositionMode::grouped:
      return groupings(options);
    case CompositionMode::sequential:
    case CompositionMode::merged:
    case CompositionMode::hierarchical:
      break;
  }
  return {};
}

bool Composer::fits(const Composition& composition) const {
  if (composition.mode != CompositionMode::substituted &&
      composition.mode != CompositionMode::grouped)
    return false;
  std::set<std::string> digests;
  for (const auto& [kind, digest] : digests_) digests.insert(digest);
  return std::ranges::all_of(composition.parts, [&](const Part& part) {
    const Implementation* const implementation = find(part.variant);
    const bool is_right_collective =
        part.role != PartRole::whole || implementation == nullptr ||
        implementation->collective() == setting_.key.problem.collective;
    return is_right_collective && std::ranges::all_of(part.kinds, [&](const std::string& kind) {
             return digests.contains(kind);
           });
  });
}

std::string Composer::why_not(const Composition& composition) const {
  for (const Part& part : composition.parts)
    if (find(part.variant) == nullptr)
      return "there is no implementation " + part.variant.implementation + " here";
  return composition.mode == CompositionMode::grouped ? why_not_grouped_here(composition)
                                                      : why_not_substituted(composition);
}

PlannedVariant Composer::as_trial(const Composition& composition) const {
  PlannedVariant planned = composition.mode == CompositionMode::grouped
                               ? describe_grouped(composition)
                               : describe_substituted(composition);
  planned.variant = name_composition(operation_name(setting_.key.problem), composition);
  planned.composition = composition;
  planned.learning_calls = learning_calls(composition, setting_.key, setting_.catalogue);
  planned.is_baseline = false;
  planned.supporting_kinds = kinds_;
  return planned;
}

std::vector<Composition> Composer::substitutions(std::span<const Option> options) const {
  std::vector<Composition> found;
  std::vector<std::string> protocols;
  for (const Option& option : options)
    protocols.push_back(option.implementation->protocol(setting_.key.problem, option.variant));
  const auto is_same = [](const Composition& one, const Composition& other) {
    return std::ranges::is_permutation(one.parts, other.parts);
  };
  for (std::size_t i = 0; i < options.size(); ++i) {
    if (options[i].kinds == kinds_) continue;
    std::vector<const Option*> alike;
    for (std::size_t j = 0; j < options.size(); ++j)
      if (protocols[j] == protocols[i]) alike.push_back(&options[j]);
    const auto composition = substitute(options[i], alike);
    // The ranks that lack this variant and those that lack its substitute may yield the same
    // composition.
    if (composition && std::ranges::none_of(found, [&](const Composition& other) {
          return is_same(other, *composition);
        }))
      found.push_back(*composition);
  }
  return found;
}

std::optional<Composition> Composer::substitute(const Option& lacking,
                                                std::span<const Option* const> alike) const {
  std::map<Variant, std::vector<int>> substitutes;
  for (const int kind : kinds_) {
    if (std::ranges::binary_search(lacking.kinds, kind)) continue;
    const Option* nearest = nullptr;
    const auto order = [&](const Option& option) {
      return std::tuple(distance(lacking.variant, option.variant), option.variant);
    };
    for (const Option* const option : alike)
      if (std::ranges::binary_search(option->kinds, kind) &&
          (nearest == nullptr || order(*option) < order(*nearest)))
        nearest = option;
    if (nearest == nullptr) return {};
    substitutes[nearest->variant].push_back(kind);
  }
  Composition composition{.mode = CompositionMode::substituted, .parts = {}};
  const auto add = [&](std::span<const int> kinds, const Variant& variant) {
    composition.parts.push_back(
        {.role = PartRole::whole, .kinds = digests_of(kinds), .variant = variant});
  };
  add(lacking.kinds, lacking.variant);
  for (const auto& [variant, kinds] : substitutes) add(kinds, variant);
  return composition;
}

std::string Composer::why_not_substituted(const Composition& composition) const {
  const Problem& problem = setting_.key.problem;
  std::set<std::string> protocols;
  std::vector<const Capability*> capabilities;
  for (const int kind : kinds_) capabilities.push_back(&capability(kind));
  for (const int kind : kinds_) {
    const Part* const part = find_part(composition, PartRole::whole, digests_.at(kind));
    if (part == nullptr)
      return fmt::format("it says nothing about ranks like {}", first_rank(kind));
    const Implementation& implementation = *find(part->variant);
    const Support support = support_of(implementation, problem, setting_.key.calling,
                                       setting_.key.topology, capability(kind), part->variant);
    if (!support)
      return fmt::format("{} (rank {}, {})", support.reason(), first_rank(kind),
                         to_string(part->variant));
    if (std::string why = why_not_together(implementation, capabilities); !why.empty()) return why;
    protocols.insert(implementation.protocol(problem, part->variant));
  }
  return protocols.size() == 1 ? "" : "its parts are of different protocols for this problem";
}

PlannedVariant Composer::describe_substituted(const Composition& composition) const {
  std::optional<PlannedVariant> whole;
  for (const Part& part : composition.parts) {
    PlannedVariant own = describe_variant(*find(part.variant), setting_.key, part.variant, {});
    if (!whole) {
      whole = std::move(own);
      continue;
    }
    if (whole->family != own.family) whole->family = mixed_family;
    whole->is_emulated = whole->is_emulated || own.is_emulated;
    whole->rounding = std::max(whole->rounding, own.rounding);
    whole->numeric_class = std::min(whole->numeric_class, own.numeric_class);
    whole->limits = intersection(whole->limits, own.limits);
    whole->call_limit = std::max(whole->call_limit, own.call_limit);
  }
  return *std::move(whole);
}

std::vector<std::string> Composer::digests_of(std::span<const int> kinds) const {
  std::vector<std::string> digests;
  for (const int kind : kinds) digests.push_back(digests_.at(kind));
  std::ranges::sort(digests);
  return digests;
}

}  // namespace colltune
