// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/measure/measure.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "activity_clock.h"
#include "cell_run.h"
#include "colltune/vocabulary/canonical.h"
#include "compat_loop.h"

namespace colltune {

using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

nanoseconds ActivityTimes::total() const {
  nanoseconds sum{};
  for (const nanoseconds time : times) sum += time;
  return sum;
}

class Measurer::Impl {
 public:
  Impl(const Tools& tools, const MeasurePolicy& policy) : tools_(tools), policy_(policy) {
    worlds_.resize(tools.plan.worlds.size());
    regions_.resize(tools.plan.worlds.size());
    for (const Cell& cell : tools.plan.cells) {
      Bytes& region = regions_[static_cast<std::size_t>(cell.world)];
      region = std::max(region, region_size(cell.key.problem.message_size, cell.key.calling));
    }
  }

  std::vector<Measurement> measure(const Visit& visit, std::span<const Measurement> earlier,
                                   const AbortFlag& stop) {
    const auto begin = Clock::now();
    const Cell cell = part_of(visit);
    const nanoseconds allotment = visit.allotment;
    const bool has_end = allotment.count() > 0;
    const auto end_at =
        Clock::now() + allotment - soak_allotment(cell, allotment) * families_of(cell);
    if (tools_.recorder != nullptr)
      tools_.recorder->enter({.activity = name_of(Activity::preparation),
                              .key_digest = digest_of_value(cell.key),
                              .cell = number_of(visit),
                              .limit = preparation_limits * policy_.call_limit_floor});
    VisitSetting setting = setting_of(number_of(visit));
    setting.pass = visit.pass;
    setting.earlier = earlier;
    setting.soaked = &soaked_[visit.cell];
    CellRun run(setting, cell, world_of(cell));
    run.prepare(regions_[static_cast<std::size_t>(cell.world)]);
    // Variants of a later pass were verified in the first one, and are verified again after these
    // rounds.
    if (visit.pass == 0) run.verify_first();
    run.warm_up(has_end ? end_at - Clock::now() : nanoseconds{});
    fixed_cost_ = Clock::now() - begin;
    run.measure({.at = end_at, .has_end = has_end, .stop = stop});
    const auto rounds_end = Clock::now();
    run.verify_last();
    fixed_cost_ += Clock::now() - rounds_end;
    run.soak(soak_allotment(cell, allotment), stop);
    return run.finish();
  }

  std::vector<CompatTime> measure_like(CompatTool tool, const Cell& cell) {
    CellRun run(setting_of(index_of(cell)), cell, world_of(cell));
    run.prepare(regions_[static_cast<std::size_t>(cell.world)]);
    run.verify_first();
    auto times = time_like(tool, run.context());
    (void)run.finish();
    return times;
  }

  bool is_stopped(const AbortFlag& stop) {
    std::int64_t word = tools_.control.rank() == 0 && stop.is_raised() ? 1 : 0;
    tools_.control.all_reduce_max({&word, 1});
    return word != 0;
  }

  ActivityTimes& activities() { return activities_; }
  [[nodiscard]] nanoseconds fixed_cost() const { return fixed_cost_; }

 private:
  [[nodiscard]] static int families_of(const Cell& cell) {
    std::set<std::string_view> families;
    for (const auto& planned : cell.variants) families.insert(planned.family);
    return static_cast<int>(families.size());
  }

  /// What each winner's soak may take of a cell's allotment, expecting one winner in each family.
  [[nodiscard]] nanoseconds soak_allotment(const Cell& cell, nanoseconds allotment) const {
    constexpr int soak_part = 4;  // at most this fraction (1/4) of a cell's time goes into soaks
    const Soak& soak = tools_.plan.soak;
    if (soak.runs == 0 || cell.is_holdout) return {};
    return allotment.count() == 0 ? soak.time
                                  : std::min(soak.time, allotment / soak_part / families_of(cell));
  }

  [[nodiscard]] VisitSetting setting_of(std::int64_t number) {
    return {.control = tools_.control,
            .plan = tools_.plan,
            .policy = policy_,
            .activities = activities_,
            .implementations = tools_.implementations,
            .recorder = tools_.recorder,
            .index = number};
  }

  /// The cell with only the variants that take part.
  [[nodiscard]] Cell part_of(const Visit& visit) const {
    const Cell& planned = tools_.plan.cells.at(visit.cell);
    if (visit.variants.empty()) return planned;
    Cell part{.world = planned.world,
              .key = planned.key,
              .variants = {},
              .is_holdout = planned.is_holdout};
    for (const std::size_t variant : visit.variants)
      part.variants.push_back(planned.variants.at(variant));
    return part;
  }

  /// Number for the flight recorder: ascending over the whole sweep; in the first pass it is the
  /// cell's index.
  [[nodiscard]] std::int64_t number_of(const Visit& visit) const {
    return static_cast<std::int64_t>(visit.cell) +
           visit.pass * static_cast<std::int64_t>(tools_.plan.cells.size());
  }

  [[nodiscard]] std::int64_t index_of(const Cell& cell) const {
    for (std::size_t i = 0; i < tools_.plan.cells.size(); ++i)
      if (&tools_.plan.cells[i] == &cell) return static_cast<std::int64_t>(i);
    return -1;
  }

  /// Splits the launch when a cell of a world comes up for the first time; all ranks reach the
  /// cells in the same order.
  World& world_of(const Cell& cell) {
    const ActivityScope scope(activities_, Activity::preparation);
    std::optional<World>& world = worlds_[static_cast<std::size_t>(cell.world)];
    if (!world) {
      world.emplace();
      world->split = [this, index = static_cast<std::size_t>(cell.world)] { return split(index); };
      world->starts = world->split();
      world->operations = world->split();
    } else if (world->is_suspect) {
      world->renew_operations();
      world->retired.clear();
    }
    world->is_suspect = false;
    return *world;
  }

  std::unique_ptr<Communicator> split(std::size_t world) {
    const auto& ranks = tools_.plan.worlds[world].ranks;
    const auto own = std::ranges::find(ranks, tools_.launch.rank());
    // The ranks beyond the world wait on the control plane, which lets them sleep.
    return tools_.launch.split(own != ranks.end() ? 0 : -1, static_cast<int>(own - ranks.begin()),
                               OtherRanks::sleeping, Clock::now() + policy_.call_limit_floor);
  }

  Tools tools_;
  MeasurePolicy policy_;
  ActivityTimes activities_;
  nanoseconds fixed_cost_{};
  std::vector<std::optional<World>> worlds_;
  std::vector<Bytes> regions_;  ///< of each world: what its cells' buffers need (region_size)
  /// Variants that were soaked, by cell, so that a winner is not soaked again in every visit.
  std::map<std::size_t, std::set<std::string>> soaked_;
};

Measurer::Measurer(const Tools& tools, const MeasurePolicy& policy)
    : impl_(std::make_unique<Impl>(tools, policy)) {}
Measurer::~Measurer() = default;

std::vector<Measurement> Measurer::measure(const Visit& visit, std::span<const Measurement> earlier,
                                           const AbortFlag& stop) {
  return impl_->measure(visit, earlier, stop);
}

std::vector<CompatTime> Measurer::measure_like(CompatTool tool, const Cell& cell) {
  return impl_->measure_like(tool, cell);
}

bool Measurer::is_stopped(const AbortFlag& stop) { return impl_->is_stopped(stop); }

ActivityTimes& Measurer::activities() { return impl_->activities(); }

nanoseconds Measurer::fixed_cost() const { return impl_->fixed_cost(); }

nanoseconds longest_step(const SweepPlan& plan, const MeasurePolicy& policy) {
  // At most one round lies between two steps. One hung variant in it costs the limit of a call and
  // of a barrier; this allows for three of them, the round itself and some slack.
  constexpr int limits_per_round = 16;
  nanoseconds limit = policy.call_limit_floor;
  for (const Cell& cell : plan.cells)
    for (const auto& variant : cell.variants) limit = std::max(limit, variant.call_limit);
  return limits_per_round * limit;
}

}  // namespace colltune
