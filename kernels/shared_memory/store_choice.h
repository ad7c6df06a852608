// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>

#include "colltune/kernels/arithmetic/copy.h"
#include "colltune/vocabulary/problem.h"

namespace colltune {

// If cores are far apart, a line that was just written arrives sooner from memory than from the
// other core's cache (figures: tests/bench/results/kernels.md). Below this size, waiting for memory
// costs more.
inline constexpr Bytes smallest_streamed_staging{std::uint64_t{2} << 10};
// If a message does not fit into a cache, results that bypass the caches leave room for the rest.
inline constexpr Bytes smallest_streamed_result{std::uint64_t{512} << 10};
// If the ranks' messages together do not fit into a cache that the cores share, what other ranks
// wait for still does, a chunk at a time.
inline constexpr Bytes smallest_streamed_beside_staging{std::uint64_t{4} << 20};

/// How a call writes.
struct StoreMode {
  CopyMode results = CopyMode::cached;  ///< into the rank's own receive buffer
  /// data that peers read: into symmetric memory, and into their receive buffers
  CopyMode staging = CopyMode::cached;
};

/// Learns from call to call which store mode is the fastest. On virtual machines that changes while
/// a program runs, with the places of its cores (tests/bench/results/kernels.md). The first calls
/// of every `period` try all modes: the same ones on all ranks, which all make the same calls. The
/// mode that was fastest for the slowest rank serves until the next probe. Ranks may differ for
/// some calls, since the store mode of one rank does not affect the correctness of another.
class StoreChoice {
 public:
  static constexpr std::array modes{StoreMode{}, StoreMode{.staging = CopyMode::non_temporal},
                                    StoreMode{CopyMode::non_temporal, CopyMode::non_temporal},
                                    StoreMode{.results = CopyMode::non_temporal}};
  using Times =
      std::array<std::chrono::nanoseconds, modes.size()>;  ///< of the modes that are tried

  struct Rhythm {
    std::size_t tried = 2;  ///< how many of `modes`, from the first
    /// Calls in one mode before it is timed: until the slots that calls use in turn were last
    /// written in that mode, since writing to a slot that was written otherwise, or never, takes
    /// another time.
    std::uint64_t lead_in = 0;
    std::uint64_t period = 1;  ///< calls from one probe to the next

    static constexpr std::uint64_t timed = 2;  ///< calls of each mode
    [[nodiscard]] constexpr std::uint64_t of_each() const { return lead_in + timed; }
    [[nodiscard]] constexpr std::uint64_t probe() const { return tried * of_each(); }
  };
  /// For calls of `waves` waves, which use `slots` slots in turn, of a message of `size`.
  [[nodiscard]] static Rhythm rhythm_of(std::uint64_t waves, int slots, Bytes size);

  explicit StoreChoice(const Rhythm& rhythm) : rhythm_(rhythm) {}

  /// The store mode of the next call.
  [[nodiscard]] const StoreMode& mode() const noexcept { return modes[index()]; }
  /// Whether `completed` needs the duration of the next call.
  [[nodiscard]] bool is_timed() const noexcept {
    return call_ < rhythm_.probe() && call_ % rhythm_.of_each() >= rhythm_.lead_in;
  }
  /// `took` is used only if the call was timed. Returns whether the call was the last of a probe:
  /// the caller must then combine `fastest` of all ranks and pass the result to `decide`.
  bool completed(std::chrono::nanoseconds took) noexcept;
  /// This rank's fastest calls of the last probe.
  [[nodiscard]] const Times& fastest() const noexcept { return fastest_; }
  void decide(const Times& slowest_rank) noexcept;

 private:
  [[nodiscard]] std::size_t index() const noexcept {
    return call_ < rhythm_.probe() ? call_ / rhythm_.of_each() : best_;
  }

  Rhythm rhythm_;
  std::uint64_t call_ = 0;  ///< since the last probe began
  std::size_t best_ = 0;
  Times fastest_{};
};

}  // namespace colltune
