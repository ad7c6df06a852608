// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/report.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

namespace colltune {
namespace {

constexpr std::string_view row_format =
    "{:>12} {:>12} {:>8} {:>6} {:>5} {:>9} {:>11} {:>8} {:>8} {:>9} {:>8} {:>9}  {}\n";

std::string header() {
  return fmt::format(fmt::runtime(row_format), "size", "count", "type", "redop", "root", "in-place",
                     "time", "algbw", "busbw", "verified", "caught", "speed-up", "winner") +
         fmt::format(fmt::runtime(row_format), "(B)", "(elements)", "", "", "", "", "(us)",
                     "(GB/s)", "(GB/s)", "(calls)", "(1/1000)", "(x base)", "");
}

std::string speedup_text(const Decision& decision) {
  const RankedVariant& winner = decision.ranked.front();
  if (winner.speedup_over_baseline == 0) return "-";
  bool is_baseline_emulated = false;
  for (const auto& ranked : decision.ranked)
    if (ranked.is_baseline) is_baseline_emulated = ranked.is_emulated;
  return fmt::format("{:.2f}{}", winner.speedup_over_baseline, is_baseline_emulated ? "*" : "");
}

/// The probability with which a fault in 1 of 1,000 runs would have shown in `calls` verified ones.
std::string caught_text(std::uint64_t calls) {
  const double caught = 100 * (1 - std::pow(0.999, static_cast<double>(calls)));
  // Never "100": that would be a promise.
  return caught >= 99.95 ? ">99.9 %" : fmt::format("{:.1f} %", caught);
}

std::string row(const Decision& decision) {
  const Problem& problem = decision.key.problem;
  const int ranks = decision.key.topology.ranks;
  const RankedVariant& winner = decision.ranked.front();
  const double ns = static_cast<double>(winner.median.count());
  // Bytes per nanosecond are GB per second.
  const double algbw = ns > 0 ? static_cast<double>(problem.message_size.value) / ns : 0;
  return fmt::format(
      fmt::runtime(row_format), problem.message_size.value, block_elements(problem, ranks),
      name_of(problem.data_type),
      problem.reduce_op == ReduceOp::none ? std::string_view("-") : name_of(problem.reduce_op),
      shape_of(problem.collective).has_root ? "0" : "-", problem.in_place ? "yes" : "no",
      fmt::format("{:.2f}", ns / 1e3), fmt::format("{:.2f}", algbw),
      // nccl-tests has no factor for mesh reductions.
      problem.mesh ? std::string("-")
                   : fmt::format("{:.2f}", algbw * bus_bandwidth_factor(problem.collective, ranks)),
      winner.verified_calls, caught_text(winner.verified_calls), speedup_text(decision),
      to_string(winner.variant));
}

std::string title(const TuningKey& key) {
  return fmt::format("# {}{} on {} ({} rank(s))", operation_text(key.problem),
                     key.problem.registered ? ", registered buffers," : "", describe(key.topology),
                     key.topology.ranks);
}

std::string render_faults(std::span<const Measurement> measurements) {
  std::string text;
  for (const auto& measurement : measurements)
    if (measurement.outcome != Outcome::ok)
      text += fmt::format("  {}: {} of {} on {}: {}\n", name_of(measurement.outcome),
                          to_string(measurement.variant), describe(measurement.key.problem),
                          describe(measurement.key.topology), measurement.detail);
  return text.empty() ? text : "\nNot ranked:\n" + text;
}

}  // namespace

std::string render_results(std::span<const Measurement> measurements,
                           std::span<const Decision> decisions) {
  // Decisions come ordered by key, where the type lies outside the size: rows of one title follow
  // each other only when they are collected first.
  std::vector<std::pair<std::string, std::string>> blocks;
  for (const auto& decision : decisions) {
    if (decision.family != any_family) continue;
    const std::string name = title(decision.key);
    auto block = blocks.begin();
    while (block != blocks.end() && block->first != name) ++block;
    if (block == blocks.end()) block = blocks.insert(block, {name, header()});
    block->second += row(decision);
  }
  std::string text;
  for (const auto& [name, rows] : blocks) text += (text.empty() ? "" : "\n") + name + "\n" + rows;
  return text + render_faults(measurements);
}

std::string render_shares(const PhaseTimes& phases, std::chrono::nanoseconds elapsed) {
  const double whole = static_cast<double>(elapsed.count());
  const auto percent = [&](std::chrono::nanoseconds part) {
    return whole > 0 ? 100 * static_cast<double>(part.count()) / whole : 0.0;
  };
  std::string text;
  for (const auto& phase : enum_names(Phase{}))
    text += fmt::format("{} {:.1f} %, ", phase.name, percent(phases[phase.value]));
  return text + fmt::format("other {:.1f} %", percent(elapsed - phases.total()));
}

}  // namespace colltune
