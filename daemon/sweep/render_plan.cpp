// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <map>
#include <utility>

#include "colltune/sweep/sweep_plan.h"

namespace colltune {
namespace {

std::string describe_in_world(const SweepPlan& plan, int world, const Problem& problem) {
  return describe(plan.worlds[static_cast<std::size_t>(world)].topology) + "  " + describe(problem);
}

std::string variants_of(const Cell& cell) {
  std::string text;
  for (const auto& planned : cell.variants)
    text += (text.empty() ? "" : " ") + to_string(planned.variant) +
            (planned.is_baseline ? "*" : "") + (planned.is_twin ? "**" : "");
  return text;
}

/// Skipped entries that differ in the problem alone are one line.
std::string render_skipped(const SweepPlan& plan) {
  std::vector<std::pair<std::pair<std::string, std::string>, std::vector<const Skipped*>>> groups;
  std::map<std::pair<std::string, std::string>, std::size_t> index;
  for (const auto& skipped : plan.skipped) {
    const std::pair key(skipped.variant, skipped.reason);
    const auto [found, is_new] = index.try_emplace(key, groups.size());
    if (is_new) groups.push_back({key, {}});
    groups[found->second].second.push_back(&skipped);
  }
  std::string text;
  for (const auto& [key, entries] : groups) {
    const Skipped& first = *entries.front();
    const std::string what =
        describe_in_world(plan, first.world, first.problem) +
        (entries.size() == 1 ? std::string() : fmt::format(" and {} more", entries.size() - 1));
    text += fmt::format("  {}: {}  ({})\n", key.first.empty() ? "the problem" : key.first,
                        key.second, what);
  }
  return text;
}

}  // namespace

std::string render_plan(const SweepPlan& plan) {
  std::string text =
      fmt::format("{} trials of {} problems on {} world(s); {} pass(es), seed {}, precision {}",
                  count_trials(plan), plan.cells.size(), plan.worlds.size(), plan.passes, plan.seed,
                  plan.precision);
  if (plan.budget.count() > 0)
    text += fmt::format(", budget {:g} s", static_cast<double>(plan.budget.count()) / 1e9);
  text += "\n\nWorlds:\n";
  for (const auto& world : plan.worlds)
    text += fmt::format("  {}: {} rank(s)\n", describe(world.topology), world.ranks.size());
  text += "\nMeasured (* is the baseline, ** the same once more, for the null test):\n";
  for (const auto& cell : plan.cells)
    text += fmt::format("  {}: {}\n", describe_in_world(plan, cell.world, cell.key.problem),
                        variants_of(cell));
  if (!plan.skipped.empty()) text += "\nSkipped:\n" + render_skipped(plan);
  return text;
}

}  // namespace colltune
