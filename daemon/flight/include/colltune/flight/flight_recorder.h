// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "colltune/vocabulary/names.h"

namespace colltune {

/// A point on the steady clock, which all processes of a host share.
using SteadyTime = std::chrono::steady_clock::time_point;

/// Text of bounded length, held in place: reading a record allocates nothing.
template <std::size_t Capacity>
struct FixedText {
  std::array<char, Capacity> bytes{};
  std::size_t size = 0;
  [[nodiscard]] std::string_view view() const { return {bytes.data(), size}; }
};

/// Longest printed variant, in bytes, that a record holds. A plan has no longer one, since a
/// failure could not be attributed to it.
constexpr std::size_t longest_recorded_variant = 384;

/// What a rank begins to do.
struct FlightStep {
  std::string_view activity;    ///< "batch", "verification", …; cut at 32 bytes
  std::string_view key_digest;  ///< digest of the cell's key; cut at 32 bytes; empty outside a
                                ///< trial
  std::string_view variant;     ///< printed; cut at the longest length; empty outside a trial
  /// Identifies the visit: index of the cell in the plan, plus the number of cells for each earlier
  /// pass.
  std::int64_t cell = -1;
  std::int64_t run = -1;             ///< number of the variant's run in this visit
  std::chrono::nanoseconds limit{};  ///< after which the step is late; 0: not watched
  /// Every rank takes the collective steps in the same order, so a rank with fewer is behind.
  bool is_collective = true;
};

/// A step as it was recorded.
struct FlightStepRecord {
  std::uint64_t sequence = 0;          ///< number among this rank's steps, from 1
  std::uint64_t collective_steps = 0;  ///< collective steps so far, including this one
  FixedText<32> activity;
  FixedText<32> key_digest;
  FixedText<longest_recorded_variant> variant;
  bool variant_is_cut = false;
  std::int64_t cell = -1;
  std::int64_t run = -1;
  SteadyTime begin;
  std::optional<SteadyTime> deadline;
};

/// How a rank's work ended, as far as the rank could record it. Part of the record's layout: values
/// never change.
enum class Fate {
  running = 0,    ///< nothing recorded: it still runs, or was killed
  finished = 1,   ///< ended normally
  late = 2,       ///< its watchdog ended it
  signalled = 3,  ///< a fault's signal; the code is the signal's number
  exited = 4,     ///< exit() was called in the middle
};
constexpr std::array<Named<Fate>, 5> enum_names(Fate) {
  return {{{Fate::running, "running"},
           {Fate::finished, "finished"},
           {Fate::late, "late"},
           {Fate::signalled, "signalled"},
           {Fate::exited, "exited"}}};
}
constexpr std::string_view enum_title(Fate) { return "fate of a rank"; }

/// What a rank's thread was doing when a step was late. Part of the record's layout: values never
/// change.
enum class Whereabouts {
  unknown = 0,    ///< not determined
  elsewhere = 1,  ///< in code that waits for no other rank: the user's, a plug-in's, ours
  at_peers = 2,   ///< inside the communication library: it waits for other ranks, or works there
  silent = 3,     ///< no answer: inside the kernel, or without a core
  stopped = 4,    ///< another rank saw that its process was stopped
};
constexpr std::array<Named<Whereabouts>, 5> enum_names(Whereabouts) {
  return {{{Whereabouts::unknown, "unknown"},
           {Whereabouts::elsewhere, "elsewhere"},
           {Whereabouts::at_peers, "at_peers"},
           {Whereabouts::silent, "silent"},
           {Whereabouts::stopped, "stopped"}}};
}
constexpr std::string_view enum_title(Whereabouts) { return "whereabouts of a rank"; }

/// How many of its last steps a rank's record keeps.
constexpr std::size_t steps_kept = 32;

/// Where a rank is, and was.
struct RankPosition {
  int rank = 0;
  pid_t pid = 0;
  std::uint64_t start_ticks = 0;  ///< see ProcessStatus
  FixedText<64> host;
  Fate fate = Fate::running;
  int fate_code = 0;
  Whereabouts whereabouts = Whereabouts::unknown;
  FixedText<256> stack;   ///< the files on its call stack, the innermost call first
  std::size_t steps = 0;  ///< how many of `last` are filled
  std::array<FlightStepRecord, steps_kept> last;  ///< the newest first
  [[nodiscard]] const FlightStepRecord* current() const {
    return steps == 0 ? nullptr : last.data();
  }
};

/// Bytes of one rank's record. A board is an array of them, one for each rank of a node.
constexpr std::size_t flight_region_size = 512 + steps_kept * 512;

/// Writes a rank's position into memory that others can read, even after this process has died: a
/// header and a ring of the last steps, each protected by a sequence lock.
///
/// One thread enters steps; any thread or process may read at any time. `enter` and `mark` are
/// wait-free and async-signal-safe.
class FlightRecorder {
 public:
  /// Formats `region`: flight_region_size bytes, aligned to 64, that outlive the recorder. Throws
  /// Error(invalid_argument) for another size or alignment.
  FlightRecorder(std::span<std::byte> region, int rank);

  /// Begins a step now, or at `now`; this ends the step before.
  void enter(const FlightStep& step) noexcept { enter(step, std::chrono::steady_clock::now()); }
  void enter(const FlightStep& step, SteadyTime now) noexcept;
  /// Records how this rank's work ended. Only the first call counts: a crash after `finished`
  /// changes nothing.
  void mark(Fate fate, int code = 0) noexcept;
  /// Records what this rank's thread was found doing; `stack` is cut at 256 bytes. Called by one
  /// other thread, the watchdog's.
  void locate(Whereabouts whereabouts, std::string_view stack) noexcept;

  [[nodiscard]] std::span<const std::byte> region() const { return region_; }

 private:
  struct Layout;
  friend struct FlightReader;
  std::span<std::byte> region_;
  Layout* layout_;
};

/// The position in one region; empty if the region is not one of ours: nothing recorded yet, or
/// another layout. Allocates nothing.
[[nodiscard]] std::optional<RankPosition> read_position(std::span<const std::byte> region);
/// The current step alone; empty also if no step was entered.
[[nodiscard]] std::optional<FlightStepRecord> read_current_step(std::span<const std::byte> region);
/// The positions of a board's ranks, without regions that are not ours.
[[nodiscard]] std::vector<RankPosition> read_board(std::span<const std::byte> board);

/// Records in another rank's region that its process was seen stopped, if nothing is recorded yet.
/// Needed because a launcher that ends the launch first wakes the process.
void note_stopped(std::span<std::byte> region) noexcept;

/// True for the first caller among all that share the board, which then prints it.
[[nodiscard]] bool claim_board(std::span<std::byte> board) noexcept;
/// Whether some rank has claimed the board.
[[nodiscard]] bool is_claimed(std::span<const std::byte> board) noexcept;

}  // namespace colltune
