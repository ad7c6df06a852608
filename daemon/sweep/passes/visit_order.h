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

/// In which order a sweep visits its cells, which variants take part in each visit, and what it may
/// take of the budget. Used on rank 0; reads no clock.
///
/// The first pass visits every cell with all its variants and gets a quarter of the budget. So do
/// the plan's other full passes, but for cells that are held out and variants that were not ok;
/// where there are any, all full passes together get half of the budget in equal parts. The
/// further passes get equal parts of the rest; they visit the cells that are not held out, with
/// their contenders (contenders.h). A visit's allotment is its claim relative to what is left of
/// its pass, so later visits gain what early ones save and lose what they overdraw. The claim is
/// the estimate of what the visit costs, times its cell's weight relative to the mean of all cells,
/// but at least a quarter and at most four times the estimate. If further passes would spend more
/// than half of their time on anything but rounds (preparing, verifying, warming up), there are
/// fewer of them. Their number is estimated from the costs of the visits so far, again before each
/// pass.
class VisitOrder {
 public:
  /// Visits with measurements among `stored` count as done.
  VisitOrder(const SweepPlan& plan, std::span<const Measurement> stored);

  /// The next visit, with its allotment out of the budget's remainder `left` (empty: there is no
  /// budget). A cell that, by the cost of the visits so far, could not even be started in that time
  /// is passed over for one that can. Empty if all visits are done or none fits.
  [[nodiscard]] std::optional<Visit> next(std::optional<std::chrono::nanoseconds> left);
  /// Records the results of the visit that next() gave. `fixed_cost` is what it took in addition to
  /// its rounds.
  void keep(const Visit& visit, std::span<const Measurement> measured,
            std::chrono::nanoseconds fixed_cost);

  /// The measurements of earlier visits to the cell, for variants that are still planned: one that
  /// was quarantined since then does not decide.
  [[nodiscard]] std::vector<Measurement> measured(std::size_t cell) const;
  /// Whether the first pass has visited every cell.
  [[nodiscard]] bool has_met_all_cells() const { return pass_ > 0 || to_do_.empty(); }

  /// How many passes are planned at present.
  [[nodiscard]] int passes() const { return passes_; }
  [[nodiscard]] std::size_t visits_done() const { return visits_done_; }
  [[nodiscard]] std::size_t visits_left() const;
  /// What the remaining visits may take, relative to the visits passed to keep(); 0 before the
  /// first.
  [[nodiscard]] double left_over_done() const;

  /// Stored measurements first, then those passed to keep().
  [[nodiscard]] std::vector<Measurement> take_all() { return std::move(measurements_); }

 private:
  /// A visit of the current pass that is still to be made.
  struct Planned {
    std::size_t cell = 0;
    std::vector<std::size_t> variants;  ///< empty: all
    double cost = 0;                    ///< estimate, relative to other visits
    double claim = 0;  ///< to the budget: the cost, raised or lowered by the cell's weight
  };
  /// What visits took in addition to their rounds.
  struct Spent {
    double cost = 0;  ///< of the visits, as estimated
    std::chrono::nanoseconds fixed_cost{};
  };
  void begin_pass(int pass);
  void begin_next_pass(std::optional<std::chrono::nanoseconds> left);
  /// Estimates from the first pass how many further passes there will be.
  void fit_passes(std::chrono::nanoseconds left);
  /// How many passes of that cost stay within the limit on time not spent on rounds.
  [[nodiscard]] int worthwhile_passes(std::chrono::nanoseconds left, double cost) const;
  /// Nanoseconds not spent on rounds, per unit of estimated cost; 0 before the first visit.
  [[nodiscard]] double cost_rate() const;
  /// Who takes part in the next visit to a cell that was visited before: its contenders, or in a
  /// full pass all that were ok so far.
  [[nodiscard]] std::vector<std::size_t> runners(std::size_t cell) const;
  /// Of the budget, where there are others than full passes.
  [[nodiscard]] double part_of_full_pass() const;
  [[nodiscard]] double part_of(int pass) const;
  [[nodiscard]] double parts_left() const;

  const SweepPlan& plan_;
  std::vector<double> favours_;  ///< of the cells: claim over cost
  std::vector<Measurement> measurements_;
  std::vector<std::vector<std::size_t>> of_cell_;  ///< indices into measurements_
  std::set<std::pair<int, std::size_t>> done_;     ///< pass, cell
  int pass_ = 0;
  int passes_ = 1;             ///< planned at present
  int full_passes_ = 1;        ///< likewise; fewer than the plan's where no other would fit
  std::deque<Planned> to_do_;  ///< of this pass
  double cost_of_pass_ = 0;    ///< of all visits that it began with
  double claims_of_pass_ = 0;  ///< likewise
  double claims_left_ = 0;     ///< of the visits in to_do_
  std::size_t visits_done_ = 0;
  double parts_done_ = 0;  ///< of the visits passed to keep()
  Spent spent_first_;      ///< in the first pass
  Spent spent_later_;      ///< in further passes, which verify less
};

}  // namespace colltune
