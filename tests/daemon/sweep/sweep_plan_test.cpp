// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/plan/sweep_plan.h"
#include "colltune/flight/flight_recorder.h"
#include "colltune/sweep/measure/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>
#include <string>
#include "colltune/vocabulary/canonical.h"
#include "error_of.h"
#include "fakes.h"
#include "plan_fixture.h"

namespace colltune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

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

TEST(Plan, ABroadcastHasOneFormWhateverIsAskedFor) {
  const auto implementations = fakes::make({{.name = "b", .collective = Collective::broadcast}});
  SweepSpec spec = spec_of("64,1KiB");
  spec.collectives = {Collective::broadcast};
  for (const BooleanAxis axis :
       {BooleanAxis{.off = true, .on = false}, BooleanAxis{.off = true, .on = true}}) {
    spec.in_place = axis;
    const SweepPlan plan = make_plan(spec, launch(1, 2), implementations, "env");
    ASSERT_EQ(plan.cells.size(), 2u);
    for (const Cell& cell : plan.cells) EXPECT_TRUE(cell.key.problem.in_place);
  }
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

TEST(Plan, WhatTheTableMayAnswerForAHeldOutSizeRunsThere) {
  SweepSpec spec = spec_of("64KiB,1KiB,4KiB");
  spec.holdout_sizes = parse_sizes("2KiB");
  const auto by_size = [](const std::string& name) {
    fakes::Behaviour behaviour{.name = name};
    behaviour.variants_for = [name](const Problem& problem) {
      return std::vector{
          parse_variant(name + "{n=" + std::to_string(problem.message_size.value) + "}")};
    };
    return behaviour;
  };
  fakes::Behaviour picky = by_size("b");
  picky.supports = [](const Problem& problem, const auto&, const auto&, const Variant& variant) {
    const bool is_larger =
        variant == parse_variant("b{n=4096}") && problem.message_size.value < 4096;
    return is_larger ? Support::no("more than there is") : Support::yes();
  };
  std::vector<fakes::Behaviour> behaviours{by_size("a"), picky};
  const SweepPlan plan = make_plan(spec, launch(1, 2), fakes::make(std::move(behaviours)), "e");
  ASSERT_EQ(plan.cells.size(), 4u);
  EXPECT_THAT(names(plan.cells[2]), ElementsAre("a{n=65536}", "b{n=65536}"));
  EXPECT_THAT(names(plan.cells[3]),
              ElementsAre("a{n=2048}", "a{n=1024}", "a{n=4096}", "b{n=2048}", "b{n=1024}"));
  ASSERT_EQ(plan.skipped.size(), 1u);
  EXPECT_EQ(plan.skipped[0].variant, "b{n=4096}");
  EXPECT_THAT(plan.skipped[0].reason, HasSubstr("more than there is"));
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

TEST(Plan, KeysCarryTheRegimeAndCapturedCallsArePersistent) {
  const auto implementations = fakes::make({{.name = "a"}});
  SweepSpec spec = spec_of();
  spec.graph_capture = {.off = true, .on = true};
  spec.input_mode = InputMode::rotating;
  for (const Calling calling : {Calling::each, Calling::persistent}) {
    spec.calling = calling;
    const SweepPlan plan = make_plan(spec, launch(1, 2), implementations, "e");
    ASSERT_FALSE(plan.cells.empty());
    for (const Cell& cell : plan.cells) {
      EXPECT_EQ(cell.key.calling, cell.key.problem.graph_capture ? Calling::persistent : calling);
      EXPECT_EQ(cell.key.input, InputMode::rotating);
    }
  }
  spec = spec_of();
  const SweepPlan by_default = make_plan(spec, launch(1, 2), implementations, "e");
  EXPECT_EQ(regime_of(by_default.cells.at(0).key), (Regime{default_calling, default_input}));
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
  plan.cells[0].variants[0].learning_calls = policy.warm_up_runs - 1;
  EXPECT_EQ(least_duration(plan, policy), settled) << "as many as are made anyway";
  plan.cells[0].variants[0].learning_calls += 100;
  EXPECT_EQ(least_duration(plan, policy), settled + plan.passes * 100 * call);
}

TEST(LeastDuration, CountsAllVariantsInFullPasses) {
  SweepPlan plan{.cells = {Cell{}}, .passes = 3};
  plan.cells[0].variants.assign(60, {.call_limit = std::chrono::seconds(10)});
  const MeasurePolicy policy;
  const auto of_contenders = least_duration(plan, policy);
  plan.full_passes = 3;
  SweepPlan once = plan;
  once.passes = 1;
  EXPECT_EQ(least_duration(plan, policy), 3 * least_duration(once, policy));
  EXPECT_LT(of_contenders, least_duration(plan, policy));
}

TEST(LeastDuration, TakesForecastsForWhatTheyAre) {
  using namespace std::chrono_literals;
  SweepPlan plan{.cells = {{.variants = {{.call_limit = 10s}}}}, .passes = 1};
  const MeasurePolicy policy;
  PlannedVariant& planned = plan.cells[0].variants[0];
  planned.forecast = Forecast{.time = 2ms, .low = 1ms, .high = 3ms};
  const auto by_forecast = least_duration(plan, policy);
  planned.forecast.reset();
  EXPECT_EQ(least_duration(plan, policy), by_forecast) << "10 s are 1 ms on fast links";
  planned.forecast = Forecast{.time = 1s, .low = 900ms, .high = 1100ms};
  EXPECT_GT(least_duration(plan, policy), 10 * 900ms);
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
  EXPECT_THAT(text, HasSubstr("mpi.ring: not Open MPI (1x2 x86_64 all_reduce f32 sum 1KiB and "
                              "1 more)"));
}

TEST(RenderPlan, LinesTakeEightyColumns) {
  std::vector<fakes::Behaviour> recipes{{.name = "mpi.own", .is_baseline = true}};
  for (int i = 0; i < 100; ++i) recipes.push_back({.name = "variant_" + std::to_string(i)});
  const auto implementations = fakes::make(recipes);
  const std::string text =
      render_plan(make_plan(spec_of("1KiB"), launch(1, 2), implementations, "e"));
  EXPECT_THAT(text, HasSubstr(" variant_99\n"));
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
}

}  // namespace
}  // namespace colltune
