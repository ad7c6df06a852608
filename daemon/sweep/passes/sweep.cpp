// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/passes/sweep.h"

#include <algorithm>
#include <concepts>
#include <optional>
#include <type_traits>
#include <utility>

#include "colltune/decide/trials.h"
#include "colltune/flight/flight_recorder.h"
#include "control/shared_result.h"
#include "measure/activity_clock.h"
#include "visit_order.h"

namespace colltune {
namespace {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

/// What rank 0 tells all ranks to do next: either to visit a cell, or why the sweep ends.
struct NextStep {
  std::optional<Visit> visit;
  std::optional<SweepEnd> end;
};
template <class Self, class Visitor>
requires std::same_as<std::remove_const_t<Self>, NextStep>
constexpr void visit_fields(Self& self, Visitor&& visitor) {
  visitor("visit", self.visit);
  visitor("end", self.end);
}

/// Rank 0's side of the sweep: the budget, the journal and the observer.
class Driver {
 public:
  Driver(const SweepTools& tools, const SweepPlan& plan)
      : tools_(tools),
        plan_(plan),
        order_(plan, tools.stored),
        begin_(tools.begin.value_or(Clock::now())) {}

  void begin() {
    if (tools_.journal != nullptr) tools_.journal->begin(plan_);
  }

  NextStep next() {
    if (tools_.stop.is_raised() && order_.visits_left() > 0) return {.end = SweepEnd::stopped};
    const auto left = has_budget() ? std::optional(budget_left()) : std::nullopt;
    const auto visit = order_.next(left);
    // If the budget has no time for further passes, nothing is lost: what was measured decides.
    if (!visit) return {.end = order_.has_met_all_cells() ? SweepEnd::complete : SweepEnd::budget};
    if (tools_.progress != nullptr) tools_.progress->begin_cell(progress(*visit), cell_of(*visit));
    return {.visit = *visit};
  }

  void keep(const Visit& visit, std::span<const Measurement> measured, nanoseconds fixed_cost) {
    if (tools_.journal != nullptr) tools_.journal->append(measured);
    order_.keep(visit, measured, fixed_cost);
    if (tools_.progress != nullptr)
      tools_.progress->end_cell(progress(visit), cell_of(visit), measured);
  }

  [[nodiscard]] std::vector<Measurement> measured(std::size_t cell) const {
    return order_.measured(cell);
  }
  void conclude(SweepOutcome& outcome) {
    outcome.measurements = order_.take_all();
    outcome.trials = count_outcomes(outcome.measurements);
    if (has_budget()) outcome.budget_left = std::max(nanoseconds{}, budget_left());
  }

 private:
  [[nodiscard]] const Cell& cell_of(const Visit& visit) const { return plan_.cells[visit.cell]; }
  [[nodiscard]] bool has_budget() const { return plan_.budget.count() > 0; }
  /// Keeps back the time needed for deciding, publishing and ending.
  [[nodiscard]] nanoseconds budget_left() const {
    constexpr nanoseconds most_kept_back = std::chrono::milliseconds(500);
    return plan_.budget - std::min(plan_.budget / 20, most_kept_back) - (Clock::now() - begin_);
  }
  [[nodiscard]] SweepProgress progress(const Visit& visit) const {
    const nanoseconds elapsed = Clock::now() - begin_;
    nanoseconds left(
        static_cast<std::int64_t>(static_cast<double>(elapsed.count()) * order_.left_over_done()));
    // What does not fit into the budget is not measured.
    if (has_budget()) left = std::min(left, std::max(nanoseconds{}, budget_left()));
    return {.pass = visit.pass,
            .passes = order_.passes(),
            .visits_done = order_.visits_done(),
            .visits = order_.visits_done() + order_.visits_left(),
            .elapsed = elapsed,
            .left = left};
  }

  const SweepTools& tools_;
  const SweepPlan& plan_;
  VisitOrder order_;
  Clock::time_point begin_;
};

/// The watchdog limits neither activity: the control plane has its own time-out, and a disk may
/// take its time.
void enter(const SweepTools& tools, Activity activity, bool is_collective) {
  if (tools.recorder != nullptr)
    tools.recorder->enter({.activity = name_of(activity), .is_collective = is_collective});
}

}  // namespace

SweepOutcome run_sweep(const SweepTools& tools, const SweepPlan& plan,
                       const MeasurePolicy& policy) {
  const auto begin = Clock::now();
  SweepOutcome outcome;
  Driver driver(tools, plan);
  Measurer measurer({.control = tools.control,
                     .launch = tools.launch,
                     .implementations = tools.implementations,
                     .plan = plan,
                     .recorder = tools.recorder},
                    policy);
  std::vector<Measurement> measured;
  std::vector<Measurement> earlier;  // on rank 0
  std::optional<Visit> visit;
  for (;;) {
    // One step of the control plane: the measurements are kept, then the next visit is chosen. If
    // the journal fails on rank 0, the sweep ends everywhere.
    const NextStep step = [&] {
      const ActivityScope scope(measurer.activities(), Activity::journal);
      enter(tools, Activity::control, true);
      return share_result<NextStep>(tools.control, [&] {
        enter(tools, Activity::journal, false);
        if (visit)
          driver.keep(*visit, measured, measurer.fixed_cost());
        else
          driver.begin();
        const NextStep next = driver.next();
        if (next.visit) earlier = driver.measured(next.visit->cell);
        return next;
      });
    }();
    visit = step.visit;
    if (!visit) {
      outcome.end = step.end.value();
      break;
    }
    measured = measurer.measure(*visit, earlier, tools.stop);
  }
  outcome.activities = measurer.activities();
  outcome.elapsed = Clock::now() - begin;
  if (tools.control.rank() == 0) driver.conclude(outcome);
  return outcome;
}

}  // namespace colltune
