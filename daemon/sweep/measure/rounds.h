// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "batch.h"
#include "cell_context.h"
#include "colltune/decide/race.h"

namespace colltune {

/// When the rounds of a cell end, apart from what their times show.
struct RoundsEnd {
  std::chrono::steady_clock::time_point at;
  bool has_end = false;  ///< whether `at` counts
  const AbortFlag& stop;
};

/// What rank 0 derives from the warm-up, for all ranks.
struct RoundSizes {
  int calls = 1;     ///< per sample
  int samples = 1;   ///< per round
  int takeover = 0;  ///< Trial::takeover_runs of all but the hopeless
  bool has_windows = false;
  std::vector<std::size_t> hopeless;  ///< indices of trials
};
template <class Self, class Visit>
requires std::same_as<std::remove_const_t<Self>, RoundSizes>
constexpr void visit_fields(Self& self, Visit&& visit) {
  visit("calls", self.calls);
  visit("samples", self.samples);
  visit("takeover", self.takeover);
  visit("windows", self.has_windows);
  visit("hopeless", self.hopeless);
}

/// The timed part of a cell: rounds in which every variant that may still win runs one batch.
class Rounds {
 public:
  explicit Rounds(CellContext& context) : context_(context) {}

  /// Makes untimed runs. From them rank 0 derives the calls per sample, the samples per round, how
  /// the ranks start together, and which variants are hopeless.
  void warm_up(std::chrono::nanoseconds time_left);
  /// Runs rounds until rank 0 has seen enough.
  void run(const RoundsEnd& end);
  /// HandOverProbe::measure before each round, for the farthest neighbours: the median over the
  /// rounds. The same on all ranks; empty if it is not defined or no round was run.
  [[nodiscard]] std::optional<std::chrono::nanoseconds> hand_over() const;

 private:
  /// The results of a set of batches: for each trial `runs` packed times and marks.
  struct Brought {
    std::vector<Trial*> trials;
    std::vector<std::size_t> first;  ///< index of each trial's first run, plus the end
    std::vector<std::int64_t> packed;
    std::vector<int> marks;
    explicit Brought(std::vector<Trial*> of, const std::function<int(const Trial&)>& runs_of);
    [[nodiscard]] std::span<std::int64_t> packed_of(std::size_t i);
    [[nodiscard]] std::span<int> marks_of(std::size_t i);
  };
  /// One MAX reduction carries the times, each trial's severity, whether it has marks, the
  /// hand-over, and rank 0's words: which variants leave, and whether this was the last round. A
  /// second reduction is needed only if there are marks. Returns whether it was the last round.
  /// Lost trials are prepared anew, which sets `has_renewed_`.
  bool exchange(Brought& brought, bool is_last);
  /// The results of all trials' untimed runs.
  [[nodiscard]] Brought run_untimed();
  void measure_hand_over();
  void take_samples(Brought& brought, bool is_inspected);
  void follow_late_runs(const Brought& brought);
  [[nodiscard]] RoundSizes choose_sizes(Brought& brought, std::chrono::nanoseconds time_left) const;
  [[nodiscard]] StartPolicy first_start();
  [[nodiscard]] bool run_round(int round, const std::function<bool()>& is_enough);
  [[nodiscard]] bool may_inspect(int round) const;
  [[nodiscard]] RaceState judge() const;
  [[nodiscard]] bool is_precise() const;

  CellContext& context_;
  RaceState race_;  ///< rank 0: after the last round
  int rounds_ = 0;
  std::int64_t hand_over_ = 0;  ///< ns, before this round; 0: not measured
  std::vector<double> hand_overs_;
  bool has_renewed_ = false;  ///< by the last exchange; the same on all ranks
};

}  // namespace colltune
