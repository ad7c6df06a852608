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

// Where cores are far apart, a line that was just written comes from memory sooner than from the
// other core's cache (tests/bench/results/kernels.md has figures). Below, waiting for the memory costs more.
inline constexpr Bytes smallest_streamed_staging{std::uint64_t{2} << 10};
// Where a message does not fit into a cache, results that go past the caches leave room for the
// rest.
inline constexpr Bytes smallest_streamed_result{std::uint64_t{512} << 10};
// Where the ranks' messages together do not fit into a cache that the cores share, what others wait
// for still does, a chunk at a time.
inline constexpr Bytes smallest_streamed_beside_staging{std::uint64_t{4} << 20};

/// How a call writes.
struct StoreWay {
  CopyMode results = CopyMode::cached;  ///< into the rank's own receive buffer
  /// For the peers to read: into symmetric memory, and into their receive buffers.
  CopyMode staging = CopyMode::cached;
};

/// Finds out from call to call which of several ways to store is the fastest: on virtual machines
/// that changes while a program runs, with where its cores are (tests/bench/results/kernels.md). The first of
/// every `period` calls try all, the same ones on all ranks, which all make the same calls; what
/// was fastest for the slowest rank serves until then. Ranks may differ for some calls, since who
/// stores in which way is nobody else's concern.
class StoreChoice {
 public:
  static constexpr std::array ways{StoreWay{}, StoreWay{.staging = CopyMode::non_temporal},
                                   StoreWay{CopyMode::non_temporal, CopyMode::non_temporal},
                                   StoreWay{.results = CopyMode::non_temporal}};
  using Times = std::array<std::chrono::nanoseconds, ways.size()>;  ///< of those that are tried

  struct Rhythm {
    std::size_t tried = 2;  ///< of `ways`, the first
    /// Calls of one way before it is timed: until the slots that calls take turns in were written
    /// so last, since one that was written otherwise, or never, is another thing to write to.
    std::uint64_t lead_in = 0;
    std::uint64_t period = 1;  ///< calls from one probe to the next

    static constexpr std::uint64_t timed = 2;  ///< calls of each way
    [[nodiscard]] constexpr std::uint64_t of_each() const { return lead_in + timed; }
    [[nodiscard]] constexpr std::uint64_t probe() const { return tried * of_each(); }
  };
  /// For calls of so many waves, which take turns in so many slots, of a message of `size`.
  [[nodiscard]] static Rhythm rhythm_of(std::uint64_t waves, int slots, Bytes size);

  explicit StoreChoice(const Rhythm& rhythm) : rhythm_(rhythm) {}

  /// How the coming call stores.
  [[nodiscard]] const StoreWay& way() const noexcept { return ways[index()]; }
  /// Whether `completed` wants to know how long the coming call takes.
  [[nodiscard]] bool is_timed() const noexcept {
    return call_ < rhythm_.probe() && call_ % rhythm_.of_each() >= rhythm_.lead_in;
  }
  /// `took` is looked at where the call was timed. Returns whether it was the last of a probe: then
  /// `fastest` of all ranks are to come together, and `decide` to be told.
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
