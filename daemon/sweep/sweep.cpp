// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/sweep.h"

#include <algorithm>
#include <deque>
#include <map>

#include "colltune/sweep/flight_recorder.h"
#include "phase_clock.h"
#include "shared_result.h"

namespace colltune {
namespace {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

/// What a cell may cost of the budget in relation to others: a fixed part for each variant and a
/// part that grows with the message.
double weight_of(const Cell& cell) {
  constexpr double fixed_ns = 4e6;      // a few thousand small calls
  constexpr double ns_per_byte = 10.0;  // a dozen rounds at about 1 GB/s
  return static_cast<double>(cell.variants.size()) *
         (fixed_ns + ns_per_byte * static_cast<double>(cell.key.problem.message_size.value));
}

/// Where the sweep stands, as rank 0 sees it.
class Course {
 public:
  Course(const SweepTools& tools, const SweepPlan& plan)
      : tools_(tools), plan_(plan), begin_(tools.begin.value_or(Clock::now())) {
    progress_.cells = plan.cells.size();
    progress_.trials = count_trials(plan);
    std::map<TuningKey, std::size_t> stored;
    for (const Measurement& measurement : tools.stored) ++stored[measurement.key];
    for (std::size_t i = 0; i < plan.cells.size(); ++i) {
      const Cell& cell = plan.cells[i];
      if (const auto found = stored.find(cell.key); found != stored.end()) {
        ++progress_.cells_done;
        progress_.trials_done += found->second;
      } else {
        to_do_.push_back(i);
        weight_left_ += weight_of(cell);
      }
    }
  }

  void begin(SweepOutcome& outcome) {
    if (tools_.journal != nullptr) tools_.journal->begin(plan_);
    for (const Measurement& measurement : tools_.stored) {
      ++outcome.trials[measurement.outcome];
      outcome.measurements.push_back(measurement);
    }
  }

  /// The next cell with its share of the budget (0: none), else why there is none.
  nlohmann::json next() {
    if (to_do_.empty()) return end_with(SweepEnd::complete);
    if (tools_.stop.is_raised()) return end_with(SweepEnd::stopped);
    const nanoseconds left = budget_left();
    if (has_budget()) {
      if (left.count() <= 0) return end_with(SweepEnd::budget);
      // A cell that cannot even begin to be measured in what is left gives way to one that can.
      const auto fits = std::ranges::find_if(
          to_do_, [&](std::size_t i) { return expected_cost(plan_.cells[i]) <= left; });
      if (fits == to_do_.end()) return end_with(SweepEnd::budget);
      std::rotate(to_do_.begin(), fits, fits + 1);
    }
    const Cell& cell = plan_.cells[to_do_.front()];
    nanoseconds share{};
    if (has_budget())
      share = std::max(nanoseconds(1), part_of(left, weight_of(cell) / weight_left_));
    if (tools_.progress != nullptr) tools_.progress->begin_cell(progress_, cell);
    return {{"share_ns", share.count()}, {"cell", to_do_.front()}};
  }

  [[nodiscard]] bool has_budget() const { return plan_.budget.count() > 0; }
  /// What deciding, publishing and leaving need is kept back.
  [[nodiscard]] nanoseconds budget_left() const {
    constexpr nanoseconds most_kept_back = std::chrono::milliseconds(500);
    return plan_.budget - std::min(plan_.budget / 20, most_kept_back) - (Clock::now() - begin_);
  }

  void keep(const Cell& cell, std::vector<Measurement> measured, nanoseconds fixed_cost,
            SweepOutcome& outcome) {
    if (tools_.journal != nullptr) tools_.journal->append(measured);
    to_do_.pop_front();
    fixed_cost_ += fixed_cost;
    ++progress_.cells_done;
    progress_.trials_done += measured.size();
    const double weight = weight_of(cell);
    weight_done_ += weight;
    weight_left_ -= weight;
    progress_.elapsed = Clock::now() - begin_;
    progress_.left =
        nanoseconds(static_cast<std::int64_t>(static_cast<double>(progress_.elapsed.count()) *
                                              std::max(0.0, weight_left_) / weight_done_));
    if (tools_.progress != nullptr) tools_.progress->end_cell(progress_, cell, measured);
    for (auto& measurement : measured) {
      ++outcome.trials[measurement.outcome];
      outcome.measurements.push_back(std::move(measurement));
    }
  }

 private:
  static nanoseconds part_of(nanoseconds time, double fraction) {
    return nanoseconds(static_cast<std::int64_t>(static_cast<double>(time.count()) * fraction));
  }
  /// By the cells so far; nothing before the first.
  [[nodiscard]] nanoseconds expected_cost(const Cell& cell) const {
    return weight_done_ > 0 ? part_of(fixed_cost_, weight_of(cell) / weight_done_) : nanoseconds{};
  }

  static nlohmann::json end_with(SweepEnd end) { return {{"end", to_json_value(end)}}; }

  const SweepTools& tools_;
  const SweepPlan& plan_;
  SweepProgress progress_;
  std::deque<std::size_t> to_do_;  ///< cells that are not done, in order
  double weight_left_ = 0;
  double weight_done_ = 0;
  nanoseconds fixed_cost_{};  ///< of the cells that were measured
  Clock::time_point begin_;
};

/// Neither is watched: the control plane has a time-out of its own, a disk has patience.
void enter(const SweepTools& tools, Phase phase, bool is_collective) {
  if (tools.recorder != nullptr)
    tools.recorder->enter({.phase = name_of(phase), .is_collective = is_collective});
}

}  // namespace

SweepOutcome run_sweep(const SweepTools& tools, const SweepPlan& plan,
                       const MeasurePolicy& policy) {
  const auto begin = Clock::now();
  SweepOutcome outcome;
  Course course(tools, plan);
  Measurer measurer({.control = tools.control,
                     .launch = tools.launch,
                     .implementations = tools.implementations,
                     .plan = plan,
                     .recorder = tools.recorder},
                    policy);
  std::vector<Measurement> measured;
  const Cell* last = nullptr;
  for (;;) {
    // One step of the control plane: what was measured is kept, then the next cell is chosen. A
    // journal that fails on rank 0 ends the sweep everywhere.
    const auto command = [&] {
      const PhaseScope scope(measurer.phases(), Phase::journal);
      enter(tools, Phase::control, true);
      return share_json(tools.control, [&] {
        enter(tools, Phase::journal, false);
        if (last == nullptr)
          course.begin(outcome);
        else
          course.keep(*last, std::move(measured), measurer.fixed_cost(), outcome);
        return course.next();
      });
    }();
    if (command.contains("end")) {
      outcome.end = from_json_value<SweepEnd>(command.at("end"), "from rank 0");
      break;
    }
    last = &plan.cells[command.at("cell").get<std::size_t>()];
    measured = measurer.measure(*last, nanoseconds(command.at("share_ns").get<std::int64_t>()),
                                tools.stop);
  }
  outcome.phases = measurer.phases();
  outcome.elapsed = Clock::now() - begin;
  if (course.has_budget()) outcome.budget_left = std::max(nanoseconds{}, course.budget_left());
  return outcome;
}

}  // namespace colltune
