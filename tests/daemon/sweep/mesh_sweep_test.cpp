// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Reductions over a process mesh, from the configuration to the decision.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "colltune/decide/decide.h"
#include "colltune/kernels/arithmetic/copy.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/vocabulary/canonical.h"
#include "error_of.h"
#include "sweep_run.h"

namespace colltune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::StartsWith;

SweepSpec spec_of(std::vector<MeshReduction> meshes, std::string_view sizes) {
  return {.collectives = {},
          .meshes = std::move(meshes),
          .sizes = parse_sizes(sizes),
          .include = {"cpu.*_flat", "cpu.all_reduce_one_shot", "cpu.*_low_latency", "cpu.*_ring",
                      "cpu.reduce_tree", "cpu.broadcast_tree"},
          .passes = 1,
          .precision = 0.5,
          .soak = {.runs = 50, .time = std::chrono::milliseconds(50)},
          .null_test = false};
}

Availability alike(int ranks, int nodes = 1) {
  const std::vector<Capability> all(static_cast<std::size_t>(ranks),
                                    Capability{.architecture = "x", .features = {}});
  std::vector<int> node_of_rank;
  for (int rank = 0; rank < ranks; ++rank) node_of_rank.push_back(rank * nodes / ranks);
  return merge_capabilities(all, node_of_rank);
}

std::set<CompositionMode> modes_in(const Cell& cell) {
  std::set<CompositionMode> modes;
  for (const PlannedVariant& planned : cell.variants)
    if (planned.composition) modes.insert(planned.composition->mode);
  return modes;
}

std::string reason_for(const SweepPlan& plan, std::string_view variant) {
  for (const Skipped& skipped : plan.skipped)
    if (skipped.variant.starts_with(variant)) return skipped.reason;
  return "nothing is skipped";
}

TEST(MeshSpec, IsReadAndRefusedWithItsPlace) {
  const SweepSpec spec = parse_sweep_spec(
      R"({"version": 1, "sizes": "1KiB", "meshes": [{"shape": "2x3", "reduce": "0:sum,1:avg"}]})",
      "a.json");
  EXPECT_TRUE(spec.collectives.empty());
  EXPECT_EQ(spec.meshes, std::vector{parse_mesh("2x3", "0:sum,1:avg")});
  const auto refusal = [](const std::string& meshes) {
    return error_of([&] {
      (void)parse_sweep_spec(R"({"version": 1, "sizes": "1KiB", "meshes": )" + meshes + "}",
                             "a.json");
    });
  };
  EXPECT_THAT(
      refusal(R"([{"shape": "2x3", "reduce": "0:sum"}, {"shape": "2x3", "reduce": "2:sum"}])"),
      AllOf(HasSubstr("a.json"), HasSubstr("/meshes/1"), HasSubstr("dimensions 0 to 1")));
  EXPECT_THAT(refusal(R"([{"shape": "2x", "reduce": "0:sum"}])"),
              AllOf(HasSubstr("/meshes/0"), HasSubstr("'2x' is no shape")));
  EXPECT_THAT(refusal(R"([{"shape": "2", "reduce": "0:sum"}, {"shape": "2", "reduce": "0:sum"}])"),
              AllOf(HasSubstr("/meshes/1"), HasSubstr("twice")));
  EXPECT_THAT(refusal(R"([{"shape": "2x3"}])"), HasSubstr("reduce"));
  EXPECT_THAT(refusal("[]"), HasSubstr("/meshes"));
  EXPECT_THAT(
      error_of([] { (void)parse_sweep_spec(R"({"version": 1, "sizes": "1KiB"})", "a.json"); }),
      AllOf(HasSubstr("collectives"), HasSubstr("meshes")));
}

TEST(MeshPlan, EveryFormThatTheAlgebraAllowsIsTriedAndTheBaselineIsTheLibrarysSequence) {
  fakes::SweepRun run;
  const SweepPlan plan = make_plan(spec_of({parse_mesh("2x3", "0:sum,1:sum")}, "64KiB"), alike(6),
                                   make_catalogue(), "e");
  ASSERT_EQ(plan.cells.size(), 1U);
  const Cell& cell = plan.cells[0];
  EXPECT_EQ(modes_in(cell), (std::set{CompositionMode::sequential, CompositionMode::merged,
                                      CompositionMode::hierarchical}));
  std::set<std::string> names;
  for (const PlannedVariant& planned : cell.variants) {
    EXPECT_TRUE(names.insert(to_string(planned.variant)).second) << to_string(planned.variant);
    EXPECT_TRUE(planned.composition.has_value());
    EXPECT_FALSE(is_for_certain_members(planned.variant));
    EXPECT_EQ(planned.limits.max_ranks, 6);
    // There is no library among the implementations that were chosen.
    EXPECT_FALSE(planned.is_baseline);
  }
  // Inside either dimension.
  std::set<int> inside;
  for (const PlannedVariant& planned : cell.variants)
    if (planned.composition->mode == CompositionMode::hierarchical)
      inside.insert(planned.composition->parts.front().step.value());
  EXPECT_EQ(inside, (std::set{0, 1}));
}

TEST(MeshPlan, SaysWhyAFormIsNotTried) {
  const auto plan_of = [](std::string_view shape, std::string_view steps, int ranks,
                          std::vector<DataType> types = {DataType::f32}) {
    SweepSpec spec = spec_of({parse_mesh(shape, steps)}, "4KiB");
    spec.data_types = std::move(types);
    return make_plan(spec, alike(ranks), make_catalogue(), "e");
  };
  SweepPlan plan = plan_of("4", "{0-1|2-3}:sum,{0,2|1,3}:sum,{0,3|1,2}:sum", 4);
  EXPECT_EQ(modes_in(plan.cells.at(0)), std::set{CompositionMode::sequential});
  EXPECT_THAT(reason_for(plan, "merged.mesh_reduce"),
              AllOf(HasSubstr("rank 0's input in rank 0's result 2 times"), HasSubstr("once")));
  EXPECT_THAT(reason_for(plan, "hierarchical.mesh_reduce of step 2"), HasSubstr("2 times"));
  plan = plan_of("2x2", "0:avg,1:avg", 4, {DataType::i32});
  EXPECT_THAT(reason_for(plan, "merged.mesh_reduce"), HasSubstr("truncates"));
  plan = plan_of("2x2", "0:sum,1:max", 4);
  EXPECT_THAT(reason_for(plan, "merged.mesh_reduce"), HasSubstr("unlike operators"));
  plan = plan_of("2x2", "0:sum", 4);
  EXPECT_THAT(reason_for(plan, "merged.mesh_reduce"), HasSubstr("one step"));
  plan = plan_of("2x3", "0:sum,1:sum", 4);
  EXPECT_TRUE(plan.cells.empty());
  EXPECT_EQ(plan.skipped.at(0).reason, "the mesh has 6 ranks, this world 4");
  plan = plan_of("2x2", "0:sum,1:prod", 4);
  EXPECT_TRUE(plan.cells.empty());
  EXPECT_THAT(plan.skipped.at(0).reason, HasSubstr("products of sums"));
  plan = plan_of("1x1", "0:sum,1:sum", 1);
  EXPECT_TRUE(plan.cells.empty());
  EXPECT_THAT(reason_for(plan, "mesh_reduce"), HasSubstr("no step puts two ranks together"));
}

TEST(MeshPlan, WhatWonInTheGroupsOfAStepIsTriedThere) {
  const Availability availability = alike(4);
  const Implementations catalogue = make_catalogue();
  const SweepSpec spec = spec_of({parse_mesh("2x2", "0:sum,1:sum")}, "16KiB");
  const std::string winner =
      "cpu.all_reduce_low_latency{format=poison,slots=4,stores=cached,taken_back=cleared}";
  const auto has_it = [&](std::span<const Decision> known) {
    const SweepPlan plan = make_plan(spec, availability, catalogue, "e", {.decisions = known});
    for (const PlannedVariant& planned : plan.cells.at(0).variants)
      for (const Part& part : planned.composition->parts)
        if (to_string(part.variant) == winner) return true;
    return false;
  };
  EXPECT_FALSE(has_it({}));
  const Decision decision{.key = {.problem = {.message_size = {16 << 10}},
                                  .topology = topology_of(availability, std::vector{0, 1}),
                                  .environment_digest = "e",
                                  .calling = default_calling,
                                  .input = default_input},
                          .ranked = {{.variant = parse_variant(winner)}}};
  EXPECT_TRUE(has_it({&decision, 1}));
}

std::string_view mode_of(const Measurement& one) {
  return std::string_view(one.variant.implementation)
      .substr(0, one.variant.implementation.find('.'));
}

TEST(MeshSweep, EveryFormIsVerifiedMeasuredAndRanked) {
  for (const auto& [shape, steps] :
       {std::pair("2x2", "0:sum,1:sum"), std::pair("2x2", "0:sum,1:avg"),
        std::pair("4", "{0-1|2-3}:avg,{0,2|1,3}:avg,{0,3|1,2}:avg")}) {
    fakes::SweepRun run;
    SweepSpec spec = spec_of({parse_mesh(shape, steps)}, "52,16KiB");  // 13 floats: padded
    spec.data_types = {DataType::f32, DataType::bf16};
    fakes::sweep(run, 4, make_catalogue(), spec);
    for (const auto& error : run.errors) EXPECT_EQ(error, "");
    EXPECT_THAT(run.ends, ::testing::Each(SweepEnd::complete));
    std::set<std::string> modes;
    for (const Measurement& one : run.outcome.measurements) {
      EXPECT_EQ(one.outcome, Outcome::ok) << to_string(one.variant) << ": " << one.detail;
      EXPECT_EQ(one.ranks_ran, 4);
      EXPECT_GT(one.verified_calls, 0u);
      EXPECT_TRUE(one.conditions.communicators.has_value());
      // An ordinary call comes with other buffers than the one before.
      EXPECT_EQ(one.key.calling, Calling::each);
      EXPECT_GE(one.conditions.footprint.value_or(0), std::uint64_t{1} << 20U);
      // The whole world is the caller's own communicator.
      if (mode_of(one) == "merged")
        EXPECT_EQ(one.conditions.communicators->count(), 0);
      else
        EXPECT_GT(one.conditions.communicators->count(), 0);
      modes.emplace(mode_of(one));
    }
    EXPECT_EQ(modes, (std::set<std::string>{"hierarchical", "merged", "sequential"})) << steps;
    const auto decisions = decide(run.outcome.measurements, {}, "s");
    EXPECT_FALSE(decisions.empty());
    for (const Decision& decision : decisions) EXPECT_TRUE(decision.key.problem.mesh);
  }
}

TEST(MeshSweep, MixedOperatorsAreMeasuredInSequenceAlone) {
  fakes::SweepRun run;
  SweepSpec spec =
      spec_of({parse_mesh("2x2", "0:max,1:sum"), parse_mesh("2x2", "0:sum,0:sum")}, "4KiB");
  spec.in_place = {.off = true, .on = true};
  fakes::sweep(run, 4, make_catalogue(), spec);
  for (const auto& error : run.errors) EXPECT_EQ(error, "");
  EXPECT_FALSE(run.outcome.measurements.empty());
  for (const Measurement& one : run.outcome.measurements) {
    EXPECT_EQ(one.outcome, Outcome::ok) << to_string(one.variant) << ": " << one.detail;
    EXPECT_EQ(mode_of(one), "sequential");
  }
}

TEST(MeshSweep, UnlikeRanksMergeByGroupsToo) {
  fakes::SweepRun run;
  run.differ = [](int rank, Capability& capability) {
    // What this processor does where it has no such stores is right all the same.
    capability.features[std::string(streaming_feature)] = "";
    if (rank < 2) return;
    capability.features["without.cpu.*_low_latency"] = "";
    capability.features["without.cpu.*{*stores=adaptive*}"] = "";
  };
  fakes::sweep(run, 4, make_catalogue(), spec_of({parse_mesh("2x2", "0:sum,1:avg")}, "16KiB"));
  for (const auto& error : run.errors) EXPECT_EQ(error, "");
  std::set<std::string> modes;
  for (const Measurement& one : run.outcome.measurements) {
    EXPECT_EQ(one.outcome, Outcome::ok) << to_string(one.variant) << ": " << one.detail;
    modes.emplace(mode_of(one));
    EXPECT_THAT(to_string(one.variant),
                ::testing::AnyOf(HasSubstr("grouped."),
                                 ::testing::Not(HasSubstr("all_reduce_low_latency"))));
  }
  EXPECT_THAT(modes,
              IsSupersetOf({"grouped", "hierarchical", "merged", "sequential", "substituted"}));
}

}  // namespace
}  // namespace colltune
