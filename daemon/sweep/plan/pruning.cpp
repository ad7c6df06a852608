// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/plan/pruning.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "colltune/vocabulary/canonical.h"

namespace colltune {
namespace {

/// Those whose places a variant can take in a table.
using RivalGroup = std::pair<std::string, NumericClass>;

RivalGroup group_of(const PlannedVariant& planned) {
  return {planned.family, planned.numeric_class};
}

double microseconds(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) / 1e3;
}

/// The lowest upper end of a forecast in each group.
std::map<RivalGroup, std::chrono::nanoseconds> best_ends(const Cell& cell) {
  std::map<RivalGroup, std::chrono::nanoseconds> ends;
  for (const PlannedVariant& planned : cell.variants) {
    if (!planned.forecast) continue;
    const auto [end, is_new] = ends.emplace(group_of(planned), planned.forecast->high);
    if (!is_new) end->second = std::min(end->second, planned.forecast->high);
  }
  return ends;
}

/// A variant of a cell that is to leave it.
struct Pruned {
  std::size_t cell = 0;
  std::size_t variant = 0;
  std::string lot;  ///< the audit's order
  std::string reason;
};

std::vector<Pruned> pruned_of(const SweepPlan& plan) {
  std::vector<Pruned> all;
  for (std::size_t i = 0; i < plan.cells.size(); ++i) {
    const Cell& cell = plan.cells[i];
    if (cell.is_holdout) continue;
    const auto ends = best_ends(cell);
    for (const std::size_t index : hopeless_variants(cell)) {
      const PlannedVariant& planned = cell.variants[index];
      all.push_back(
          {.cell = i,
           .variant = index,
           .lot = digest_of_text(fmt::format("{} {} {}", plan.seed, digest_of_value(cell.key),
                                             to_string(planned.variant))),
           .reason = fmt::format("pruned: predicted to take {:.4g} us at least, and another of its "
                                 "family {:.4g} us at most",
                                 microseconds(planned.forecast->low),
                                 microseconds(ends.at(group_of(planned))))});
    }
  }
  return all;
}

}  // namespace

void order_by_forecast(std::vector<PlannedVariant>& variants) {
  std::ranges::stable_sort(variants, {}, [](const PlannedVariant& planned) {
    const bool is_first = planned.is_baseline || planned.is_twin;
    return std::tuple(
        !is_first, !is_first && !planned.forecast,
        !is_first && planned.forecast ? planned.forecast->time : std::chrono::nanoseconds{});
  });
}

std::vector<std::size_t> hopeless_variants(const Cell& cell) {
  const auto ends = best_ends(cell);
  std::vector<std::size_t> found;
  for (std::size_t i = 0; i < cell.variants.size(); ++i) {
    const PlannedVariant& planned = cell.variants[i];
    if (planned.is_baseline || planned.is_twin || !planned.forecast) continue;
    if (static_cast<double>(planned.forecast->low.count()) >
        hopeless_factor * static_cast<double>(ends.at(group_of(planned)).count()))
      found.push_back(i);
  }
  return found;
}

void prune(SweepPlan& plan) {
  std::vector<Pruned> all = pruned_of(plan);
  if (all.empty()) return;
  plan.pruned = all.size();
  std::ranges::sort(all, {}, &Pruned::lot);
  const std::size_t audited = (all.size() + audited_one_in - 1) / audited_one_in;
  for (std::size_t i = 0; i < audited; ++i)
    plan.cells[all[i].cell].variants[all[i].variant].is_audit = true;
  all.erase(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(audited));
  // From the last to the first of each cell, so that places stay right.
  std::ranges::sort(all, std::greater{},
                    [](const Pruned& one) { return std::pair(one.cell, one.variant); });
  const std::size_t skipped_before = plan.skipped.size();
  for (Pruned& one : all) {
    Cell& cell = plan.cells[one.cell];
    const auto at = cell.variants.begin() + static_cast<std::ptrdiff_t>(one.variant);
    plan.skipped.push_back({.world = cell.world,
                            .problem = cell.key.problem,
                            .variant = to_string(at->variant),
                            .reason = std::move(one.reason),
                            .supporting_kinds = {}});
    cell.variants.erase(at);
  }
  std::reverse(plan.skipped.begin() + static_cast<std::ptrdiff_t>(skipped_before),
               plan.skipped.end());
}

PruningAudit audit_pruning(const SweepPlan& plan, std::span<const Measurement> measurements,
                           std::span<const Decision> decisions) {
  PruningAudit audit{.pruned = plan.pruned};
  std::map<std::pair<TuningKey, Variant>, std::string> families;  // of the audited
  for (const Cell& cell : plan.cells)
    for (const PlannedVariant& planned : cell.variants)
      if (planned.is_audit) families.emplace(std::pair(cell.key, planned.variant), planned.family);
  audit.audited = families.size();
  std::set<std::pair<TuningKey, Variant>> measured;
  for (const Measurement& one : measurements)
    if (std::pair trial(one.key, one.variant);
        !one.is_twin && is_credited(one) && families.contains(trial))
      measured.insert(std::move(trial));
  audit.measured = measured.size();
  for (const Decision& decision : decisions) {
    const Variant& winner = decision.ranked.front().variant;
    if (measured.contains({decision.key, winner}))
      audit.wins.push_back({.key = decision.key, .variant = winner, .family = decision.family});
  }
  // One that wins over all wins in its family too: said once.
  std::set<std::pair<TuningKey, Variant>> over_all;
  for (const WronglyPruned& win : audit.wins)
    if (win.family == any_family) over_all.emplace(win.key, win.variant);
  std::erase_if(audit.wins, [&](const WronglyPruned& win) {
    return win.family != any_family && over_all.contains({win.key, win.variant});
  });
  return audit;
}

std::string describe(const PruningAudit& audit) {
  if (audit.pruned == 0) return {};
  std::string text = fmt::format(
      "pruning: by their predicted times {} trials are hopeless; {} of them were planned as an "
      "audit",
      audit.pruned, audit.audited);
  if (audit.measured < audit.audited) text += fmt::format(", {} with a result", audit.measured);
  if (audit.wins.empty())
    return text + (audit.measured > 0 ? "; none would have won\n" : "; nothing is known of them\n");
  text += fmt::format("; {} would have won, so others may: measure again without \"prune\"\n",
                      audit.wins.size());
  for (const WronglyPruned& win : audit.wins)
    text += fmt::format(
        "  {} of {} on {}{}\n", to_string(win.variant), describe(win.key.problem),
        describe(win.key.topology),
        win.family == any_family ? std::string() : fmt::format(", in family {}", win.family));
  return text;
}

}  // namespace colltune
