// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/sweep_plan.h"
#include "colltune/sweep/flight_recorder.h"
#include "colltune/sweep/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "colltune/vocabulary/canonical.h"
#include "error_of.h"
#include "fakes.h"

namespace colltune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

Capability able(std::vector<std::string> features = {}, std::string cores = "8",
                std::string architecture = "x86_64") {
  Capability capability{.architecture = std::move(architecture), .features = {}};
  capability.features["cpu.cores"] = std::move(cores);
  for (auto& feature : features) capability.features[std::move(feature)] = "";
  return capability;
}

Availability launch(int nodes, int ranks_per_node, const Capability& capability = able()) {
  std::vector<Capability> ranks;
  std::vector<int> node_of_rank;
  for (int node = 0; node < nodes; ++node)
    for (int rank = 0; rank < ranks_per_node; ++rank) {
      ranks.push_back(capability);
      node_of_rank.push_back(node);
    }
  return merge_capabilities(ranks, node_of_rank);
}

SweepSpec spec_of(const std::string& sizes = "1KiB") {
  return {.collectives = {Collective::all_reduce}, .sizes = parse_sizes(sizes), .null_test = false};
}

std::vector<std::string> names(const Cell& cell) {
  std::vector<std::string> all;
  for (const auto& planned : cell.variants) all.push_back(to_string(planned.variant));
  return all;
}

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

TEST(Plan, ExpandsTheProductInOrder) {
  const auto implementations =
      fakes::make({{.name = "ar"}, {.name = "ag", .collective = Collective::all_gather}});
  SweepSpec spec = spec_of("64,1KiB");
  spec.collectives = {Collective::all_gather, Collective::all_reduce};
  spec.data_types = {DataType::f32, DataType::f64};
  spec.reduce_ops = {ReduceOp::max, ReduceOp::sum};
  spec.in_place.on = true;
  const SweepPlan plan = make_plan(spec, launch(1, 2), implementations, "env");
  // all_gather ignores the ops: 2 types x 2 modes x 2 sizes; all_reduce: 2 ops more.
  ASSERT_EQ(plan.cells.size(), 8u + 16u);
  EXPECT_EQ(describe(plan.cells[0].key.problem), "all_gather f32 64");
  EXPECT_EQ(describe(plan.cells[1].key.problem), "all_gather f32 1KiB");
  EXPECT_EQ(describe(plan.cells[2].key.problem), "all_gather f32 64 in-place");
  EXPECT_EQ(describe(plan.cells[8].key.problem), "all_reduce f32 max 64");
  EXPECT_EQ(describe(plan.cells[23].key.problem), "all_reduce f64 sum 1KiB in-place");
  EXPECT_EQ(plan.cells[0].key.environment_digest, "env");
  EXPECT_EQ(count_trials(plan), 24u);
  for (const auto& cell : plan.cells) EXPECT_NO_THROW(check(cell.key.problem));
}

TEST(Plan, IsPure) {
  const auto implementations = fakes::make({{.name = "a"}, {.name = "b", .is_baseline = true}});
  const auto spec = spec_of("8..64KiB x2");
  const auto ranks = launch(2, 2);
  EXPECT_EQ(make_plan(spec, ranks, implementations, "e"),
            make_plan(spec, ranks, implementations, "e"));
}

TEST(Plan, BaselineComesFirstAndVariantsCarryWhatTheirImplementationSays) {
  const auto implementations =
      fakes::make({{.name = "a", .variants = {parse_variant("a{x=1}"), parse_variant("a{x=2}")}},
                   {.name = "z", .family = "mpi", .is_baseline = true, .is_emulated = true}});
  const SweepPlan plan = make_plan(spec_of(), launch(1, 2), implementations, "e");
  ASSERT_EQ(plan.cells.size(), 1u);
  EXPECT_THAT(names(plan.cells[0]), ElementsAre("z", "a{x=1}", "a{x=2}"));
  const PlannedVariant& baseline = plan.cells[0].variants[0];
  EXPECT_TRUE(baseline.is_baseline);
  EXPECT_TRUE(baseline.is_emulated);
  EXPECT_EQ(baseline.family, "mpi");
  EXPECT_EQ(baseline.protocol, "protocol of z");
  EXPECT_EQ(baseline.rounding, Rounding::once);
  EXPECT_EQ(baseline.numeric_class, NumericClass::rank_order);
  EXPECT_EQ(baseline.limits.min_ranks, 1);
  EXPECT_GT(baseline.call_limit, 0ns);
  EXPECT_THAT(baseline.supporting_kinds, ElementsAre(0));
}

TEST(Plan, SizesAreRoundedAndMerged) {
  const auto implementations = fakes::make({{.name = "ag", .collective = Collective::all_gather}});
  SweepSpec spec = spec_of("8,100,101,103");
  spec.collectives = {Collective::all_gather};
  const SweepPlan plan = make_plan(spec, launch(1, 3), implementations, "e");
  // Three ranks of f32: whole multiples of 12 bytes.
  ASSERT_EQ(plan.cells.size(), 1u);
  EXPECT_EQ(plan.cells[0].key.problem.message_size, Bytes{96});
  ASSERT_EQ(plan.skipped.size(), 1u);
  EXPECT_EQ(plan.skipped[0].problem.message_size, Bytes{8});
  EXPECT_THAT(plan.skipped[0].reason, HasSubstr("8 is less than one f32 element for each of 3"));
}

TEST(Plan, SkipsWithTheReasonOfTheFirstRankThatLacksIt) {
  const auto needs_avx = [](const Problem&, const Topology&, const Capability& capability,
                            const Variant&) {
    return capability.has("isa.avx2") ? Support::yes() : Support::no("needs AVX2");
  };
  const auto implementations =
      fakes::make({{.name = "avx", .supports = needs_avx}, {.name = "base", .is_baseline = true}});
  const Availability unlike = merge_capabilities(
      std::vector{able({"isa.avx2"}), able({"isa.avx2"}), able(), able()}, std::vector{0, 0, 0, 0});
  const SweepPlan plan = make_plan(spec_of(), unlike, implementations, "e");
  ASSERT_EQ(plan.cells.size(), 1u);
  EXPECT_THAT(names(plan.cells[0]), ElementsAre("base"));
  // Neither can they do it by groups: nothing else was chosen.
  ASSERT_EQ(plan.skipped.size(), 2u);
  EXPECT_EQ(plan.skipped[1].variant, "grouped.all_reduce");
  EXPECT_THAT(plan.skipped[1].reason, HasSubstr("no implementation that was chosen does reduce"));
  EXPECT_EQ(plan.skipped[0].variant, "avx");
  EXPECT_EQ(plan.skipped[0].reason, "needs AVX2 (rank 2)");
  EXPECT_THAT(plan.skipped[0].supporting_kinds, ElementsAre(unlike.kind_of_rank[0]));
  // In a sub-world where all ranks have it, it is measured.
  SweepSpec sub = spec_of();
  sub.worlds = {{.nodes = 1, .ranks_per_node = 2}};
  EXPECT_THAT(names(make_plan(sub, unlike, implementations, "e").cells.at(0)),
              ElementsAre("base", "avx"));
}

TEST(Plan, WhatIsMaskedOnARankIsSkippedThere) {
  const auto implementations = fakes::make(
      {{.name = "cpu.ring"}, {.name = "cpu.tree"}, {.name = "base", .is_baseline = true}});
  Capability masked = able();
  masked.features["without.cpu.r*"] = "";
  const SweepPlan plan =
      make_plan(spec_of(), merge_capabilities(std::vector{able(), masked}, std::vector{0, 0}),
                implementations, "e");
  EXPECT_THAT(names(plan.cells.at(0)), ElementsAre("base", "cpu.tree"));
  ASSERT_EQ(plan.skipped.size(), 1u);
  EXPECT_EQ(plan.skipped[0].variant, "cpu.ring");
  EXPECT_EQ(plan.skipped[0].reason, "masked by impl=cpu.r* (rank 1)");
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

TEST(Plan, AProblemThatNobodyCanRunIsSkipped) {
  SweepSpec spec = spec_of();
  spec.collectives = {Collective::scatter};
  const SweepPlan plan = make_plan(spec, launch(1, 2), fakes::make({{.name = "ar"}}), "e");
  EXPECT_TRUE(plan.cells.empty());
  ASSERT_EQ(plan.skipped.size(), 1u);
  EXPECT_EQ(plan.skipped[0].variant, "");
  EXPECT_THAT(plan.skipped[0].reason, HasSubstr("no implementation"));
}

TEST(Plan, QuarantinedVariantsAreSkippedForTheirKeyAlone) {
  const auto implementations = fakes::make({{.name = "a"}, {.name = "b"}});
  const SweepSpec spec = spec_of("1KiB,2KiB");
  const SweepPlan all = make_plan(spec, launch(1, 2), implementations, "e");
  const std::vector<Quarantined> quarantined{{.key_digest = digest_of_value(all.cells.at(0).key),
                                              .variant = "b",
                                              .reason = "crashed twice"}};
  const SweepPlan plan =
      make_plan(spec, launch(1, 2), implementations, "e", {.quarantined = quarantined});
  EXPECT_THAT(names(plan.cells.at(0)), ElementsAre("a"));
  EXPECT_THAT(names(plan.cells.at(1)), ElementsAre("a", "b"));
  ASSERT_EQ(plan.skipped.size(), 1u);
  EXPECT_EQ(plan.skipped[0].variant, "b");
  EXPECT_EQ(plan.skipped[0].reason, "quarantined: crashed twice");
  EXPECT_EQ(plan.skipped[0].problem, all.cells.at(0).key.problem);
  // In another environment it is another key.
  EXPECT_TRUE(make_plan(spec, launch(1, 2), implementations, "f", {.quarantined = quarantined})
                  .skipped.empty());
}

TEST(Plan, AProblemWhoseVariantsAreAllInQuarantineIsSkipped) {
  const auto implementations = fakes::make({{.name = "a"}});
  const SweepPlan all = make_plan(spec_of(), launch(1, 2), implementations, "e");
  const std::vector<Quarantined> quarantined{
      {.key_digest = digest_of_value(all.cells.at(0).key), .variant = "a", .reason = "hangs"}};
  const SweepPlan plan =
      make_plan(spec_of(), launch(1, 2), implementations, "e", {.quarantined = quarantined});
  EXPECT_TRUE(plan.cells.empty());
  EXPECT_EQ(plan.skipped.at(0).reason, "quarantined: hangs");
}

TEST(Plan, AVariantWhoseNameNoFlightRecordHoldsIsSkipped) {
  const auto named = [](std::size_t bytes) {
    // "a{p=vvv…}"
    return Variant{"a",
                   {{.name = "p", .value = std::string(bytes - std::string("a{p=}").size(), 'v')}}};
  };
  const auto implementations = fakes::make(
      {{.name = "a",
        .variants = {named(longest_recorded_variant), named(longest_recorded_variant + 1)}}});
  const SweepPlan plan = make_plan(spec_of(), launch(1, 2), implementations, "e");
  ASSERT_EQ(plan.cells.at(0).variants.size(), 1u);
  EXPECT_EQ(plan.cells[0].variants[0].variant, named(longest_recorded_variant));
  ASSERT_EQ(plan.skipped.size(), 1u);
  EXPECT_THAT(plan.skipped[0].reason, HasSubstr("take 385 bytes; 384 are recorded"));
}

TEST(Plan, CarriesTheSoak) {
  SweepSpec spec = spec_of();
  spec.soak = {.runs = 7, .time = 3ms};
  const auto implementations = fakes::make({{.name = "a"}});
  EXPECT_EQ(make_plan(spec, launch(1, 2), implementations, "e").soak, spec.soak);
}

TEST(Plan, TheBaselineHasATwinBesideIt) {
  const auto implementations = fakes::make({{.name = "a"}, {.name = "z", .is_baseline = true}});
  SweepSpec spec = spec_of("1KiB,2KiB");
  spec.null_test = true;
  const SweepPlan plan = make_plan(spec, launch(1, 2), implementations, "e");
  EXPECT_EQ(count_trials(plan), 6u);
  for (const Cell& cell : plan.cells) {
    EXPECT_THAT(names(cell), ElementsAre("z", "z", "a"));
    EXPECT_TRUE(cell.variants[0].is_baseline);
    EXPECT_FALSE(cell.variants[0].is_twin);
    EXPECT_TRUE(cell.variants[1].is_twin);
    // Whoever looks for the baseline finds one.
    EXPECT_FALSE(cell.variants[1].is_baseline);
    EXPECT_FALSE(cell.variants[2].is_twin);
  }
  EXPECT_THAT(render_plan(plan), HasSubstr("1KiB: z* z** a"));
}

TEST(Plan, WithoutABaselineThereIsNoTwinAndAQuarantinedOneTakesItsTwinAlong) {
  SweepSpec spec = spec_of();
  spec.null_test = true;
  EXPECT_THAT(names(make_plan(spec, launch(1, 2), fakes::make({{.name = "a"}}), "e").cells.at(0)),
              ElementsAre("a"));
  const auto implementations = fakes::make({{.name = "a"}, {.name = "z", .is_baseline = true}});
  const SweepPlan all = make_plan(spec, launch(1, 2), implementations, "e");
  const std::vector<Quarantined> quarantined{
      {.key_digest = digest_of_value(all.cells.at(0).key), .variant = "z", .reason = "hangs"}};
  const SweepPlan plan =
      make_plan(spec, launch(1, 2), implementations, "e", {.quarantined = quarantined});
  EXPECT_THAT(names(plan.cells.at(0)), ElementsAre("a"));
}

TEST(Plan, HeldOutSizesComeAfterAllOthers) {
  SweepSpec spec = spec_of("1KiB,4KiB");
  spec.collectives = {Collective::all_reduce, Collective::all_gather};
  spec.holdout_sizes = parse_sizes("2KiB,1025");
  const auto implementations =
      fakes::make({{.name = "ar"}, {.name = "ag", .collective = Collective::all_gather}});
  const SweepPlan plan = make_plan(spec, launch(1, 2), implementations, "e");
  std::vector<std::string> cells;
  for (const Cell& cell : plan.cells)
    cells.push_back(describe(cell.key.problem) + (cell.is_holdout ? " held out" : ""));
  EXPECT_THAT(cells,
              ElementsAre("all_reduce f32 sum 1KiB", "all_reduce f32 sum 4KiB",
                          "all_gather f32 1KiB", "all_gather f32 4KiB",
                          "all_reduce f32 sum 2KiB held out", "all_gather f32 2KiB held out"));
  // 1025 bytes are 1 KiB of whole elements.
  ASSERT_EQ(plan.skipped.size(), 2u);
  EXPECT_THAT(plan.skipped[0].reason, HasSubstr("is one of the sizes"));
}

TEST(Plan, CarriesHowToMeasureAndToDecide) {
  SweepSpec spec = spec_of();
  spec.input_mode = InputMode::hot;
  spec.synchronization = Synchronization::window;
  spec.decision = {.minimum_margin = 0.5, .confidence = 0.75};
  const SweepPlan plan = make_plan(spec, launch(1, 2), fakes::make({{.name = "a"}}), "e");
  EXPECT_EQ(plan.input_mode, InputMode::hot);
  EXPECT_EQ(plan.synchronization, Synchronization::window);
  EXPECT_EQ(plan.decision, spec.decision);
}

TEST(Plan, RegisteredBuffersNeedOneNode) {
  SweepSpec spec = spec_of();
  spec.registered = {.off = true, .on = true};
  const auto implementations = fakes::make({{.name = "ar"}});
  EXPECT_EQ(make_plan(spec, launch(1, 2), implementations, "e").cells.size(), 2u);
  const SweepPlan apart = make_plan(spec, launch(2, 1), implementations, "e");
  EXPECT_EQ(apart.cells.size(), 1u);
  ASSERT_EQ(apart.skipped.size(), 1u);
  EXPECT_THAT(apart.skipped[0].reason, HasSubstr("one node"));
}

TEST(Plan, PatternsChooseImplementations) {
  const auto implementations = fakes::make(
      {{.name = "cpu.one"}, {.name = "cpu.two"}, {.name = "mpi.ring"}, {.name = "mpi.x"}});
  const auto chosen = [&](std::vector<std::string> include, std::vector<std::string> exclude) {
    SweepSpec spec = spec_of();
    spec.include = std::move(include);
    spec.exclude = std::move(exclude);
    return names(make_plan(spec, launch(1, 2), implementations, "e").cells.at(0));
  };
  EXPECT_THAT(chosen({"cpu.*"}, {}), ElementsAre("cpu.one", "cpu.two"));
  EXPECT_THAT(chosen({}, {"*.t?o", "mpi.ring"}), ElementsAre("cpu.one", "mpi.x"));
  EXPECT_THAT(chosen({"*o*"}, {"cpu.one"}), ElementsAre("cpu.two"));
  EXPECT_THAT(error_of([&] { (void)chosen({"gpu.*"}, {}); }),
              AllOf(HasSubstr("/implementations/include"), HasSubstr("'gpu.*' matches no"),
                    HasSubstr("cpu.one, cpu.two, mpi.ring, mpi.x")));
  EXPECT_THAT(error_of([&] { (void)chosen({}, {"cpu"}); }),
              HasSubstr("/implementations/exclude: the pattern 'cpu'"));
}

TEST(Plan, ParametersReplaceTheSearchSpace) {
  const auto refuses_odd = [](const Problem&, const Topology&, const Capability&,
                              const Variant& variant) {
    return number(variant, "n") % 2 == 0 ? Support::yes() : Support::no("n must be even");
  };
  const auto implementations =
      fakes::make({{.name = "a",
                    .variants = {parse_variant("a{mode=x,n=2}"), parse_variant("a{mode=y,n=4}")},
                    .supports = refuses_odd}});
  SweepSpec spec = spec_of();
  spec.parameters = {{.pattern = "a", .parameter = "n", .values = {"8", "7", "8"}},
                     {.pattern = "*", .parameter = "mode", .values = {"z"}}};
  const SweepPlan plan = make_plan(spec, launch(1, 2), implementations, "e");
  ASSERT_EQ(plan.cells.size(), 1u);
  EXPECT_THAT(names(plan.cells[0]), ElementsAre("a{mode=z,n=8}"));
  ASSERT_EQ(plan.skipped.size(), 1u);
  EXPECT_EQ(plan.skipped[0].variant, "a{mode=z,n=7}");
  EXPECT_EQ(plan.skipped[0].reason, "n must be even");

  spec.parameters = {{.pattern = "a", .parameter = "segment", .values = {"1"}}};
  EXPECT_THAT(error_of([&] { (void)make_plan(spec, launch(1, 2), implementations, "e"); }),
              AllOf(HasSubstr("/parameters/a"), HasSubstr("unknown parameter 'segment'"),
                    HasSubstr("allowed are mode, n")));
  spec.parameters = {{.pattern = "b*", .parameter = "n", .values = {"1"}}};
  EXPECT_THAT(error_of([&] { (void)make_plan(spec, launch(1, 2), implementations, "e"); }),
              HasSubstr("/parameters: the pattern 'b*' matches no implementation"));
}

TEST(Plan, WorldLargerThanTheLaunchIsAnError) {
  SweepSpec spec = spec_of();
  spec.worlds = {{.nodes = 1, .ranks_per_node = 2}, {.nodes = 1, .ranks_per_node = 9}};
  EXPECT_THAT(
      error_of([&] { (void)make_plan(spec, launch(1, 2), fakes::make({{.name = "a"}}), "e"); }),
      HasSubstr("larger than the launch"));
}

TEST(Plan, TooManyTrialsAreRefused) {
  SweepSpec spec = spec_of();
  spec.sizes.clear();
  for (std::uint64_t size = 1; size <= 600'000; ++size) spec.sizes.push_back({4 * size});
  spec.in_place.on = true;
  EXPECT_THAT(
      error_of([&] { (void)make_plan(spec, launch(1, 2), fakes::make({{.name = "a"}}), "e"); }),
      AllOf(HasSubstr("1200000 keys"), HasSubstr("allowed are 1000000")));
}

TEST(Plan, SharedPlanIsTheSameOnAllRanksAndSoIsAnError) {
  const auto implementations = fakes::make({{.name = "a"}, {.name = "b", .is_baseline = true}});
  const SweepPlan expected = make_plan(spec_of("8..1KiB x2"), launch(1, 3), implementations, "e");
  std::vector<SweepPlan> plans(3);
  fakes::on_ranks(3, 20s, [&](ControlPlane& control, Communicator& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    // What other ranks pass does not matter.
    plans[rank] = share_plan(control, rank == 0 ? spec_of("8..1KiB x2") : SweepSpec{}, launch(1, 3),
                             implementations, "e");
    SweepSpec bad = spec_of();
    bad.include = {"nothing"};
    EXPECT_THROW((void)share_plan(control, rank == 0 ? bad : SweepSpec{}, launch(1, 3),
                                  implementations, "e"),
                 Error);
  });
  for (const auto& plan : plans) EXPECT_EQ(plan, expected);
}

TEST(LeastDuration, CountsTheCallsOfVariantsThatSettle) {
  constexpr std::chrono::milliseconds call{1};
  constexpr int limit_over_expected = 10'000;
  SweepPlan plan{.cells = {{.variants = {{.call_limit = limit_over_expected * call}}}},
                 .passes = 2};
  const MeasurePolicy policy;
  const auto settled = least_duration(plan, policy);
  plan.cells[0].variants[0].settling_calls = policy.warm_up_runs - 1;
  EXPECT_EQ(least_duration(plan, policy), settled) << "as many as are made anyway";
  plan.cells[0].variants[0].settling_calls += 100;
  EXPECT_EQ(least_duration(plan, policy), settled + plan.passes * 100 * call);
}

TEST(RenderPlan, ListsWorldsVariantsAndReasons) {
  const auto never = [](const Problem&, const Topology&, const Capability&, const Variant&) {
    return Support::no("not Open MPI");
  };
  const auto implementations = fakes::make(
      {{.name = "mpi.ring", .supports = never}, {.name = "mpi.own", .is_baseline = true}});
  SweepSpec spec = spec_of("1KiB,2KiB");
  spec.budget = 1500ms;
  spec.passes = 7;
  const std::string text = render_plan(make_plan(spec, launch(1, 2), implementations, "e"));
  EXPECT_THAT(text, HasSubstr("2 trials of 2 problems on 1 world(s)"));
  EXPECT_THAT(text, HasSubstr("7 pass(es), seed 1"));
  EXPECT_THAT(text, HasSubstr("budget 1.5 s"));
  EXPECT_THAT(text, HasSubstr("1x2 x86_64  all_reduce f32 sum 1KiB: mpi.own*"));
  EXPECT_THAT(text, HasSubstr("mpi.ring: not Open MPI  (1x2 x86_64  all_reduce f32 sum 1KiB and "
                              "1 more)"));
}

}  // namespace
}  // namespace colltune
