// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What ranks make worlds of: their kinds, their topologies, and those that are unlike.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>

#include "error_of.h"
#include "fakes.h"
#include "plan_fixture.h"

namespace colltune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

TEST(Availability, RanksOfEqualCapabilityAreOneKind) {
  const Capability a = able({"isa.avx2"});
  const Capability b = able({"isa.avx512"});
  const Availability merged = merge_capabilities(std::vector{b, a, b, a}, std::vector{0, 0, 1, 1});
  EXPECT_THAT(merged.kinds, ElementsAre(a, b));
  EXPECT_THAT(merged.kind_of_rank, ElementsAre(1, 0, 1, 0));
  EXPECT_EQ(merged.capability_of(0), b);
}

TEST(Availability, NumbersDoNotDependOnTheOrderOfRanks) {
  const std::vector ranks{able({"a"}), able({"b"}), able({"c"})};
  std::vector<Capability> order = ranks;
  std::vector nodes{0, 0, 0};
  const auto kinds = merge_capabilities(ranks, nodes).kinds;
  std::ranges::sort(order, std::greater{});
  EXPECT_EQ(merge_capabilities(order, nodes).kinds, kinds);
}

TEST(Availability, ExchangeGivesTheSameOnAllRanks) {
  std::vector<Availability> got(4);
  fakes::on_ranks(4, 20s,
                  [&](ControlPlane& control, Communicator& world) {
                    got[static_cast<std::size_t>(world.rank())] = exchange_capabilities(
                        control, world, able({world.rank() % 2 == 0 ? "even" : "odd"}));
                  },
                  {0, 1, 0, 1});
  EXPECT_THAT(got[0].kind_of_rank, ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(got[0].node_of_rank, ElementsAre(0, 1, 0, 1));
  EXPECT_TRUE(got[0].capability_of(3).has("odd"));
  for (const auto& other : got) EXPECT_EQ(other, got[0]);
}

TEST(Worlds, AreNodeMajor) {
  const Availability scattered =
      merge_capabilities(std::vector(6, able()), std::vector{0, 1, 0, 1, 0, 1});
  EXPECT_THAT(node_major_ranks(scattered), ElementsAre(0, 2, 4, 1, 3, 5));
  EXPECT_THAT(ranks_of_world(scattered, {.nodes = 2, .ranks_per_node = 2}),
              ElementsAre(0, 2, 1, 3));
  EXPECT_THAT(ranks_of_world(scattered, {.nodes = 1, .ranks_per_node = 3}), ElementsAre(0, 2, 4));
}

TEST(Worlds, LargerThanTheLaunchIsAnErrorThatNamesBoth) {
  const Availability small = launch(2, 2);
  EXPECT_THAT(error_of([&] { (void)ranks_of_world(small, {.nodes = 3, .ranks_per_node = 1}); }),
              AllOf(HasSubstr("3 node(s) with 1 rank(s) each"),
                    HasSubstr("2 node(s) with 4 rank(s) in all")));
  EXPECT_THAT(error_of([&] { (void)ranks_of_world(small, {.nodes = 2, .ranks_per_node = 3}); }),
              AllOf(HasSubstr("2 node(s) with 3 rank(s) each"), HasSubstr("2 rank(s) on node 0")));
}

TEST(Topologies, UniformWorldOnOneNode) {
  const Availability ranks = launch(1, 4);
  const Topology topology = topology_of(ranks, node_major_ranks(ranks));
  EXPECT_EQ(topology, (Topology{.nodes = 1,
                                .ranks_per_node = 4,
                                .ranks = 4,
                                .architectures = {{"x86_64", 4}},
                                .layout_digest = "uniform",
                                .interconnect = "shared-memory",
                                .placement = Placement::dedicated}));
}

TEST(Topologies, SeveralNodesAreANetwork) {
  const Availability ranks = launch(2, 2);
  const Topology topology = topology_of(ranks, node_major_ranks(ranks));
  EXPECT_EQ(topology.nodes, 2);
  EXPECT_EQ(topology.ranks_per_node, 2);
  EXPECT_EQ(topology.interconnect, "network");
  EXPECT_EQ(topology.layout_digest, "uniform");
}

TEST(Topologies, UnevenOrUnlikeRanksHaveALayoutOfTheirOwn) {
  const Availability uneven = merge_capabilities(std::vector(3, able()), std::vector{0, 0, 1});
  const Topology three = topology_of(uneven, node_major_ranks(uneven));
  EXPECT_EQ(three.ranks_per_node, 2);
  EXPECT_EQ(three.layout_digest.size(), 32u);

  const Capability other = able({}, "8", "aarch64");
  const Availability unlike = merge_capabilities(std::vector{able(), other}, std::vector{0, 0});
  const Topology mixed = topology_of(unlike, node_major_ranks(unlike));
  EXPECT_EQ(mixed.architectures, (std::vector<ArchitectureCount>{{"aarch64", 1}, {"x86_64", 1}}));
  EXPECT_NE(mixed.layout_digest, "uniform");
  EXPECT_NE(mixed.layout_digest, three.layout_digest);
}

TEST(Topologies, MoreRanksThanCoresAreOversubscribed) {
  const Availability crowded = launch(2, 4, able({}, "2"));
  const auto placement = [&](int nodes, int ranks) {
    return topology_of(crowded, ranks_of_world(crowded, {nodes, ranks})).placement;
  };
  EXPECT_EQ(placement(2, 3), Placement::oversubscribed);
  EXPECT_EQ(placement(2, 2), Placement::dedicated);
  // A rank that does not know its cores is not accused.
  const Availability unknown = launch(1, 4, able({}, ""));
  EXPECT_EQ(topology_of(unknown, node_major_ranks(unknown)).placement, Placement::dedicated);
}

TEST(Plan, DeclaredTagsAndMasksMakeAnotherWorld) {
  Capability leader = able();
  leader.features["tag.leader"] = "";
  const std::vector nodes{0, 0};
  const auto digest_of = [&](const Capability& first, const Capability& second) {
    const Availability both = merge_capabilities(std::vector{first, second}, nodes);
    return topology_of(both, std::vector{0, 1}).layout_digest;
  };
  EXPECT_EQ(digest_of(able(), able()), "uniform");
  EXPECT_NE(digest_of(leader, able()), "uniform");
  EXPECT_NE(digest_of(leader, able()), digest_of(able(), leader));
  EXPECT_NE(digest_of(leader, leader), "uniform");
  EXPECT_EQ(digest_of(leader, able()), digest_of(leader, able()));
}

TEST(Plan, RanksOnUnlikeNetworksAreAnotherWorld) {
  const auto on = [](const char* fabric) {
    Capability capability = able();
    capability.features["net.fabric"] = fabric;
    return capability;
  };
  const auto digest_of = [&](const Capability& first, const Capability& second) {
    const Availability both = merge_capabilities(std::vector{first, second}, std::vector{0, 1});
    return topology_of(both, std::vector{0, 1}).layout_digest;
  };
  EXPECT_EQ(digest_of(on("1x infiniband 400"), on("1x infiniband 400")), "uniform");
  EXPECT_NE(digest_of(on("1x infiniband 400"), on("2x infiniband 400")), "uniform");
  EXPECT_NE(digest_of(on("1x infiniband 400"), on("2x infiniband 400")),
            digest_of(on("1x infiniband 400"), on("4x infiniband 400")));
}

TEST(Plan, RanksThatCanDoMoreBecomeAWorldOfTheirOwn) {
  const auto needs = [](const char* feature) {
    return
        [feature](const Problem&, const Topology&, const Capability& capability, const Variant&) {
          return capability.has(feature) ? Support::yes() : Support::no("lacks it");
        };
  };
  const auto implementations = fakes::make({{.name = "all", .is_baseline = true},
                                            {.name = "few", .supports = needs("x")},
                                            {.name = "more", .supports = needs("y")},
                                            {.name = "one", .supports = needs("z")}});
  // Ranks 2 and 3 have x and y, rank 1 has y and z, rank 0 neither.
  const Availability unlike =
      merge_capabilities(std::vector{able(), able({"y", "z"}), able({"x", "y"}), able({"x", "y"})},
                         std::vector{0, 0, 0, 0});
  SweepSpec spec = spec_of();
  EXPECT_EQ(make_plan(spec, unlike, implementations, "e").worlds.size(), 1u);
  spec.partial_worlds = true;
  spec.holdout_sizes = parse_sizes("2KiB");
  const SweepPlan plan = make_plan(spec, unlike, implementations, "e");
  ASSERT_EQ(plan.worlds.size(), 3u);
  std::map<std::vector<int>, std::vector<std::string>> variants;
  for (const Cell& cell : plan.cells)
    if (!cell.is_holdout)
      variants[plan.worlds[static_cast<std::size_t>(cell.world)].ranks] = names(cell);
  EXPECT_THAT((variants[{0, 1, 2, 3}]), ElementsAre("all"));
  EXPECT_THAT((variants[{2, 3}]), ElementsAre("all", "few", "more"));
  EXPECT_THAT((variants[{1, 2, 3}]), ElementsAre("all", "more"));
  EXPECT_EQ(plan.cells.size(), 6u);
  EXPECT_TRUE(plan.cells.back().is_holdout);
  // A world that the user named is not added again.
  spec.worlds = {{.nodes = 1, .ranks_per_node = 4}};
  const Availability first_two = merge_capabilities(
      std::vector{able({"x", "y"}), able({"x", "y"}), able(), able()}, std::vector{0, 0, 0, 0});
  const auto ranks_of = [](const SweepPlan& of) {
    std::vector<std::vector<int>> ranks;
    for (const PlannedWorld& world : of.worlds) ranks.push_back(world.ranks);
    return ranks;
  };
  EXPECT_THAT(ranks_of(make_plan(spec, first_two, implementations, "e")),
              ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(0, 1), ElementsAre(2, 3)));
  spec.worlds.push_back({.nodes = 1, .ranks_per_node = 2});
  EXPECT_THAT(ranks_of(make_plan(spec, first_two, implementations, "e")),
              ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(0, 1), ElementsAre(2, 3)));
}

TEST(Plan, RanksThatLackWhatOthersHaveBecomeWorldsTooAndSoDoTheirGroupsOnOneNode) {
  const auto implementations =
      fakes::make({{.name = "all", .is_baseline = true},
                   {.name = "few",
                    .supports = [](const Problem&, const Topology&, const Capability& capability,
                                   const Variant&) {
                      return capability.has("x") ? Support::yes() : Support::no("lacks it");
                    }}});
  SweepSpec spec = spec_of("1KiB,4KiB");
  spec.partial_worlds = true;
  // On each of 64 nodes two ranks have x and three lack it; on the last one nobody has it.
  std::vector<Capability> ranks;
  std::vector<int> nodes;
  for (int node = 0; node < 64; ++node)
    for (int rank = 0; rank < 5; ++rank) {
      ranks.push_back(rank < 2 && node < 63 ? able({"x"}) : able());
      nodes.push_back(node);
    }
  const Availability unlike = merge_capabilities(ranks, nodes);
  const SweepPlan plan = make_plan(spec, unlike, implementations, "e");
  // However many nodes there are, groups of a kind and a size are one world.
  std::map<std::pair<int, int>, std::vector<const PlannedWorld*>> worlds;
  for (const PlannedWorld& world : plan.worlds)
    worlds[{world.topology.nodes, world.topology.ranks}].push_back(&world);
  ASSERT_EQ(plan.worlds.size(), 6u);
  EXPECT_EQ((worlds[{64, 320}].size()), 1u);
  EXPECT_EQ((worlds[{63, 126}].size()), 1u);
  EXPECT_EQ((worlds[{64, 194}].size()), 1u);
  ASSERT_EQ((worlds[{1, 2}].size()), 1u);
  EXPECT_THAT((worlds[{1, 2}][0]->ranks), ElementsAre(0, 1));
  ASSERT_EQ((worlds[{1, 3}].size()), 1u);
  EXPECT_THAT((worlds[{1, 3}][0]->ranks), ElementsAre(2, 3, 4));
  EXPECT_EQ((worlds[{1, 5}].size()), 1u);
  std::set<TuningKey> keys;
  for (const Cell& cell : plan.cells) keys.insert(cell.key);
  EXPECT_EQ(keys.size(), 12u);
  // Among ranks that are alike there is nothing to add.
  EXPECT_EQ(make_plan(spec, launch(2, 2), implementations, "e").worlds.size(), 1u);
}

TEST(Plan, WorldsThatDifferInWhatNoTopologyTellsApartAreTheSameOnAnyNode) {
  const Availability unlike = merge_capabilities(
      std::vector{able({"x"}), able({"x"}), able(), able(), able()}, std::vector{0, 0, 1, 1, 2});
  EXPECT_EQ(digest_of_capabilities(unlike, std::vector{2, 4}),
            digest_of_capabilities(unlike, std::vector{3, 4}));
  const Availability moved = merge_capabilities(
      std::vector{able(), able(), able({"x"}), able({"x"}), able()}, std::vector{0, 0, 1, 1, 2});
  EXPECT_EQ(digest_of_capabilities(unlike, std::vector{0, 1}),
            digest_of_capabilities(moved, std::vector{2, 3}));
  EXPECT_NE(digest_of_capabilities(unlike, std::vector{0, 1}),
            digest_of_capabilities(moved, std::vector{0, 1}));
}

}  // namespace
}  // namespace colltune
