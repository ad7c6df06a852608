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

/// Which ranks are ahead, by the number of collective steps that they took. A rank that ended
/// normally does not count.
struct FlightStanding {
  std::uint64_t fewest_steps = 0;
  std::uint64_t most_steps = 0;
  std::size_t ranks = 0;

  [[nodiscard]] bool is_uneven() const { return fewest_steps != most_steps; }
  void add(std::uint64_t steps);
};

/// Ranks that others wait for. If the numbers of collective steps differ, these are the ranks with
/// the fewest; of these, the stopped ones (a debugger, SIGSTOP), otherwise those outside the
/// communication library while others are inside. If all are in the same step and that tells
/// nothing, those that died without recording an end; otherwise the only one that sleeps while
/// others run. Empty if nothing distinguishes them.
[[nodiscard]] std::vector<int> find_missing_ranks(std::span<const RankPosition> positions);

/// A process's state now, from /proc: "running", "sleeping", "stopped", "gone"; "unknown" for a
/// process on another host.
[[nodiscard]] std::string_view process_condition(const RankPosition& position);

/// "batch of mpi.native{} (cell 3, run 17)".
[[nodiscard]] std::string describe_step(const FlightStepRecord& step);

/// Bytes that hold a rank's lines with the longest texts and a few steps before them.
inline constexpr std::size_t text_per_rank = 8192;

/// Reports where each rank was at `now`: its host, process and step, how long it has been in the
/// step, how late it is, the `history` steps before, and which ranks wait for which. Writes at most
/// out.size() bytes and returns how many. Allocates nothing and takes no lock, so it works while a
/// thread hangs anywhere.
[[nodiscard]] std::size_t render_board(std::span<const std::byte> board, SteadyTime now,
                                       std::size_t history, std::span<char> out);
/// The same for positions that were read earlier.
[[nodiscard]] std::string render_board(std::span<const RankPosition> positions, SteadyTime now,
                                       std::size_t history);

}  // namespace colltune
