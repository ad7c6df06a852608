// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "colltune/sweep/plan/sweep_plan.h"

namespace colltune {
namespace {

std::string describe_in_world(const SweepPlan& plan, int world, const Problem& problem) {
  return describe(plan.worlds[static_cast<std::size_t>(world)].topology) + "  " + describe(problem);
}

constexpr std::size_t width = 80;

/// `first` and then the words, in lines of `width`; a longer word gets its own line.
std::string wrapped(std::string first, const std::vector<std::string>& words) {
  constexpr std::string_view indent = "      ";
  std::string text;
  std::string line = std::move(first);
  for (const std::string& word : words) {
    if (line.size() + 1 + word.size() > width && line.size() > indent.size()) {
      text += line + '\n';
      line = std::string(indent) + word;
    } else {
      line += ' ' + word;
    }
  }
  return text + line + '\n';
}

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  return words;
}

/// The sum of all weights; empty in a plan whose weights are alike.
std::optional<double> sum_of_weights(const SweepPlan& plan) {
  double sum = 0;
  bool is_alike = true;
  for (const Cell& cell : plan.cells) {
    sum += cell.weight;
    is_alike = is_alike && cell.weight == plan.cells.front().weight;
  }
  return is_alike ? std::nullopt : std::optional(sum);
}

std::vector<std::string> variants_of(const Cell& cell) {
  std::vector<std::string> words;
  for (const auto& planned : cell.variants)
    words.push_back(to_string(planned.variant) + (planned.is_baseline ? "*" : "") +
                    (planned.is_twin ? "**" : "") + (planned.is_audit ? "***" : ""));
  return words;
}

std::size_t audited_of(const SweepPlan& plan) {
  std::size_t audited = 0;
  for (const Cell& cell : plan.cells)
    audited += static_cast<std::size_t>(
        std::ranges::count_if(cell.variants, [](const auto& planned) { return planned.is_audit; }));
  return audited;
}

/// Skipped entries that differ in the problem alone share one line.
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
    text += wrapped(fmt::format("  {}:", key.first.empty() ? "the problem" : key.first),
                    words_of(fmt::format("{} ({})", key.second, what)));
  }
  return text;
}

}  // namespace

std::string render_plan(const SweepPlan& plan) {
  std::string text =
      fmt::format("{} trials of {} problems on {} world(s); {} pass(es), seed {}, precision {}",
                  count_trials(plan), plan.cells.size(), plan.worlds.size(), plan.passes, plan.seed,
                  plan.precision);
  if (plan.full_passes > 1) text += fmt::format(", {} passes of all variants", plan.full_passes);
  if (plan.budget.count() > 0)
    text += fmt::format(", budget {:g} s", static_cast<double>(plan.budget.count()) / 1e9);
  text += "\n\nWorlds:\n";
  for (const auto& world : plan.worlds)
    text += fmt::format("  {}: {} rank(s)\n", describe(world.topology), world.ranks.size());
  text += "\nMeasured (* is the baseline, ** the same once more, for the null test";
  if (plan.pruned > 0) text += ",\n*** pruned, but measured to see whether that was right";
  text += "):\n";
  const std::optional<double> weights = sum_of_weights(plan);
  for (const auto& cell : plan.cells) {
    std::string key = "  " + describe_in_world(plan, cell.world, cell.key.problem);
    if (weights) key += fmt::format(" ({:.3g} % of the weight)", 100 * cell.weight / *weights);
    text += wrapped(key + ":", variants_of(cell));
  }
  if (plan.pruned > 0)
    text += fmt::format("\nPruned by predicted times: {} trials, {} of them measured as an audit\n",
                        plan.pruned, audited_of(plan));
  if (!plan.skipped.empty()) text += "\nSkipped:\n" + render_skipped(plan);
  return text;
}

}  // namespace colltune
