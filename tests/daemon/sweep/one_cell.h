// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "colltune/sweep/measure/measure.h"
#include "fakes.h"

/// Plans of a single cell over fakes, measured on thread ranks.
namespace colltune::fakes {

struct Result {
  std::vector<Measurement> measurements;
  ActivityTimes activities;
};

/// Few rounds. No limit of a call is reached, however busy the machine is.
inline MeasurePolicy short_policy() {
  using namespace std::chrono_literals;
  return {.warm_up_runs = 2,
          .min_rounds = 3,
          .max_rounds = 6,
          .max_samples_per_round = 4,
          .round_target = 2ms,
          .call_limit_floor = 10s};
}

/// For tests in which ranks wait in vain for one that throws, hangs or never comes.
inline MeasurePolicy impatient_policy() {
  MeasurePolicy policy = short_policy();
  policy.call_limit_floor = std::chrono::milliseconds(600);
  return policy;
}

/// One node with all ranks of the launch.
inline PlannedWorld world_of(int ranks) {
  PlannedWorld world{.topology = {.ranks_per_node = ranks,
                                  .ranks = ranks,
                                  .architectures = {{"x86_64", ranks}},
                                  .layout_digest = "uniform",
                                  .interconnect = "shared-memory"}};
  for (int rank = 0; rank < ranks; ++rank) world.ranks.push_back(rank);
  return world;
}

/// A plan of one cell: all_reduce f32 sum over all ranks, every implementation with one variant.
inline SweepPlan plan_of(const Implementations& implementations, int ranks, Problem problem = {}) {
  if (problem.message_size.value == 0) problem.message_size = {64};
  SweepPlan plan;
  PlannedWorld world = world_of(ranks);
  const std::chrono::nanoseconds plenty = std::chrono::seconds(10);
  Cell cell{.key = {.problem = problem, .topology = world.topology, .environment_digest = "e"}};
  for (const auto& implementation : implementations) {
    const auto& fake = dynamic_cast<const Fake&>(*implementation);
    cell.variants.push_back({.variant = {std::string(implementation->name()), {}},
                             .family = std::string(implementation->family()),
                             .protocol = "p",
                             .is_baseline = implementation->is_baseline(),
                             .rounding = Rounding::once,
                             .call_limit = fake.is_waited_for() ? plenty / 10'000 : plenty});
  }
  plan.worlds.push_back(std::move(world));
  plan.cells.push_back(std::move(cell));
  plan.precision = -1;  // never reached, not even by equal times: the number of rounds is known
  plan.soak.runs = 0;
  return plan;
}

/// Measures the plan's only cell on thread ranks; rank 0's result.
inline Result measure(const Implementations& implementations, const SweepPlan& plan,
                      int launch_ranks, const MeasurePolicy& policy = short_policy(),
                      std::chrono::nanoseconds share = {}) {
  Result result;
  AbortFlag stop;
  on_ranks(launch_ranks, std::chrono::seconds(20),
           [&](ControlPlane& control, Communicator& launch) {
             Measurer measurer({.control = control,
                                .launch = launch,
                                .implementations = implementations,
                                .plan = plan},
                               policy);
             auto measurements = measurer.measure({.allotment = share}, {}, stop);
             if (control.rank() == 0)
               result = {std::move(measurements), measurer.activities()};
             else {
               EXPECT_TRUE(measurements.empty());
             }
             control.barrier();
           });
  return result;
}

inline Result measure(const Implementations& implementations, int ranks,
                      const MeasurePolicy& policy = short_policy()) {
  return measure(implementations, plan_of(implementations, ranks), ranks, policy);
}

/// One rank's last element is wrong in the given call only.
inline Behaviour spoiler(int spoiled_rank, std::function<bool(int)> in_call) {
  return {.name = "spoiler", .spoil = [=](int rank, int call, std::span<std::byte> result) {
            if (rank == spoiled_rank && in_call(call)) result.back() ^= std::byte{0x40};
          }};
}

inline SweepPlan soaked_plan(const Implementations& implementations, int ranks,
                             std::uint64_t runs) {
  SweepPlan plan = plan_of(implementations, ranks);
  plan.soak = {.runs = runs, .time = std::chrono::seconds(60)};
  return plan;
}

/// A plan whose second implementation is the first one's twin.
inline SweepPlan with_twin(SweepPlan plan) {
  PlannedVariant twin = plan.cells[0].variants[0];
  twin.is_baseline = false;
  twin.is_twin = true;
  plan.cells[0].variants.insert(plan.cells[0].variants.begin() + 1, std::move(twin));
  return plan;
}

}  // namespace colltune::fakes
