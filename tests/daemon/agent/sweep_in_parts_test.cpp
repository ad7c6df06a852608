// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "commands/sweep_in_parts.h"

#include <gtest/gtest.h>

#include "launch/launch_facts.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;

SweepPlan plan_of(std::vector<std::uint64_t> sizes) {
  SweepPlan plan;
  for (const std::uint64_t size : sizes)
    plan.cells.push_back({.key = {.problem = {.message_size = {size}}}});
  plan.budget = 12s;
  plan.passes = 3;
  return plan;
}

TEST(SweepInParts, EachLaunchTakesTheNextKeyOfWhichNothingIsStored) {
  const SweepPlan plan = plan_of({64, 128, 256});
  std::vector<Measurement> stored;
  EXPECT_EQ(next_cell(plan, stored), 0);
  stored.push_back({.key = plan.cells[0].key});
  stored.push_back({.key = plan.cells[0].key});
  EXPECT_EQ(next_cell(plan, stored), 1);
  stored.push_back({.key = plan.cells[2].key});
  EXPECT_EQ(next_cell(plan, stored), 1);
  stored.push_back({.key = plan.cells[1].key});
  EXPECT_EQ(next_cell(plan, stored), std::nullopt);
}

TEST(SweepInParts, APartIsOneKeyInOnePassWithItsPartOfTheBudget) {
  const SweepPlan plan = plan_of({64, 128, 256});
  const SweepPlan part = plan_of_cell(plan, 1);
  ASSERT_EQ(part.cells.size(), 1u);
  EXPECT_EQ(part.cells[0], plan.cells[1]);
  EXPECT_EQ(part.passes, 1);
  EXPECT_EQ(part.budget, 4s);
  EXPECT_TRUE(plan_of_cell(plan, std::nullopt).cells.empty());
}

TEST(CallLimitFloor, FollowsFromWhatIsMeasured) {
  SweepPlan plan = plan_of({64});
  plan.budget = 8s;
  EXPECT_EQ(call_limit_floor(0s, plan), 1s);
  EXPECT_EQ(call_limit_floor(5s, plan), 5s);
  plan.budget = 40s;
  EXPECT_EQ(call_limit_floor(0s, plan), 5s);
  plan.budget = 1800s;
  EXPECT_EQ(call_limit_floor(0s, plan), 10s);
  plan.budget = 0s;
  EXPECT_EQ(call_limit_floor(0s, plan), 10s);
  plan.budget = 8s;
  plan.worlds.push_back({});
  plan.worlds.back().topology.placement = Placement::oversubscribed;
  EXPECT_EQ(call_limit_floor(0s, plan), 4s);
}

}  // namespace
}  // namespace colltune
