// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "colltune/sweep/measure/measure.h"

namespace colltune {

/// In which order a sweep visits its cells, who takes part in each visit, and what it may take of
/// the budget. Without clocks; rank 0's.
///
/// The first pass comes to every cell with all its variants and gets a quarter of the budget, each
/// further one an even part of the rest, for the contenders (contenders.h) of each cell that is not
/// held out. A visit's share is its weight in what is left of its pass, so that what early visits
/// save or overdraw the later ones get or lack. Where further passes would spend more than half of
/// their time on what is not rounds (preparing, verifying, warming up), there are fewer of them:
/// how many is estimated by what the visits so far took, again before each pass.
class VisitOrder {
 public:
  /// Visits of which `stored` has measurements are done.
  VisitOrder(const SweepPlan& plan, std::span<const Measurement> stored);

  /// The next visit, with its share of what is `left` of the budget (empty: there is none). A cell
  /// that cannot even begin to be measured in what is left, by what the others took, gives way to
  /// one that can. Empty where all is done, or nothing fits.
  [[nodiscard]] std::optional<Visit> next(std::optional<std::chrono::nanoseconds> left);
  /// What the visit that next() gave brought. `fixed_cost` is what it took besides its rounds.
  void keep(const Visit& visit, std::span<const Measurement> measured,
            std::chrono::nanoseconds fixed_cost);

  /// What is known about the cell by earlier visits, as far as its variants are still planned: one
  /// that was quarantined since does not decide.
  [[nodiscard]] std::vector<Measurement> measured(std::size_t cell) const;
  /// Whether the first pass came to every cell.
  [[nodiscard]] bool has_met_all_cells() const { return pass_ > 0 || to_do_.empty(); }

  /// How many passes are planned by now.
  [[nodiscard]] int passes() const { return passes_; }
  [[nodiscard]] std::size_t visits_done() const { return visits_done_; }
  [[nodiscard]] std::size_t visits_left() const;
  /// What the visits that are left may take, relative to those that keep() was told of; 0 before
  /// the first.
  [[nodiscard]] double left_over_done() const;

  /// Stored ones first, then as kept.
  [[nodiscard]] std::vector<Measurement> take_all() { return std::move(measurements_); }

 private:
  /// A visit of the current pass that is to be made.
  struct Planned {
    std::size_t cell = 0;
    std::vector<std::size_t> variants;  ///< empty: all
    double weight = 0;
  };
  /// What visits took besides their rounds.
  struct Spent {
    double weight = 0;  ///< of the visits
    std::chrono::nanoseconds fixed_cost{};
  };
  void begin_pass(int pass);
  void begin_next_pass(std::optional<std::chrono::nanoseconds> left);
  /// How many further passes there will be, as far as the first one shows.
  void fit_passes(std::chrono::nanoseconds left);
  /// How many passes of that weight keep to their limit of what is not rounds.
  [[nodiscard]] int worthwhile_passes(std::chrono::nanoseconds left, double weight) const;
  /// Nanoseconds besides rounds for each unit of weight; 0 before the first visit.
  [[nodiscard]] double cost_rate() const;
  [[nodiscard]] std::vector<std::size_t> contenders(std::size_t cell) const;
  [[nodiscard]] double part_of(int pass) const;
  [[nodiscard]] double parts_left() const;

  const SweepPlan& plan_;
  std::vector<Measurement> measurements_;
  std::vector<std::vector<std::size_t>> of_cell_;  ///< indices into measurements_
  std::set<std::pair<int, std::size_t>> done_;     ///< pass, cell
  int pass_ = 0;
  int passes_ = 1;             ///< that are planned by now
  std::deque<Planned> to_do_;  ///< of this pass
  double weight_of_pass_ = 0;  ///< of the visits that it began with
  double weight_left_ = 0;     ///< of those in to_do_
  std::size_t visits_done_ = 0;
  double parts_done_ = 0;  ///< of the visits that keep() was told of
  Spent spent_first_;      ///< of the same, in the first pass
  Spent spent_later_;      ///< in further ones, which verify less
};

}  // namespace colltune
