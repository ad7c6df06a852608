// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Variants that have no room in memory beside the others.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sweep_run.h"

namespace colltune {
namespace {

using fakes::Behaviour;
using fakes::Memory;
using fakes::sweep;
using fakes::SweepRun;
using testing::Each;
using testing::HasSubstr;

constexpr int ranks = 2;
constexpr int rivals = 7;

SweepSpec one_size(int passes) {
  return {.collectives = {Collective::all_reduce},
          .sizes = parse_sizes("64"),
          .passes = passes,
          .soak = {.runs = 20},
          .null_test = false};
}

/// A baseline that needs none of the memory, and rivals that need a unit each.
Implementations rivals_in(const std::shared_ptr<Memory>& memory) {
  std::vector<Behaviour> behaviours;
  for (int i = 0; i < rivals; ++i)
    behaviours.push_back({.name = "r" + std::to_string(i), .memory = memory});
  behaviours.push_back({.name = "base", .is_baseline = true});
  return fakes::make(behaviours);
}

std::map<std::string, std::vector<Measurement>> by_variant(const SweepRun& run) {
  std::map<std::string, std::vector<Measurement>> found;
  for (const Measurement& one : run.outcome.measurements)
    found[one.variant.implementation].push_back(one);
  return found;
}

TEST(SweepMemory, WhatHasNoRoomBesideTheOthersIsUnavailable) {
  const auto memory = std::make_shared<Memory>();
  memory->units = 4;
  SweepRun run;
  sweep(run, ranks, rivals_in(memory), one_size(3));
  EXPECT_THAT(run.errors, Each(""));
  EXPECT_THAT(run.ends, Each(SweepEnd::complete));
  const auto found = by_variant(run);
  ASSERT_EQ(found.size(), rivals + 1U);
  EXPECT_EQ(found.at("base").size(), 3U);
  for (int i = 0; i < rivals; ++i) {
    const std::vector<Measurement>& rows = found.at("r" + std::to_string(i));
    // Four have room; the last of them leaves its place to what the others allocate when they run.
    EXPECT_EQ(rows.front().outcome, i < 3 ? Outcome::ok : Outcome::unavailable) << i;
    EXPECT_EQ(rows.size(), i < 3 ? 3U : 1U) << i;
    EXPECT_EQ(rows.front().ranks_failed, 0) << i;
    if (i >= 3) {
      EXPECT_THAT(rows.front().detail, HasSubstr("there is no memory for it beside the other"));
    }
  }
  EXPECT_THAT(found.at("r4").front().detail, HasSubstr("rank 0: no unit is left"));
  EXPECT_EQ(memory->used[0], 0);
  EXPECT_EQ(memory->used[1], 0);
}

TEST(SweepMemory, EachImplementationHasVariantsThatRan) {
  const auto memory = std::make_shared<Memory>();
  memory->units = 5;
  std::vector<Behaviour> behaviours{{.name = "base", .is_baseline = true}};
  for (const std::string name : {"many", "few"}) {
    Behaviour one{.name = name, .memory = memory};
    for (std::int64_t n = 0; n < (name == "many" ? 6 : 2); ++n)
      one.variants.push_back({name, {{"n", n}}});
    behaviours.push_back(one);
  }
  SweepRun run;
  sweep(run, ranks, fakes::make(behaviours), one_size(1));
  std::map<std::string, int> ran;
  for (const Measurement& one : run.outcome.measurements)
    if (one.outcome == Outcome::ok) ++ran[one.variant.implementation];
  EXPECT_EQ(ran, (std::map<std::string, int>{{"base", 1}, {"few", 2}, {"many", 2}}));
}

TEST(SweepMemory, WhereNothingHasRoomTheBaselineIsMeasured) {
  const auto memory = std::make_shared<Memory>();
  SweepRun run;
  sweep(run, ranks, rivals_in(memory), one_size(2));
  EXPECT_THAT(run.ends, Each(SweepEnd::complete));
  const auto found = by_variant(run);
  for (int i = 0; i < rivals; ++i) {
    const std::vector<Measurement>& rows = found.at("r" + std::to_string(i));
    ASSERT_EQ(rows.size(), 1U);
    EXPECT_EQ(rows[0].outcome, Outcome::unavailable);
    EXPECT_THAT(rows[0].detail, HasSubstr("rank 0: no unit is left"));
  }
  EXPECT_EQ(found.at("base").size(), 2U);
}

// The other ranks wait in vain for one that lacks memory.
TEST(SweepMemory, OneRankDecidesForAll) {
  const auto memory = std::make_shared<Memory>();
  memory->units = 3;
  auto behaviours = std::vector<Behaviour>{{.name = "base", .is_baseline = true}};
  for (int i = 0; i < 3; ++i)
    behaviours.push_back({.name = "r" + std::to_string(i), .memory = memory});
  memory->used[1] = 2;  // something else has it, on this rank alone
  SweepRun run;
  run.policy.call_limit_floor = fakes::impatient_policy().call_limit_floor;
  sweep(run, ranks, fakes::make(behaviours), one_size(3));
  EXPECT_THAT(run.errors, Each(""));
  const auto found = by_variant(run);
  ASSERT_EQ(found.size(), 4U);
  EXPECT_EQ(found.at("r0").front().outcome, Outcome::ok);
  for (const auto& [name, rows] : found)
    for (const Measurement& row : rows) EXPECT_NE(row.outcome, Outcome::failed) << name;
}

}  // namespace
}  // namespace colltune
