// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>

#include "colltune/kernels/copy.h"
#include "colltune/vocabulary/problem.h"

namespace colltune {

/// Finds out from call to call whether what other ranks read is better written through the caches
/// or past them: on virtual machines that changes while a program runs, with where its cores are
/// (kernels/README.md). The first of every `period` calls try both, the same ones on all ranks,
/// which all make the same calls; what was faster for the slowest rank serves until then. Ranks may
/// differ for some calls, since who stages in which way is nobody else's concern.
class StagingChoice {
 public:
  /// By way to stage: through the caches, past them.
  using Times = std::array<std::chrono::nanoseconds, 2>;

  struct Course {
    /// Calls of one way before it is timed: until the slots that calls take turns in were written
    /// so last, since one that was written otherwise, or never, is another thing to write to.
    std::uint64_t lead_in = 0;
    std::uint64_t period = 1;  ///< calls from one trial to the next

    static constexpr std::uint64_t timed = 2;  ///< calls of each way
    [[nodiscard]] constexpr std::uint64_t of_each() const { return lead_in + timed; }
    [[nodiscard]] constexpr std::uint64_t trial() const { return 2 * of_each(); }
  };
  /// For calls of so many waves, which take turns in so many slots, of a message of `size`.
  [[nodiscard]] static Course course_of(std::uint64_t waves, int slots, Bytes size);

  explicit StagingChoice(const Course& course) : course_(course) {}

  /// How the coming call stages.
  [[nodiscard]] CopyMode mode() const noexcept { return modes[way()]; }
  /// Whether `completed` wants to know how long the coming call takes.
  [[nodiscard]] bool is_timed() const noexcept {
    return call_ < course_.trial() && call_ % course_.of_each() >= course_.lead_in;
  }
  /// `took` is looked at where the call was timed. Returns whether it was the last of a trial: then
  /// `fastest` of all ranks are to come together, and `decide` to be told.
  bool completed(std::chrono::nanoseconds took) noexcept;
  /// This rank's fastest calls of the last trial.
  [[nodiscard]] const Times& fastest() const noexcept { return fastest_; }
  void decide(const Times& slowest_rank) noexcept;

 private:
  static constexpr std::array modes{CopyMode::cached, CopyMode::non_temporal};

  [[nodiscard]] std::size_t way() const noexcept {
    return call_ < course_.trial() ? call_ / course_.of_each() : best_;
  }

  Course course_;
  std::uint64_t call_ = 0;  ///< since the last trial began
  std::size_t best_ = 0;
  Times fastest_{};
};

}  // namespace colltune
