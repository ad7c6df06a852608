// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/flight/flight_board.h"

#include <unistd.h>

#include <algorithm>

#include "bounded_text.h"
#include "colltune/flight/process_status.h"

namespace colltune {
namespace {

void append_step(BoundedText& text, const FlightStepRecord& step) {
  text << step.activity.view();
  if (step.variant.size > 0)
    text << " of " << step.variant.view() << (step.variant_is_cut ? "…" : "");
  if (step.cell >= 0) {
    text << " (cell " << step.cell;
    if (step.run >= 0) text << ", run " << step.run;
    text << ")";
  }
}

void append_whereabouts(BoundedText& text, const RankPosition& position) {
  switch (position.whereabouts) {
    case Whereabouts::unknown:
      return;
    case Whereabouts::silent:
      text << "      does not say what it is in: inside the kernel, or without a core\n";
      return;
    case Whereabouts::stopped:
      text << "      was stopped\n";
      return;
    case Whereabouts::elsewhere:
    case Whereabouts::at_peers:
      text << "      in " << position.stack.view() << "\n";
  }
}

void append_rank(BoundedText& text, const RankPosition& position, const FlightStanding& standing,
                 SteadyTime now, std::size_t history) {
  text << "  rank " << position.rank << " on " << position.host.view() << ", pid " << position.pid
       << " (" << process_condition(position) << "): ";
  const FlightStepRecord* step = position.current();
  if (step == nullptr) {
    text << "no step yet\n";
    return;
  }
  append_step(text, *step);
  text << ", for " << std::chrono::nanoseconds(now - step->begin);
  if (step->deadline && now > *step->deadline)
    text << ", late by " << std::chrono::nanoseconds(now - *step->deadline);
  if (position.fate != Fate::running) {
    text << "; " << name_of(position.fate);
    if (position.fate_code != 0) text << " " << position.fate_code;
  } else if (standing.is_uneven()) {
    if (step->collective_steps == standing.fewest_steps)
      text << "; behind: the others wait for it";
    else
      text << "; " << step->collective_steps - standing.fewest_steps << " steps ahead";
  }
  text << "\n";
  append_whereabouts(text, position);
  for (std::size_t i = 1; i < position.steps && i <= history; ++i) {
    const FlightStepRecord& before = position.last[i];
    text << "      before: ";
    append_step(text, before);
    text << ", took " << std::chrono::nanoseconds(position.last[i - 1].begin - before.begin)
         << "\n";
  }
}

bool is_counted(const RankPosition& position) {
  return position.fate != Fate::finished && position.steps > 0;
}

/// Ranks that are stopped now, or were stopped when another rank was late.
std::vector<int> find_stopped_ranks(std::span<const RankPosition> positions,
                                    std::uint64_t collective_steps) {
  std::vector<int> stopped;
  for (const RankPosition& position : positions)
    if (is_counted(position) && position.current()->collective_steps == collective_steps &&
        (position.whereabouts == Whereabouts::stopped || process_condition(position) == "stopped"))
      stopped.push_back(position.rank);
  return stopped;
}

/// Among ranks in the same step: those that died without recording an end, otherwise the only one
/// that sleeps while others run (ranks that wait inside a collective poll).
std::vector<int> find_conspicuous_ranks(std::span<const RankPosition> positions) {
  std::vector<int> dead;
  std::vector<int> asleep;
  std::size_t running = 0;
  for (const RankPosition& position : positions) {
    if (!is_counted(position)) continue;
    const std::string_view condition = process_condition(position);
    if (condition == "gone" && position.fate != Fate::late) dead.push_back(position.rank);
    if (condition == "sleeping" || condition == "in the kernel") asleep.push_back(position.rank);
    if (condition == "running") ++running;
  }
  if (!dead.empty()) return dead;
  return asleep.size() == 1 && running > 0 ? asleep : std::vector<int>{};
}

/// Ranks that are in code of their own while others wait for them inside the communication library.
/// Empty if that does not distinguish any rank.
std::vector<int> find_ranks_elsewhere(std::span<const RankPosition> positions,
                                      std::uint64_t collective_steps) {
  std::vector<int> elsewhere;
  std::size_t at_peers = 0;
  for (const RankPosition& position : positions) {
    if (!is_counted(position) || position.current()->collective_steps != collective_steps) continue;
    if (position.whereabouts == Whereabouts::elsewhere) elsewhere.push_back(position.rank);
    if (position.whereabouts == Whereabouts::at_peers) ++at_peers;
  }
  return at_peers > 0 ? elsewhere : std::vector<int>{};
}

}  // namespace

void FlightStanding::add(std::uint64_t steps) {
  fewest_steps = ranks == 0 ? steps : std::min(fewest_steps, steps);
  most_steps = std::max(most_steps, steps);
  ++ranks;
}

std::string_view process_condition(const RankPosition& position) {
  std::array<char, 65> host{};
  gethostname(host.data(), host.size() - 1);
  if (position.host.view() != std::string_view(host.data()).substr(0, 64)) return "unknown";
  const auto status = read_process_status(position.pid);
  if (!status || status->start_ticks != position.start_ticks) return "gone";
  switch (status->state) {
    case 'R':
      return "running";
    case 'T':
    case 't':
      return "stopped";
    case 'Z':
    case 'X':
      return "gone";
    case 'D':
      return "in the kernel";
    default:
      return "sleeping";
  }
}

std::vector<int> find_missing_ranks(std::span<const RankPosition> positions) {
  FlightStanding standing;
  for (const RankPosition& position : positions)
    if (is_counted(position)) standing.add(position.current()->collective_steps);
  std::vector<int> missing = find_stopped_ranks(positions, standing.fewest_steps);
  if (missing.empty()) missing = find_ranks_elsewhere(positions, standing.fewest_steps);
  if (!missing.empty()) return missing;
  if (!standing.is_uneven()) return find_conspicuous_ranks(positions);
  for (const RankPosition& position : positions)
    if (is_counted(position) && position.current()->collective_steps == standing.fewest_steps)
      missing.push_back(position.rank);
  return missing;
}

std::string describe_step(const FlightStepRecord& step) {
  std::array<char, 512> memory{};
  BoundedText text(memory);
  append_step(text, step);
  return std::string(text.view());
}

std::size_t render_board(std::span<const std::byte> board, SteadyTime now, std::size_t history,
                         std::span<char> out) {
  const auto region = [&](std::size_t i) {
    return board.subspan(i * flight_region_size, flight_region_size);
  };
  const std::size_t records = board.size() / flight_region_size;
  FlightStanding standing;
  for (std::size_t i = 0; i < records; ++i)
    if (const auto position = read_position(region(i)); position && is_counted(*position))
      standing.add(position->current()->collective_steps);
  BoundedText text(out);
  for (std::size_t i = 0; i < records; ++i) {
    if (const auto position = read_position(region(i)))
      append_rank(text, *position, standing, now, history);
    else
      text << "  record " << i << ": no rank recorded anything\n";
  }
  return text.size();
}

std::string render_board(std::span<const RankPosition> positions, SteadyTime now,
                         std::size_t history) {
  FlightStanding standing;
  for (const RankPosition& position : positions)
    if (is_counted(position)) standing.add(position.current()->collective_steps);
  std::string memory(positions.size() * text_per_rank, '\0');
  BoundedText text(memory);
  for (const RankPosition& position : positions)
    append_rank(text, position, standing, now, history);
  memory.resize(text.size());
  return memory;
}

}  // namespace colltune
