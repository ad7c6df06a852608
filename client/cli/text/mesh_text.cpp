// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "mesh_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace colltune {
namespace {

/// For example "step 0 (0:sum)".
std::string step_text(const MeshReduction& mesh, int step) {
  const auto at = static_cast<std::size_t>(step);
  if (step < 0 || at >= mesh.steps.size()) return fmt::format("step {}", step);
  return fmt::format("step {} ({})", step,
                     steps_text({.shape = mesh.shape, .steps = {mesh.steps[at]}}));
}

std::string place_text(const Composition& form, const Part& part, const MeshReduction& mesh) {
  if (part.role == PartRole::step) return step_text(mesh, part.step.value_or(-1));
  const auto inside = std::ranges::find(form.parts, PartRole::before, &Part::role);
  const std::string groups =
      inside == form.parts.end() ? "" : step_text(mesh, inside->step.value_or(-1));
  if (part.role == PartRole::before) return "reduce_scatter in the groups of " + groups;
  if (part.role == PartRole::bridge) return "all_reduce across the groups of " + groups;
  if (part.role == PartRole::after) return "all_gather in the groups of " + groups;
  return "all_reduce among all that the steps connect";
}

}  // namespace

const Composition* form_named_by(const RankedVariant& ranked,
                                 std::span<const Composition> compositions) {
  if (parts_named_by(ranked.variant).empty() || is_for_certain_members(ranked.variant))
    return nullptr;
  const auto found = std::ranges::find(compositions, parts_named_by(ranked.variant), parts_name);
  return found == compositions.end() ? nullptr : &*found;
}

std::vector<std::string> form_lines(const Composition& form, const MeshReduction& mesh) {
  std::vector<std::string> lines;
  for (const Part& part : form.parts)
    lines.push_back(fmt::format("{}: {}", place_text(form, part, mesh), to_string(part.variant)));
  return lines;
}

std::string form_text(const Composition& form, const MeshReduction& mesh) {
  std::string text = fmt::format("parts={} ({})\n", parts_name(form), name_of(form.mode));
  for (const std::string& line : form_lines(form, mesh)) text += fmt::format("  {}\n", line);
  return text;
}

}  // namespace colltune
