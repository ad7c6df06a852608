// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "sweep_in_parts.h"

#include <set>
#include <utility>

namespace colltune {

std::optional<std::size_t> next_cell(const SweepPlan& plan, std::span<const Measurement> stored) {
  std::set<TuningKey> measured;
  for (const Measurement& measurement : stored) measured.insert(measurement.key);
  for (std::size_t i = 0; i < plan.cells.size(); ++i)
    if (!measured.contains(plan.cells[i].key)) return i;
  return std::nullopt;
}

SweepPlan plan_of_cell(const SweepPlan& plan, std::optional<std::size_t> cell) {
  SweepPlan part = plan;
  part.cells.clear();
  if (cell) part.cells.push_back(plan.cells[*cell]);
  part.passes = 1;
  if (!plan.cells.empty()) part.budget = plan.budget / static_cast<std::int64_t>(plan.cells.size());
  return part;
}

}  // namespace colltune
