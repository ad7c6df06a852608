// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "root_plans.h"

#include <algorithm>
#include <utility>

#include "colltune/vocabulary/error.h"

namespace colltune {

RootPlans::RootPlans(const Call& call, const ScheduledCall& shape, int rank, WriteSchedule write)
    : shape_(shape),
      rank_(rank),
      write_(std::move(write)),
      plans_(2 * static_cast<std::size_t>(shape.ranks)) {
  static_cast<void>(of(shape.root, shape.in_place));
  if (call.capacity != Bytes{} && !(shape.nodes.empty() && shape.groups.empty())) {
    const int roots = shape_of(shape.collective).has_root ? shape.ranks : 1;
    for (int root = 0; root < roots; ++root)
      for (const bool in_place : {false, true}) static_cast<void>(of(root, in_place));
  } else if (call.capacity != Bytes{}) {
    for (const bool in_place : {false, true}) static_cast<void>(of(shape.root, in_place));
  }
  are_needs_known_ = true;
}

std::size_t RootPlans::place_of(int root, bool in_place) const {
  const auto of_root = shape_of(shape_.collective).has_root ? static_cast<std::size_t>(root) : 0;
  return 2 * of_root + (in_place && !only_root_knows_in_place(shape_.collective) ? 1 : 0);
}

const RootPlan& RootPlans::of(int root, bool in_place) {
  const auto& kept = plans_[place_of(root, in_place)];
  return kept != nullptr ? *kept : write(root, in_place);
}

const RootPlan& RootPlans::write(int root, bool in_place) {
  ScheduledCall shape = shape_;
  shape.root = root;
  shape.in_place = in_place;
  Schedule schedule = write_(shape);
  auto plan = std::make_unique<RootPlan>();
  for (const RankSchedule& rank : schedule.ranks)
    for (std::size_t phase = 0; phase < plan->stride.size(); ++phase)
      plan->stride[phase] =
          std::max<std::uint64_t>(plan->stride[phase], rank.phases[phase].size() + 2);
  plan->own = std::move(schedule.ranks[static_cast<std::size_t>(rank_)]);
  plan->peers.resize(static_cast<std::size_t>(plan->own.messages));
  for (const auto& steps : plan->own.phases)
    for (const Step& step : steps) {
      plan->most_sources = std::max(plan->most_sources, step.from.size());
      if (step.message >= 0) {
        plan->peers[static_cast<std::size_t>(step.message)] =
            step.kind == StepKind::send ? step.to.rank : step.from.front().rank;
        if (step.is_free_before) plan->early.push_back(&step);
      }
    }
  const Needs needs{schedule.scratch_blocks, plan->own.messages, schedule.tags};
  if (!are_needs_known_)
    needs_ = {std::max(needs_.scratch_blocks, needs.scratch_blocks),
              std::max(needs_.messages, needs.messages), std::max(needs_.tags, needs.tags)};
  else if (needs.scratch_blocks > needs_.scratch_blocks || needs.messages > needs_.messages ||
           needs.tags > needs_.tags)
    throw Error(StatusCode::internal, "the schedule for root " + std::to_string(root) +
                                          " needs more memory than that for another root");
  auto& kept = plans_[place_of(root, in_place)];
  kept = std::move(plan);
  return *kept;
}

}  // namespace colltune
