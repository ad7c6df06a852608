// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "commands/confirm_launch_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "../sweep/fakes.h"
#include "colltune/vocabulary/canonical.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Availability launch_of(int ranks) {
  Capability capability{.architecture = "x86_64", .features = {}};
  capability.features["cpu.cores"] = "8";
  return merge_capabilities(std::vector<Capability>(static_cast<std::size_t>(ranks), capability),
                            std::vector<int>(static_cast<std::size_t>(ranks), 0));
}

class ConfirmLaunchPlanTest : public testing::Test {
 protected:
  /// A provisional decision of a launch with `ranks` ranks.
  [[nodiscard]] static Decision decision(const std::vector<std::string>& ranked, int ranks = 2,
                                         std::uint64_t bytes = 1024) {
    const Availability availability = launch_of(ranks);
    Decision made{.key = {.problem = {.message_size = {bytes}},
                          .topology = topology_of(availability, node_major_ranks(availability)),
                          .environment_digest = "env"},
                  .verdict = Verdict::displaced};
    for (const std::string& name : ranked)
      made.ranked.push_back(
          {.variant = parse_variant(name), .is_baseline = name.starts_with("base")});
    return made;
  }
  [[nodiscard]] ConfirmLaunchPlan plan(const std::vector<Decision>& decisions,
                                       int ranks = 2) const {
    const Availability availability = launch_of(ranks);
    const std::string digest = "env";
    return make_confirm_launch_plan(decisions,
                                    {.availability = availability,
                                     .implementations = implementations,
                                     .environment_digest = digest,
                                     .quarantined = quarantined},
                                    100ms, 7);
  }
  [[nodiscard]] static std::vector<std::string> names(const Cell& cell) {
    std::vector<std::string> all;
    for (const auto& planned : cell.variants) all.push_back(to_string(planned.variant));
    return all;
  }

  Implementations implementations = fakes::make(
      {{.name = "base", .is_baseline = true},
       {.name = "ring", .variants = {parse_variant("ring{a=1}"), parse_variant("ring{a=2}")}},
       {.name = "slow"}});
  std::vector<Quarantined> quarantined;
};

TEST_F(ConfirmLaunchPlanTest, ACellHoldsTheBaselineAndTheWinnersAlone) {
  Decision family = decision({"ring{a=2}", "ring{a=1}"});
  family.family = "fake";
  const auto [made, left_out] = plan(
      {decision({"slow", "ring{a=1}", "base"}), family, decision({"ring{a=1}", "base"}, 2, 64)});
  EXPECT_THAT(left_out, ElementsAre());
  ASSERT_EQ(made.cells.size(), 2U);
  EXPECT_EQ(made.cells[0].key.problem.message_size.value, 64U);
  EXPECT_THAT(names(made.cells[0]), ElementsAre("base", "ring{a=1}"));
  EXPECT_THAT(names(made.cells[1]), ElementsAre("base", "ring{a=1}", "ring{a=2}", "slow"));
  EXPECT_EQ(made.worlds.size(), 1U);
  EXPECT_EQ(made.budget, 200ms);
  EXPECT_EQ(made.seed, 7U);
  EXPECT_EQ(made.passes, 1);
  EXPECT_EQ(made.soak.runs, 0U);
  for (const Cell& cell : made.cells)
    for (const auto& planned : cell.variants) EXPECT_FALSE(planned.is_twin);
}

TEST_F(ConfirmLaunchPlanTest, AParameterOutsideTheSearchSpaceIsPlanned) {
  const auto [made, left_out] = plan({decision({"ring{a=17}", "base"})});
  EXPECT_THAT(left_out, ElementsAre());
  ASSERT_EQ(made.cells.size(), 1U);
  EXPECT_THAT(names(made.cells[0]), ElementsAre("base", "ring{a=17}"));
}

TEST_F(ConfirmLaunchPlanTest, ASubWorldOfTheLaunchIsPlannedBesideTheWhole) {
  const auto [made, left_out] =
      plan({decision({"slow", "base"}, 2), decision({"slow", "base"}, 4)}, 4);
  EXPECT_THAT(left_out, ElementsAre());
  ASSERT_EQ(made.cells.size(), 2U);
  ASSERT_EQ(made.worlds.size(), 2U);
  for (const Cell& cell : made.cells)
    EXPECT_EQ(made.worlds.at(static_cast<std::size_t>(cell.world)).topology, cell.key.topology);
}

TEST_F(ConfirmLaunchPlanTest, WhereNothingIsClaimedNothingIsPlanned) {
  const auto [made, left_out] = plan({decision({"base", "slow"}), decision({"slow"}, 2, 64)});
  EXPECT_TRUE(made.cells.empty());
  EXPECT_THAT(left_out, ElementsAre());
}

TEST_F(ConfirmLaunchPlanTest, TheRegimeIsThatOfTheDecision) {
  Decision hot = decision({"slow", "base"});
  hot.key.input = InputMode::hot;
  Decision other = decision({"slow", "base"}, 2, 64);
  EXPECT_EQ(plan({hot}).plan.input_mode, InputMode::hot);
  EXPECT_EQ(plan({other}).plan.input_mode, InputMode::rewritten);
  const auto [made, left_out] = plan({hot, other});
  EXPECT_EQ(made.cells.size(), 1U);
  EXPECT_THAT(left_out, ElementsAre(HasSubstr("measured with input rewritten")));
  for (const Calling calling : {Calling::each, Calling::persistent}) {
    other.key.calling = calling;
    const ConfirmLaunchPlan confirm_launch = plan({other});
    EXPECT_THAT(confirm_launch.left_out, ElementsAre());
    ASSERT_EQ(confirm_launch.plan.cells.size(), 1U);
    EXPECT_EQ(confirm_launch.plan.cells[0].key, other.key);
  }
}

TEST_F(ConfirmLaunchPlanTest, WhatThisLaunchCannotMeasureIsLeftOutWithTheReason) {
  Decision elsewhere = decision({"slow", "base"});
  elsewhere.key.environment_digest = "another";
  EXPECT_THAT(plan({elsewhere}).left_out, ElementsAre(HasSubstr("another environment")));
  EXPECT_THAT(plan({decision({"slow", "base"}, 4)}).left_out,
              ElementsAre(HasSubstr("larger than the launch")));
  Decision other_world = decision({"slow", "base"});
  other_world.key.topology.interconnect = "tcp";
  EXPECT_THAT(plan({other_world}).left_out, ElementsAre(HasSubstr("no such world")));
  EXPECT_THAT(plan({decision({"unknown", "base"})}).left_out,
              ElementsAre(HasSubstr("'unknown' matches no implementation")));
  quarantined = {{.key_digest = digest_of_value(decision({"slow", "base"}).key),
                  .variant = "slow",
                  .reason = "crashed"}};
  EXPECT_THAT(plan({decision({"slow", "base"})}).left_out,
              ElementsAre(HasSubstr("slow: quarantined: crashed")));
}

/// Ranks that lack "ring" and ranks that have it.
class UnlikeRanksConfirmLaunchTest : public ConfirmLaunchPlanTest {
 protected:
  UnlikeRanksConfirmLaunchTest() {
    implementations = fakes::make(
        {{.name = "base", .is_baseline = true},
         {.name = "ring",
          .protocol = "p",
          .supports =
              [](const Problem&, const Topology&, const Capability& capability, const Variant&) {
                return capability.has("ring") ? Support::yes() : Support::no("no ring");
              }},
         {.name = "slow", .protocol = "p"}});
    SweepSpec spec{.collectives = {Collective::all_reduce},
                   .sizes = parse_sizes("1KiB"),
                   .partial_worlds = true,
                   .null_test = false};
    found = make_plan(spec, availability, implementations, "env");
  }

  [[nodiscard]] static Availability make_availability() {
    const Capability without{.architecture = "x86_64", .features = {{"cpu.cores", "8"}}};
    Capability with = without;
    with.features["ring"] = "";
    return merge_capabilities(std::vector{without, with, with}, std::vector{0, 0, 0});
  }
  [[nodiscard]] static Decision decided(const Cell& cell, const Variant& winner) {
    return {
        .key = cell.key,
        .ranked = {{.variant = winner}, {.variant = parse_variant("base"), .is_baseline = true}},
        .verdict = Verdict::displaced};
  }
  [[nodiscard]] ConfirmLaunchPlan confirm_launch(
      const Decision& decision, const std::vector<Composition>& compositions = {}) const {
    const std::string digest = "env";
    return make_confirm_launch_plan(std::vector{decision},
                                    {.availability = availability,
                                     .implementations = implementations,
                                     .environment_digest = digest,
                                     .quarantined = {},
                                     .compositions = compositions,
                                     .members = members},
                                    100ms, 7);
  }

  std::vector<WorldMembers> members;  ///< of the sweep of all decisions
  Availability availability = make_availability();
  SweepPlan found;  ///< what a sweep of these ranks measures
};

TEST_F(UnlikeRanksConfirmLaunchTest, TheWorldOfThoseThatHaveMoreIsFoundAgain) {
  ASSERT_EQ(found.worlds.size(), 2u);
  ASSERT_EQ(found.cells.at(1).world, 1);
  const Decision decision = decided(found.cells[1], parse_variant("ring"));
  // Ranks 0 and 1 are of the same topology.
  EXPECT_THAT(confirm_launch(decision).left_out, ElementsAre(HasSubstr("ring: no ring (rank 0)")));
  members = {{.sweep_uuid = decision.sweep_uuid,
              .topology_digest = digest_of_value(decision.key.topology),
              .members = found.worlds[1].members}};
  const ConfirmLaunchPlan again = confirm_launch(decision);
  EXPECT_THAT(again.left_out, ElementsAre());
  ASSERT_EQ(again.plan.worlds.size(), 1u);
  EXPECT_EQ(again.plan.worlds[0], found.worlds[1]);
  EXPECT_THAT(again.plan.worlds[0].ranks, ElementsAre(1, 2));
  ASSERT_EQ(again.plan.cells.size(), 1u);
  EXPECT_THAT(names(again.plan.cells[0]), ElementsAre("base", "ring"));
}

TEST_F(UnlikeRanksConfirmLaunchTest, TheGroupsOfANodeAreFoundAgain) {
  const Capability without = availability.capability_of(0);
  const Capability with = availability.capability_of(1);
  availability =
      merge_capabilities(std::vector{without, with, with, without, without, without, with, with},
                         std::vector{0, 0, 0, 0, 1, 1, 1, 1});
  SweepSpec spec{.collectives = {Collective::all_reduce},
                 .sizes = parse_sizes("1KiB"),
                 .partial_worlds = true,
                 .null_test = false};
  found = make_plan(spec, availability, implementations, "env");
  int groups = 0;
  for (const Cell& cell : found.cells) {
    const PlannedWorld& world = found.worlds[static_cast<std::size_t>(cell.world)];
    groups += static_cast<int>(world.topology.nodes == 1);
    const Decision decision = decided(cell, parse_variant("slow"));
    members = {{.sweep_uuid = decision.sweep_uuid,
                .topology_digest = digest_of_value(decision.key.topology),
                .members = world.members}};
    const ConfirmLaunchPlan again = confirm_launch(decision);
    EXPECT_THAT(again.left_out, ElementsAre());
    ASSERT_EQ(again.plan.worlds.size(), 1u);
    EXPECT_EQ(again.plan.worlds[0], world);
  }
  EXPECT_EQ(groups, 2);
}

TEST_F(UnlikeRanksConfirmLaunchTest, UnlikeWorldsOfOneTopologyNeedLaunchesOfTheirOwn) {
  // Another sweep measured the ranks 0 and 1 at another size.
  Decision pair = decided(found.cells.at(1), parse_variant("ring"));
  Decision other = decided(found.cells.at(1), parse_variant("slow"));
  other.key.problem.message_size = {2048};
  other.sweep_uuid = "another";
  const std::string topology = digest_of_value(pair.key.topology);
  members = {{.sweep_uuid = pair.sweep_uuid,
              .topology_digest = topology,
              .members = found.worlds[1].members},
             {.sweep_uuid = "another",
              .topology_digest = topology,
              .members = members_of(availability, std::vector{0, 1})}};
  const std::string digest = "env";
  const ConfirmLaunchPlan both = make_confirm_launch_plan(std::vector{pair, other},
                                                          {.availability = availability,
                                                           .implementations = implementations,
                                                           .environment_digest = digest,
                                                           .quarantined = {},
                                                           .compositions = {},
                                                           .members = members},
                                                          100ms, 7);
  EXPECT_EQ(both.plan.cells.size(), 1u);
  EXPECT_THAT(both.left_out, ElementsAre(HasSubstr("with the same topology")));
}

TEST_F(UnlikeRanksConfirmLaunchTest, AComposedWinnerIsMeasuredAgainAsItWas) {
  const auto composed = std::ranges::find_if(found.cells.at(0).variants, [](const auto& planned) {
    return planned.composition.has_value();
  });
  ASSERT_NE(composed, found.cells[0].variants.end());
  const Decision decision = decided(found.cells[0], composed->variant);
  const ConfirmLaunchPlan again = confirm_launch(decision, {*composed->composition});
  EXPECT_THAT(again.left_out, ElementsAre());
  ASSERT_EQ(again.plan.cells.size(), 1u);
  ASSERT_EQ(again.plan.cells[0].variants.size(), 2u);
  EXPECT_EQ(again.plan.cells[0].variants[1], *composed);
  EXPECT_THAT(confirm_launch(decision).left_out,
              ElementsAre(HasSubstr("the database does not have its parts")));
}

}  // namespace
}  // namespace colltune
