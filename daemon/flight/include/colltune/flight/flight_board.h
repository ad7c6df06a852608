// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/flight/flight_recorder.h"

namespace colltune {

/// Who is ahead of whom, by the collective steps that the ranks took. A rank that ended in order
/// counts as neither.
struct StepStanding {
  std::uint64_t fewest_steps = 0;
  std::uint64_t most_steps = 0;
  std::size_t ranks = 0;

  [[nodiscard]] bool is_uneven() const { return fewest_steps != most_steps; }
  void add(std::uint64_t steps);
};

/// Ranks that others wait for: those with the fewest collective steps where they differ. Of these,
/// those that are stopped (a debugger, SIGSTOP); else those outside the communication library while
/// others are inside. Where all are in the same step and that tells nothing, those that died
/// without a word; else the only one that sleeps while others run. Empty where nothing tells them
/// apart.
[[nodiscard]] std::vector<int> find_missing_ranks(std::span<const RankPosition> positions);

/// A process as /proc shows it now: "running", "sleeping", "stopped", "gone"; "unknown" for one on
/// another host.
[[nodiscard]] std::string_view process_condition(const RankPosition& position);

/// "batch of mpi.native{} (cell 3, run 17)".
[[nodiscard]] std::string describe_step(const StepRecord& step);

/// Who was where at `now`: for each rank of a board its host, process, step, how long it is in it,
/// how late it is, the steps before (`history` of them), and who waits for whom. Writes at most
/// out.size() bytes and returns how many; allocates nothing and takes no lock, so that it works
/// beside a thread that hangs anywhere.
[[nodiscard]] std::size_t render_board(std::span<const std::byte> board, SteadyTime now,
                                       std::size_t history, std::span<char> out);
/// The same of positions that were read before.
[[nodiscard]] std::string render_board(std::span<const RankPosition> positions, SteadyTime now,
                                       std::size_t history);

}  // namespace colltune
