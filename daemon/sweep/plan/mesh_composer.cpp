// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "mesh_composer.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <utility>

#include "colltune/vocabulary/canonical.h"
#include "planned_variant.h"
#include "selection.h"

namespace colltune {
namespace {

/// A form's parts without their variants.
Composition outline_of(CompositionMode mode, std::size_t steps, int inside = 0) {
  Composition outline{.mode = mode, .parts = {}};
  switch (mode) {
    case CompositionMode::sequential:
      for (std::size_t step = 0; step < steps; ++step)
        outline.parts.push_back(
            {.role = PartRole::step, .kinds = {}, .variant = {}, .step = static_cast<int>(step)});
      break;
    case CompositionMode::hierarchical:
      outline.parts = {{.role = PartRole::before, .kinds = {}, .variant = {}, .step = inside},
                       {.role = PartRole::bridge, .kinds = {}, .variant = {}, .step = {}},
                       {.role = PartRole::after, .kinds = {}, .variant = {}, .step = inside}};
      break;
    case CompositionMode::merged:
    case CompositionMode::substituted:
    case CompositionMode::grouped:
      outline.parts = {{.role = PartRole::whole, .kinds = {}, .variant = {}, .step = {}}};
      break;
  }
  return outline;
}

/// "cpu.all_reduce_ring" and "cpu.reduce_scatter_ring" are both "cpu.ring": by their names,
/// implementations of one algorithm for different collectives.
std::string algorithm_of(const Implementation& implementation) {
  std::string name(implementation.name());
  const std::string collective = std::string(name_of(implementation.collective())) + "_";
  if (const auto at = name.find(collective); at != std::string::npos)
    name.erase(at, collective.size());
  return name;
}

}  // namespace

MeshComposer::MeshComposer(const Setting& setting) : setting_(setting), parts_(setting) {
  std::set<int> kinds;
  for (const int rank : setting.world.ranks) {
    kinds.insert(setting.availability.kind_of_rank[static_cast<std::size_t>(rank)]);
    nodes_.push_back(setting.availability.node_of_rank[static_cast<std::size_t>(rank)]);
  }
  kinds_.assign(kinds.begin(), kinds.end());
}

std::vector<PartCall> MeshComposer::calls_of(const MeshCall& call) const {
  std::vector<PartCall> calls;
  for (const MeshGroup& group : mesh_groups(call, nodes_)) {
    std::vector<int> ranks;
    for (const int rank : group.ranks)
      ranks.push_back(setting_.world.ranks[static_cast<std::size_t>(rank)]);
    calls.push_back({call.problem, group.topology, std::move(ranks)});
  }
  return calls;
}

void MeshComposer::fill(const Composition& outline, const std::string& form,
                        Composed& composed) const {
  const MeshForm made = mesh_form(setting_.key.problem, outline);
  Composition library = outline;
  Composition own = outline;
  // For each algorithm, the variant with which it runs each part.
  std::map<std::string, std::map<std::size_t, Variant>> by_algorithm;
  std::set<std::size_t> filled;
  for (const MeshCall& call : made.calls) {
    const std::vector<PartCall> calls = calls_of(call);
    if (calls.empty()) continue;
    const auto part = static_cast<std::size_t>(call.part - outline.parts.data());
    const PartChooser::Choice choice = parts_.choose(calls, kinds_);
    if (!choice.own) {
      composed.absent.push_back(
          {form, fmt::format("no implementation that was chosen does {} among {} ranks",
                             describe(call.problem), calls.front().topology.ranks)});
      return;
    }
    own.parts[part].variant = *choice.own;
    library.parts[part].variant = choice.library ? *choice.library : *choice.own;
    filled.insert(part);
    const auto selected = setting_.selected.find(call.problem.collective);
    if (selected == setting_.selected.end()) continue;
    for (const Implementation* const implementation : selected->second)
      if (const auto variant = parts_.cheapest(*implementation, calls, kinds_))
        by_algorithm[algorithm_of(*implementation)].emplace(part, *variant);
  }
  // A step whose groups are single ranks does nothing, whatever its part says.
  const auto fill_idle = [&](Composition& composition) {
    for (std::size_t part = 0; part < composition.parts.size(); ++part)
      if (!filled.contains(part) && !filled.empty())
        composition.parts[part].variant = composition.parts[*filled.begin()].variant;
  };
  const auto add = [&](Composition composition) {
    fill_idle(composition);
    if (std::ranges::find(composed.compositions, composition) == composed.compositions.end())
      composed.compositions.push_back(std::move(composition));
  };
  add(library);
  add(own);
  for (const auto& [algorithm, variants] : by_algorithm) {
    Composition uniform = own;
    for (const auto& [part, variant] : variants) uniform.parts[part].variant = variant;
    add(std::move(uniform));
  }
}

MeshComposer::Composed MeshComposer::compose() const {
  const Problem& problem = setting_.key.problem;
  const MeshReduction& mesh = *problem.mesh;
  Composed composed;
  const auto form_name = [&](CompositionMode mode) {
    return fmt::format("{}.{}", name_of(mode), operation_name(problem));
  };
  const bool is_idle = std::ranges::all_of(mesh.steps, [&](const MeshStep& step) {
    const std::vector<int> groups = groups_of(mesh, step);
    return static_cast<std::size_t>(std::ranges::max(groups)) + 1 == groups.size();
  });
  if (is_idle) {
    composed.absent.push_back(
        {std::string(operation_name(problem)), "no step puts two ranks together"});
    return composed;
  }
  fill(outline_of(CompositionMode::sequential, mesh.steps.size()),
       form_name(CompositionMode::sequential), composed);
  const Composition merged = outline_of(CompositionMode::merged, mesh.steps.size());
  const std::string why = mesh.steps.size() == 1 ? "there is one step: it is the same in sequence"
                                                 : why_not_mesh(problem, merged);
  if (why.empty())
    fill(merged, form_name(CompositionMode::merged), composed);
  else
    composed.absent.push_back({form_name(CompositionMode::merged), why});
  for (int step = 0; step < static_cast<int>(mesh.steps.size()); ++step) {
    const Composition outline = outline_of(CompositionMode::hierarchical, mesh.steps.size(), step);
    const std::string form =
        fmt::format("{} of step {}", form_name(CompositionMode::hierarchical), step);
    if (const std::string why_step = why_not_mesh(problem, outline); !why_step.empty())
      composed.absent.push_back({form, why_step});
    else
      fill(outline, form, composed);
  }
  return composed;
}

bool MeshComposer::fits(const Composition& composition) const {
  try {
    if (is_for_certain_members(name_composition("x", composition))) return false;
    return why_not_mesh(setting_.key.problem, composition).empty();
  } catch (const Error&) {
    return false;
  }
}

std::string MeshComposer::why_not(const Composition& composition) const {
  for (const Part& part : composition.parts)
    if (parts_.find(part.variant) == nullptr)
      return "there is no implementation " + part.variant.implementation + " here";
  const Problem& problem = setting_.key.problem;
  const MeshForm form = mesh_form(problem, composition);
  for (const MeshCall& call : form.calls) {
    const Variant& variant = call.part->variant;
    const Implementation& implementation = *parts_.find(variant);
    if (implementation.collective() != call.problem.collective)
      return fmt::format("{} is none of {}", to_string(variant), name_of(call.problem.collective));
    for (const PartCall& one : calls_of(call))
      if (std::string why = parts_.why_not_among(implementation, variant, one, kinds_);
          !why.empty())
        return why;
    const std::uint64_t alignment = implementation.limits(variant).alignment.value;
    const std::uint64_t share = form.padded.value / static_cast<std::uint64_t>(form.shares);
    if (form.shares > 1 && share % alignment != 0)
      return fmt::format("{} takes buffers aligned to {}, and shares of {} lie elsewhere",
                         to_string(variant), format_bytes({alignment}), format_bytes({share}));
  }
  return {};
}

PlannedVariant MeshComposer::as_trial(const Composition& composition) const {
  const TuningKey& key = setting_.key;
  const MeshForm form = mesh_form(key.problem, composition);
  const Numerics numerics = mesh_numerics(key.problem, composition, setting_.catalogue);
  PlannedVariant planned{
      .rounding = numerics.rounding,
      .numeric_class = numerics.numeric_class,
      .call_limit = call_limit(mesh_cost(key.problem, composition, nodes_, setting_.catalogue)),
      .learning_calls = learning_calls(composition, key, setting_.catalogue),
      .supporting_kinds = kinds_};
  planned.variant = name_composition(operation_name(key.problem), composition);
  planned.composition = composition;
  planned.protocol = fmt::format("{};{}", name_of(composition.mode), parts_name(composition));
  planned.is_baseline = composition.mode == CompositionMode::sequential;
  for (const MeshCall& call : form.calls) {
    const Implementation& implementation = *parts_.find(call.part->variant);
    if (planned.family.empty()) planned.family = std::string(implementation.family());
    if (planned.family != implementation.family()) planned.family = std::string(mixed_family);
    planned.is_baseline = planned.is_baseline && implementation.is_baseline();
    planned.is_emulated =
        planned.is_emulated ||
        implementation.traits(call.problem, key.topology, call.part->variant).is_emulated;
    planned.limits = intersection(planned.limits, implementation.limits(call.part->variant));
  }
  // The parts' limits are about their own messages, ranks and operators.
  Limits& limits = planned.limits;
  if (form.shares > 1 && (limits.min_message.value != 0 || limits.max_message.value != 0))
    limits.min_message = limits.max_message = key.problem.message_size;
  limits.min_ranks = limits.max_ranks = key.topology.ranks;
  limits.ranks_multiple_of = 1;
  limits.reduce_ops.clear();
  return planned;
}

}  // namespace colltune
