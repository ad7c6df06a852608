// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "colltune/flight/flight_recorder.h"
#include "colltune/kernels/verification/oracle.h"
#include "colltune/vocabulary/canonical.h"
#include "composer.h"
#include "mesh_composer.h"
#include "planned_variant.h"
#include "planned_worlds.h"

namespace colltune {
namespace {

/// The key and the world whose candidates are looked for.
struct Question {
  const PlanInputs& inputs;
  const PlannedWorld& world;
  int world_number = 0;
  const TuningKey& key;

  [[nodiscard]] const Capability& capability(int kind) const {
    return inputs.availability.kinds[static_cast<std::size_t>(kind)];
  }
  [[nodiscard]] std::vector<int> kinds() const { return kinds_of(world, inputs.availability); }
  [[nodiscard]] Skipped skipped(std::string variant, std::string reason,
                                std::vector<int> supporting_kinds = {}) const {
    return {.world = world_number,
            .problem = key.problem,
            .variant = std::move(variant),
            .reason = std::move(reason),
            .supporting_kinds = std::move(supporting_kinds)};
  }
  [[nodiscard]] CompositionSetting composition() const {
    return {.availability = inputs.availability,
            .world = world,
            .key = key,
            .catalogue = inputs.catalogue,
            .selected = inputs.selected,
            .decisions = inputs.findings.decisions};
  }
  /// The implementations of the key's collective that were chosen.
  [[nodiscard]] std::span<const Implementation* const> selected() const {
    const auto found = inputs.selected.find(key.problem.collective);
    if (found == inputs.selected.end()) return {};
    return found->second;
  }
};

/// Why the variant is quarantined for this key; empty if it is not.
std::string quarantine_of(const Question& asked, const Variant& variant) {
  if (asked.inputs.quarantined.empty()) return {};
  const auto found =
      asked.inputs.quarantined.find({digest_of_value(asked.key), to_string(variant)});
  return found == asked.inputs.quarantined.end() ? std::string() : "quarantined: " + found->second;
}

std::string why_too_long(const Variant& variant) {
  const std::size_t size = to_string(variant).size();
  if (size <= longest_recorded_variant) return {};
  return fmt::format(
      "its name and parameters take {} bytes; {} are recorded, so that it can be told which "
      "variant crashed or hung: give it shorter names",
      size, longest_recorded_variant);
}

/// Why a variant must not run for this key although its ranks support it; empty if it may.
std::string why_not_here(const Question& asked, const Variant& variant) {
  std::string reason = quarantine_of(asked, variant);
  return reason.empty() ? why_too_long(variant) : reason;
}

/// Which kinds support a variant.
struct Backing {
  std::string reason;  ///< given by the first rank that lacks the variant; empty: all support it
  std::vector<int> supporting_kinds;
};

Backing backing_of(const Question& asked, const Implementation& implementation,
                   const Variant& variant) {
  const std::vector<int> kinds = asked.kinds();
  Backing backing;
  std::vector<const Capability*> capabilities;
  for (const int kind : kinds) capabilities.push_back(&asked.capability(kind));
  backing.reason = why_not_together(implementation, capabilities);
  if (!backing.reason.empty()) return backing;
  for (const int kind : kinds) {
    const Support support = support_of(implementation, asked.key.problem, asked.key.calling,
                                       asked.key.topology, asked.capability(kind), variant);
    if (support)
      backing.supporting_kinds.push_back(kind);
    else if (backing.reason.empty())
      backing.reason =
          kinds.size() == 1
              ? support.reason()
              : fmt::format("{} (rank {})", support.reason(),
                            ranks_of_kinds(asked.world, asked.inputs.availability, {kind}).front());
  }
  std::ranges::sort(backing.supporting_kinds);
  return backing;
}

/// Why an implementation has no variants here; the question is asked for its bare name, without
/// parameters.
Backing why_none(const Question& asked, const Implementation& implementation, const Variant& bare) {
  Backing backing;
  try {
    backing = backing_of(asked, implementation, bare);
  } catch (const Error&) {
    backing = {};
  }
  if (backing.reason.empty()) backing.reason = "has no variants for this problem";
  backing.supporting_kinds.clear();
  return backing;
}

/// The union of the kinds' search spaces, in order, with the overrides applied. Variants covered by
/// another one that all kinds can run are left out.
std::vector<Variant> search_space(const Question& asked, const Implementation& implementation,
                                  ParameterOverrides& overrides) {
  std::vector<Variant> space;
  for (const int kind : asked.kinds())
    for (auto& variant :
         implementation.variants(asked.key.problem, asked.key.topology, asked.capability(kind)))
      if (std::ranges::find(space, variant) == space.end()) space.push_back(std::move(variant));
  std::vector<Variant> covered;
  for (const Variant& wide : space)
    for (const Variant& narrow : space)
      if (implementation.covers(wide, narrow) && why_not_here(asked, wide).empty() &&
          backing_of(asked, implementation, wide).reason.empty())
        covered.push_back(narrow);
  std::erase_if(space, [&](const Variant& variant) {
    return std::ranges::find(covered, variant) != covered.end();
  });
  return overrides.apply(implementation.name(), std::move(space));
}

/// Single variants, and the options from which compositions are made: variants that some ranks can
/// run, blocked only because other ranks lack support.
struct Singles {
  Candidates candidates;
  std::vector<Option> options;
};

void add_singles(const Question& asked, const Implementation& implementation,
                 std::span<const Variant> more, ParameterOverrides& overrides, Singles& singles) {
  std::vector<Variant> space = search_space(asked, implementation, overrides);
  for (const Variant& variant : more)
    if (variant.implementation == implementation.name() &&
        std::ranges::find(space, variant) == space.end())
      space.push_back(variant);
  // An implementation that cannot run on any rank here may have no variants, but it has a reason.
  const bool is_empty = space.empty();
  if (is_empty) space.push_back({.implementation = std::string(implementation.name())});
  for (auto& variant : space) {
    Backing backing = is_empty ? why_none(asked, implementation, variant)
                               : backing_of(asked, implementation, variant);
    const std::string why_nowhere = why_not_here(asked, variant);
    if (why_nowhere.empty() && !backing.supporting_kinds.empty())
      singles.options.push_back({.implementation = &implementation,
                                 .variant = variant,
                                 .kinds = backing.supporting_kinds});
    if (backing.reason.empty()) backing.reason = why_nowhere;
    if (backing.reason.empty())
      singles.candidates.variants.push_back(describe_variant(
          implementation, asked.key, std::move(variant), std::move(backing.supporting_kinds)));
    else
      singles.candidates.skipped.push_back(asked.skipped(
          to_string(variant), std::move(backing.reason), std::move(backing.supporting_kinds)));
  }
}

Singles singles_of(const Question& asked, std::span<const Variant> more,
                   ParameterOverrides& overrides) {
  Singles singles;
  for (const Implementation* implementation : asked.selected())
    add_singles(asked, *implementation, more, overrides, singles);
  return singles;
}

/// Adds `one` as a trial, or to what is skipped with the reason.
void add_composed(const Question& asked, const Composition& one, const auto& composer,
                  Candidates& candidates) {
  const Variant name = name_composition(operation_name(asked.key.problem), one);
  std::string reason = why_not_here(asked, name);
  if (reason.empty()) reason = composer.why_not(one);
  if (reason.empty())
    candidates.variants.push_back(composer.as_trial(one));
  else
    candidates.skipped.push_back(asked.skipped(to_string(name), std::move(reason)));
}

/// What ranks of different kinds may run together; nothing if they are alike.
Candidates compositions_of(const Question& asked, const std::vector<Option>& options) {
  const Composer composer(asked.composition());
  Candidates candidates;
  if (asked.inputs.spec.partial_worlds) candidates.like_ranks = composer.like_ranks(options);
  std::vector<Composition> compositions;
  for (const CompositionMode mode : asked.inputs.spec.compositions) {
    Composer::Composed composed = composer.compose(mode, options);
    std::ranges::move(composed.compositions, std::back_inserter(compositions));
    if (!composed.why_none.empty())
      candidates.skipped.push_back(
          asked.skipped(fmt::format("{}.{}", name_of(mode), name_of(asked.key.problem.collective)),
                        std::move(composed.why_none)));
  }
  for (const Composition& one : asked.inputs.findings.compositions)
    if (composer.fits(one)) compositions.push_back(one);
  for (const Composition& one : compositions) add_composed(asked, one, composer, candidates);
  return candidates;
}

void append(Candidates more, Candidates& all) {
  std::ranges::move(more.variants, std::back_inserter(all.variants));
  std::ranges::move(more.skipped, std::back_inserter(all.skipped));
  all.like_ranks.merge(more.like_ranks);
}

/// The merged form, for ranks that cannot all run one variant; only if it is one all_reduce over
/// all of them.
Candidates merged_among_unlike(const Question& asked, ParameterOverrides& overrides) {
  int divisor = 1;
  const auto merged = merged_problem(asked.key.problem, divisor);
  if (!merged || asked.kinds().size() < 2) return {};
  TuningKey key = asked.key;
  key.problem = *merged;
  const Question inner{
      .inputs = asked.inputs, .world = asked.world, .world_number = asked.world_number, .key = key};
  if (inner.selected().empty()) return {};
  // Reasons why single variants are missing do not matter here, since none of them is a form.
  Candidates candidates = compositions_of(inner, singles_of(inner, {}, overrides).options);
  for (Skipped& skipped : candidates.skipped) skipped.problem = asked.key.problem;
  for (PlannedVariant& planned : candidates.variants) {
    planned.variant = name_composition(operation_name(asked.key.problem), *planned.composition);
    if (asked.key.problem.mesh->steps.size() > 1 && planned.rounding == Rounding::once)
      planned.rounding = Rounding::each_step;
    planned.limits.reduce_ops.clear();
  }
  std::erase_if(candidates.variants, [&](const PlannedVariant& planned) {
    return !quarantine_of(asked, planned.variant).empty();
  });
  return candidates;
}

/// The forms of a mesh reduction. Each whole form is one variant.
Candidates mesh_forms(const Question& asked, ParameterOverrides& overrides) {
  Candidates candidates;
  if (std::string why = why_not_verifiable(asked.key.problem); !why.empty()) {
    candidates.skipped.push_back(asked.skipped({}, std::move(why)));
    return candidates;
  }
  const MeshComposer composer(asked.composition());
  MeshComposer::Composed composed = composer.compose();
  for (MeshComposer::Absent& absent : composed.absent)
    candidates.skipped.push_back(asked.skipped(absent.form, std::move(absent.why)));
  for (const Composition& one : asked.inputs.findings.compositions)
    if (composer.fits(one) &&
        std::ranges::find(composed.compositions, one) == composed.compositions.end())
      composed.compositions.push_back(one);
  for (const Composition& one : composed.compositions)
    add_composed(asked, one, composer, candidates);
  append(merged_among_unlike(asked, overrides), candidates);
  return candidates;
}

}  // namespace

Candidates candidates_of(const PlanInputs& inputs, const PlannedWorld& world, const Cell& cell,
                         std::span<const Variant> more, ParameterOverrides& overrides) {
  const Question asked{
      .inputs = inputs, .world = world, .world_number = cell.world, .key = cell.key};
  if (asked.key.problem.mesh) return mesh_forms(asked, overrides);
  Singles singles = singles_of(asked, more, overrides);
  append(compositions_of(asked, singles.options), singles.candidates);
  return std::move(singles.candidates);
}

}  // namespace colltune
