// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/passes/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace colltune {
namespace {

constexpr std::string_view row_format =
    "{:>12} {:>12} {:>8} {:>6} {:>5} {:>9} {:>11} {:>8} {:>8} {:>9} {:>8} {:>9}  {}\n";

// What all rows of a block have in common is printed above it.
constexpr std::string_view narrow_format = "{:>11} {:>11} {:>8} {:>8} {:>9} {:>9}  {}\n";
constexpr std::size_t narrow_width = 80;
constexpr std::string_view emulated_mark = "*";

std::string narrow_header() {
  return fmt::format(fmt::runtime(narrow_format), "size", "time", "algbw", "busbw", "verified",
                     "speed-up", "winner") +
         fmt::format(fmt::runtime(narrow_format), "(B)", "(us)", "(GB/s)", "(GB/s)", "(calls)",
                     "(x base)", "");
}

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
  return fmt::format("{:.2f}{}", winner.speedup_over_baseline,
                     is_baseline_emulated ? emulated_mark : "");
}

/// The probability that a fault in 1 of 1,000 runs would have shown in `calls` verified calls.
std::string caught_text(std::uint64_t calls) {
  const double caught = 100 * (1 - std::pow(0.999, static_cast<double>(calls)));
  // Never prints "100", which would be a promise.
  return caught >= 99.95 ? ">99.9 %" : fmt::format("{:.1f} %", caught);
}

std::string row(const Decision& decision) {
  const Problem& problem = decision.key.problem;
  const int ranks = decision.key.topology.ranks;
  const RankedVariant& winner = decision.ranked.front();
  const double ns = static_cast<double>(winner.median.count());
  // Bytes per nanosecond are GB/s.
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

/// The winner gets a line of its own if it does not fit after its figures.
std::string narrow_row(const Decision& decision) {
  const Problem& problem = decision.key.problem;
  const RankedVariant& winner = decision.ranked.front();
  const double ns = static_cast<double>(winner.median.count());
  const double algbw = ns > 0 ? static_cast<double>(problem.message_size.value) / ns : 0;
  const std::string name = to_string(winner.variant);
  const auto with = [&](std::string_view last) {
    std::string line = fmt::format(
        fmt::runtime(narrow_format), problem.message_size.value, fmt::format("{:.2f}", ns / 1e3),
        fmt::format("{:.2f}", algbw),
        problem.mesh
            ? std::string("-")
            : fmt::format("{:.2f}", algbw * bus_bandwidth_factor(problem.collective,
                                                                 decision.key.topology.ranks)),
        winner.verified_calls, speedup_text(decision), last);
    line.erase(line.find_last_not_of(" \n") + 1);
    return line + '\n';
  };
  const std::string beside = with(name);
  return beside.size() <= narrow_width + 1 ? beside : with("") + "    " + name + '\n';
}

std::string narrow_title(const TuningKey& key) {
  const Problem& problem = key.problem;
  return fmt::format(
      "# {} {}{}{}{} on {} ({} rank(s))", operation_text(problem), name_of(problem.data_type),
      problem.reduce_op == ReduceOp::none ? std::string()
                                          : fmt::format(" {}", name_of(problem.reduce_op)),
      problem.in_place ? " in place" : "", problem.registered ? " registered buffers" : "",
      describe(key.topology), key.topology.ranks);
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
                           std::span<const Decision> decisions, bool is_wide) {
  // Decisions are ordered by key, in which the type comes after the size. So the rows of one title
  // must be collected before they are printed.
  std::vector<std::pair<std::string, std::string>> blocks;
  for (const auto& decision : decisions) {
    if (decision.family != any_family) continue;
    const std::string name = is_wide ? title(decision.key) : narrow_title(decision.key);
    auto block = blocks.begin();
    while (block != blocks.end() && block->first != name) ++block;
    if (block == blocks.end())
      block = blocks.insert(block, {name, is_wide ? header() : narrow_header()});
    block->second += is_wide ? row(decision) : narrow_row(decision);
  }
  std::string text;
  for (const auto& [name, rows] : blocks) text += (text.empty() ? "" : "\n") + name + "\n" + rows;
  const bool has_mark = std::ranges::any_of(decisions, [](const Decision& decision) {
    return decision.family == any_family && speedup_text(decision).ends_with(emulated_mark);
  });
  if (has_mark)
    text += fmt::format(
        "{} over a baseline composed of what the library has: it lacks this type or "
        "operator\n",
        emulated_mark);
  return text + render_faults(measurements);
}

std::string render_shares(const ActivityTimes& activities, std::chrono::nanoseconds elapsed) {
  const double whole = static_cast<double>(elapsed.count());
  const auto percent = [&](std::chrono::nanoseconds part) {
    return whole > 0 ? 100 * static_cast<double>(part.count()) / whole : 0.0;
  };
  std::string text;
  for (const auto& activity : enum_names(Activity{}))
    text += fmt::format("{} {:.1f} %, ", activity.name, percent(activities[activity.value]));
  return text + fmt::format("other {:.1f} %", percent(elapsed - activities.total()));
}

}  // namespace colltune
