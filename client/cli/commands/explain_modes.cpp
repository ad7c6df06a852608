// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "explain_modes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/composition.h"
#include "text/figures.h"
#include "text/members_text.h"
#include "text/text_table.h"

namespace colltune {
namespace {

// Enough to show what the ranks that lack these variants miss; --json lists them all.
constexpr std::size_t shown_estimates = 5;

std::string mode_of(const RankedVariant& ranked) {
  if (ranked.is_baseline) return "baseline";
  if (parts_named_by(ranked.variant).empty()) return "single";
  const std::string& name = ranked.variant.implementation;
  return name.substr(0, name.find('.'));
}

ModeLine line_of(std::string mode, const Decision& decision, const RankedVariant& ranked) {
  return {.mode = std::move(mode),
          .variant = to_string(ranked.variant),
          .ranks = decision.key.topology.ranks,
          .who = {},
          .time = ranked.median,
          .speedup = ranked.speedup_over_baseline};
}

/// Whether `other` was made in the same sweep for a subset of the ranks of `decision`.
bool is_part_of(const Decision& other, const Decision& decision) {
  return other.sweep_uuid == decision.sweep_uuid && other.family == decision.family &&
         other.key.topology.ranks < decision.key.topology.ranks &&
         other.key.environment_digest == decision.key.environment_digest &&
         regime_of(other.key) == regime_of(decision.key) &&
         other.key.problem == decision.key.problem;
}

const RankedVariant* baseline_of(const Decision& decision) {
  const auto found = std::ranges::find_if(decision.ranked, &RankedVariant::is_baseline);
  return found == decision.ranked.end() ? nullptr : &*found;
}

}  // namespace

ExecutionModes modes_of(const Decision& decision, std::span<const Decision> published) {
  ExecutionModes modes;
  std::set<Variant> ranked_here;
  std::vector<std::string> names{"baseline", "single"};
  for (const auto& named : enum_names(CompositionMode{})) names.emplace_back(named.name);
  for (const std::string& mode : names) {
    const RankedVariant* best = nullptr;
    for (const RankedVariant& ranked : decision.ranked) {
      ranked_here.insert(ranked.variant);
      if (mode_of(ranked) != mode) continue;
      if (best == nullptr || ranked.speedup_over_baseline > best->speedup_over_baseline)
        best = &ranked;
    }
    if (best != nullptr) modes.lines.push_back(line_of(mode, decision, *best));
  }
  const RankedVariant* const whole = baseline_of(decision);
  std::map<Variant, Estimate> estimates;
  std::map<Variant, int> ranks_of_estimate;
  for (const Decision& part : published) {
    if (!is_part_of(part, decision)) continue;
    modes.lines.push_back(line_of("partial", part, part.ranked.front()));
    modes.lines.back().who = describe(part.key.topology);
    const RankedVariant* const own = baseline_of(part);
    if (whole == nullptr || own == nullptr || own->median.count() == 0) continue;
    const double factor =
        static_cast<double>(whole->median.count()) / static_cast<double>(own->median.count());
    for (const RankedVariant& ranked : part.ranked) {
      if (ranked_here.contains(ranked.variant) || !parts_named_by(ranked.variant).empty()) continue;
      // An estimate from more ranks is closer.
      int& ranks = ranks_of_estimate[ranked.variant];
      if (ranks >= part.key.topology.ranks) continue;
      ranks = part.key.topology.ranks;
      estimates[ranked.variant] = {.variant = to_string(ranked.variant),
                                   .time = std::chrono::nanoseconds(std::llround(
                                       static_cast<double>(ranked.median.count()) * factor)),
                                   .from = describe(part.key.topology)};
    }
  }
  for (auto& [variant, estimate] : estimates) modes.estimates.push_back(std::move(estimate));
  std::ranges::stable_sort(modes.estimates, {}, &Estimate::time);
  return modes;
}

std::string modes_text(const ExecutionModes& modes) {
  std::string text;
  if (modes.lines.size() > 2) {
    text += "\nthe best of each mode\n";
    TextTable table({{"mode"},
                     {"ranks", TextTable::Align::right},
                     {"time(us)", TextTable::Align::right},
                     {"speed-up", TextTable::Align::right},
                     {"variant"}});
    for (const ModeLine& line : modes.lines)
      table.add_row({line.who.empty() ? line.mode : line.mode + ", " + line.who,
                     std::to_string(line.ranks), microseconds(line.time),
                     line.speedup > 0 ? fmt::format("{:.2f}x", line.speedup) : "-", line.variant});
    text += table.text(narrow_table);
  }
  if (!modes.estimates.empty()) {
    text +=
        "\nestimated, not measured: if all ranks had it (its time on those that have it, by how "
        "much longer the baseline takes on all)\n";
    for (std::size_t i = 0; i < std::min(shown_estimates, modes.estimates.size()); ++i) {
      const Estimate& one = modes.estimates[i];
      text += fmt::format("  about {} us  {} (measured on {})\n", microseconds(one.time),
                          one.variant, one.from);
    }
    if (modes.estimates.size() > shown_estimates)
      text += fmt::format("  and {} more (--json)\n", modes.estimates.size() - shown_estimates);
  }
  return text;
}

nlohmann::json modes_json(const ExecutionModes& modes) {
  nlohmann::json lines = nlohmann::json::array();
  for (const ModeLine& line : modes.lines)
    lines.push_back({{"mode", line.mode},
                     {"ranks", line.ranks},
                     {"world", line.who},
                     {"time_ns", line.time.count()},
                     {"speedup_over_baseline", line.speedup},
                     {"variant", line.variant}});
  nlohmann::json estimates = nlohmann::json::array();
  for (const Estimate& one : modes.estimates)
    estimates.push_back({{"variant", one.variant},
                         {"estimated_time_ns", one.time.count()},
                         {"measured_on", one.from}});
  return {{"best", lines}, {"estimates", estimates}};
}

std::vector<std::string> executed_by(const RankedVariant& winner,
                                     std::span<const Composition> compositions,
                                     const Members& members) {
  const std::string_view name = parts_named_by(winner.variant);
  const auto composition = std::ranges::find(compositions, name, parts_name);
  const bool is_composed = !name.empty() && composition != compositions.end();
  std::vector<std::string> lines;
  for (std::size_t kind = 0; kind < members.kinds.size(); ++kind) {
    std::string runs;
    const std::string digest = digest_of_value(members.kinds[kind]);
    for (const Part& part : is_composed ? std::span(composition->parts) : std::span<const Part>())
      if (std::ranges::find(part.kinds, digest) != part.kinds.end())
        runs += fmt::format("\n    {}: {}", name_of(part.role), to_string(part.variant));
    if (is_composed && runs.empty()) runs = "\n    alone in its group";
    lines.push_back(kind_text(members, kind) +
                    (is_composed ? runs : "\n    " + to_string(winner.variant)));
  }
  if (!is_composed) return lines;
  for (const Part& part : composition->parts)
    if (part.role == PartRole::bridge)
      lines.push_back("the groups' leaders\n    bridge: " + to_string(part.variant));
  return lines;
}

}  // namespace colltune
