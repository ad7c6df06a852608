// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/passes/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "colltune/decide/decide.h"
#include "colltune/flight/flight_recorder.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/sweep/passes/report.h"
#include "support/sanitizer.h"
#include "sweep_run.h"

namespace colltune {
namespace {

using ::testing::HasSubstr;
using namespace std::chrono_literals;
using fakes::sweep;
using fakes::SweepRun;

Implementations own_kernels() {
  Implementations catalogue = make_catalogue();
  std::erase_if(catalogue, [](const auto& item) { return !item->name().starts_with("cpu."); });
  return catalogue;
}

class SweepOnRanks : public testing::TestWithParam<int> {};
// Under sanitizers ranks with a core each, where there are two, and ranks that share them.
INSTANTIATE_TEST_SUITE_P(Ranks, SweepOnRanks,
                         testing::ValuesIn(test::has_sanitizer ? std::vector{2, 3}
                                                               : std::vector{1, 2, 3, 4}));

TEST_P(SweepOnRanks, OwnKernelsAreMeasuredJournalledAndDecided) {
  const Implementations kernels = own_kernels();
  ASSERT_FALSE(kernels.empty());
  SweepSpec spec{.collectives = {Collective::all_reduce},
                 .data_types = {DataType::bf16},
                 .reduce_ops = {ReduceOp::sum},
                 .sizes = parse_sizes("8,64KiB"),
                 .in_place = {.off = true, .on = true},
                 .passes = 1,
                 .soak = {.runs = 50}};
  // On two ranks a plan with all kinds of keys. Every variant is in both sizes of the others; that
  // each is right with all else, conformance shows.
  if (GetParam() == 2 && !test::has_thread_sanitizer) {
    spec.data_types = {DataType::f32, DataType::bf16};
    spec.reduce_ops = {ReduceOp::sum, ReduceOp::max};
    spec.sizes = parse_sizes("8,4KiB,64KiB");
  }
  // Ranks that share cores wait in another way, which is the same for all keys.
  // ThreadSanitizer sees there how a sweep calls them: in place or not is the same to it, and their
  // own tests have both.
  if (test::has_thread_sanitizer) spec.in_place.on = false;
  if (GetParam() == 3 && test::has_sanitizer) {
    spec.sizes = parse_sizes("4KiB");
    spec.in_place.on = false;
  }
  SweepRun run;
  sweep(run, GetParam(), kernels, spec);
  EXPECT_THAT(run.errors, testing::Each(""));
  EXPECT_THAT(run.ends, testing::Each(SweepEnd::complete));
  ASSERT_EQ(run.journal.plans.size(), 1u);
  const SweepPlan& plan = run.journal.plans[0];
  EXPECT_EQ(run.journal.appended.size(), plan.cells.size());
  EXPECT_EQ(run.outcome.measurements.size(), count_trials(plan));
  EXPECT_EQ(run.progress.begun, plan.cells.size());
  EXPECT_EQ(run.progress.ended, plan.cells.size());
  for (const auto& measured : run.outcome.measurements) {
    EXPECT_EQ(measured.outcome, Outcome::ok)
        << to_string(measured.variant) << " " << describe(measured.key.problem) << ": "
        << measured.detail;
    EXPECT_EQ(measured.ranks_ran, GetParam());
    EXPECT_GE(measured.verified_calls, 2u);
  }
  if (!plan.cells.empty()) {
    EXPECT_EQ(run.outcome.trials.at(Outcome::ok), count_trials(plan));
  }
  const auto decisions = decide(run.outcome.measurements, {}, "s");
  std::size_t over_all = 0;
  for (const auto& decision : decisions) over_all += decision.family == any_family ? 1 : 0;
  EXPECT_EQ(over_all, plan.cells.size());
  if (!plan.cells.empty()) {
    EXPECT_THAT(render_results(run.outcome.measurements, decisions), HasSubstr("# all_reduce "));
  }
}

TEST(Sweep, BlocksOfUnlikeLengthsAreMeasuredAndDecidedByTheirClass) {
  const Implementations kernels = own_kernels();
  SweepRun run;
  sweep(run, 3, kernels,
        {.collectives = {Collective::all_gather, Collective::reduce_scatter},
         .data_types = {DataType::i32},
         .reduce_ops = {ReduceOp::sum},
         .sizes = parse_sizes("8,4KiB"),
         .in_place = {.off = true, .on = true},
         .counts = {Counts::equal, Counts::one_large, Counts::random},
         .passes = 1,
         .soak = {.runs = 50}});
  EXPECT_THAT(run.errors, testing::Each(""));
  std::set<std::pair<Collective, Counts>> measured;
  for (const auto& one : run.outcome.measurements) {
    EXPECT_EQ(one.outcome, Outcome::ok)
        << to_string(one.variant) << " " << describe(one.key.problem) << ": " << one.detail;
    EXPECT_GE(one.verified_calls, 2u);
    measured.emplace(one.key.problem.collective, one.key.problem.counts);
  }
  EXPECT_EQ(measured.size(), 6u);
  ASSERT_EQ(run.journal.plans.size(), 1u);
  // Of 8 bytes there are no such blocks: each form of each collective is skipped, with a reason.
  std::set<Problem> skipped;
  for (const auto& one : run.journal.plans[0].skipped)
    if (one.problem.counts != Counts::equal && one.problem.message_size == Bytes{8})
      skipped.insert(one.problem);
  EXPECT_EQ(skipped.size(), 8u);
  const auto decisions = decide(run.outcome.measurements, {}, "s");
  EXPECT_THAT(
      render_results(run.outcome.measurements, decisions),
      testing::AllOf(HasSubstr("# all_gather one_large "), HasSubstr("# reduce_scatter random ")));
}

TEST(Sweep, SubWorldsOfOneLaunch) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  SweepSpec spec{.collectives = {Collective::all_reduce},
                 .sizes = parse_sizes("64,256"),
                 .worlds = {{.nodes = 1, .ranks_per_node = 1},
                            {.nodes = 1, .ranks_per_node = 2},
                            {.nodes = 1, .ranks_per_node = 3}},
                 .passes = 1,
                 .soak = {.runs = 20},
                 .null_test = false};
  SweepRun run;
  sweep(run, 4, implementations, spec, {0, 1, 0, 0});
  EXPECT_THAT(run.errors, testing::Each(""));
  std::multiset<int> ranks;
  for (const auto& measured : run.outcome.measurements) {
    EXPECT_EQ(measured.outcome, Outcome::ok) << measured.detail;
    EXPECT_EQ(measured.ranks_ran, measured.key.topology.ranks);
    ranks.insert(measured.ranks_ran);
  }
  EXPECT_EQ(ranks, (std::multiset<int>{1, 1, 2, 2, 3, 3}));
}

SweepSpec three_cells() {
  return {.collectives = {Collective::all_reduce},
          .sizes = parse_sizes("64,128,256"),
          .passes = 1,
          .soak = {.runs = 20},
          .null_test = false};
}

TEST(Sweep, ContinuesAfterTheCellsThatAreStored) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}, {.name = "b"}});
  SweepRun whole;
  sweep(whole, 2, implementations, three_cells());
  SweepRun first;
  first.progress.at_end = [&] {
    if (first.progress.ended == 2) first.stop.raise();
  };
  sweep(first, 2, implementations, three_cells());
  ASSERT_THAT(first.ends, testing::Each(SweepEnd::stopped));
  SweepRun rest;
  rest.stored = first.outcome.measurements;
  rest.progress.begun = rest.progress.ended = 2;
  sweep(rest, 2, implementations, three_cells());
  EXPECT_THAT(rest.errors, testing::Each(""));
  EXPECT_THAT(rest.ends, testing::Each(SweepEnd::complete));
  ASSERT_EQ(rest.journal.appended.size(), 1u);
  EXPECT_EQ(rest.journal.appended[0].at(0).key.problem.message_size, Bytes{256});
  EXPECT_EQ(rest.outcome.trials, whole.outcome.trials);
  // What was stored comes first and unchanged, and nothing twice.
  ASSERT_EQ(rest.outcome.measurements.size(), 6u);
  EXPECT_TRUE(std::equal(first.outcome.measurements.begin(), first.outcome.measurements.end(),
                         rest.outcome.measurements.begin()));
  std::size_t over_all = 0;
  for (const auto& decision : decide(rest.outcome.measurements, {}, "s"))
    over_all += decision.family == any_family ? 1 : 0;
  EXPECT_EQ(over_all, 3u);
}

TEST(Sweep, WithEverythingStoredNothingIsMeasured) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  SweepRun first;
  sweep(first, 2, implementations, three_cells());
  SweepRun again;
  again.stored = first.outcome.measurements;
  sweep(again, 2, implementations, three_cells());
  EXPECT_THAT(again.ends, testing::Each(SweepEnd::complete));
  EXPECT_TRUE(again.journal.appended.empty());
  EXPECT_EQ(again.outcome.measurements, first.outcome.measurements);
}

TEST(Sweep, RecordsWhereEachRankIs) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  SweepRun run;
  run.board.resize(2);
  sweep(run, 2, implementations, three_cells());
  const auto first = read_position(run.board[0].bytes).value();
  const auto second = read_position(run.board[1].bytes).value();
  // Rank 0 alone writes the journal: a step, but none that the others take.
  EXPECT_EQ(first.current()->activity.view(), "journal");
  EXPECT_EQ(second.current()->activity.view(), "control");
  EXPECT_EQ(first.current()->collective_steps, second.current()->collective_steps);
}

TEST(Sweep, AJournalThatFailsEndsTheSweepOnAllRanks) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  SweepRun run;
  run.journal.fail_at = 1;
  sweep(run, 3, implementations, three_cells());
  EXPECT_THAT(run.errors, testing::Each("disk full"));
  EXPECT_EQ(run.journal.appended.size(), 1u);
}

TEST(Sweep, EndsEarlyWhereTheUserAsksForIt) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  SweepRun run;
  run.progress.at_end = [&] { run.stop.raise(); };
  sweep(run, 2, implementations, three_cells());
  EXPECT_THAT(run.ends, testing::Each(SweepEnd::stopped));
  EXPECT_EQ(run.outcome.measurements.size(), 1u);
  EXPECT_EQ(run.journal.appended.size(), 1u);
}

TEST(Sweep, EndsWhenTheBudgetIsSpent) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  SweepRun run;
  SweepSpec spec = three_cells();
  spec.budget = 1ns;
  sweep(run, 2, implementations, spec);
  EXPECT_THAT(run.ends, testing::Each(SweepEnd::budget));
  EXPECT_TRUE(run.outcome.measurements.empty());
}

TEST(Sweep, TheBudgetBeginsWithTheAgentAndWhatIsLeftIsTold) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  SweepSpec spec = three_cells();
  spec.budget = 1h;
  SweepRun run;
  run.begin = std::chrono::steady_clock::now() - 20min;
  sweep(run, 2, implementations, spec);
  EXPECT_THAT(run.ends, testing::Each(SweepEnd::complete));
  EXPECT_GT(run.outcome.budget_left, 30min);
  EXPECT_LT(run.outcome.budget_left, 40min);
  SweepRun late;
  late.begin = std::chrono::steady_clock::now() - 1h;
  sweep(late, 2, implementations, spec);
  EXPECT_THAT(late.ends, testing::Each(SweepEnd::budget));
  EXPECT_EQ(late.outcome.budget_left, 0ns);
}

TEST(Sweep, HeldOutCellsComeLastAndAreJournalledAsSuch) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  SweepSpec spec = three_cells();
  spec.sizes = parse_sizes("64,128");
  spec.holdout_sizes = parse_sizes("256");
  SweepRun whole;
  sweep(whole, 2, implementations, spec);
  EXPECT_THAT(whole.ends, testing::Each(SweepEnd::complete));
  ASSERT_EQ(whole.journal.appended.size(), 3u);
  EXPECT_TRUE(whole.journal.appended[2].at(0).is_holdout);
}

TEST(Sweep, AVariantThatFailsInOneCellDoesNotEndTheOthers) {
  const auto implementations = fakes::make(
      {{.name = "base", .is_baseline = true}, {.name = "bad", .at_prepare = [](int, int) {
                                                 throw Error(StatusCode::internal, "planted");
                                               }}});
  SweepRun run;
  sweep(run, 2, implementations, three_cells());
  EXPECT_THAT(run.ends, testing::Each(SweepEnd::complete));
  EXPECT_EQ(run.outcome.trials.at(Outcome::ok), 3u);
  EXPECT_EQ(run.outcome.trials.at(Outcome::failed), 3u);
  for (const auto& decision : decide(run.outcome.measurements, {}, "s"))
    EXPECT_EQ(decision.ranked.size(), 1u);
}

SweepSpec three_cells_in(int passes) {
  SweepSpec spec = three_cells();
  spec.passes = passes;
  return spec;
}

/// Size and pass of each visit, in the order in which they were journalled.
std::vector<std::pair<std::uint64_t, int>> visits_of(const SweepRun& run) {
  std::vector<std::pair<std::uint64_t, int>> visits;
  for (const auto& measured : run.journal.appended) {
    visits.emplace_back(measured.at(0).key.problem.message_size.value, measured[0].pass);
    for (const Measurement& one : measured) EXPECT_EQ(one.pass, measured[0].pass);
  }
  return visits;
}

using Visits = std::vector<std::pair<std::uint64_t, int>>;

TEST(Passes, ComeToEachCellInTheSameOrder) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}, {.name = "b"}});
  SweepRun run;
  sweep(run, 3, implementations, three_cells_in(3));
  EXPECT_THAT(run.errors, testing::Each(""));
  EXPECT_THAT(run.ends, testing::Each(SweepEnd::complete));
  EXPECT_EQ(
      visits_of(run),
      (Visits{
          {64, 0}, {128, 0}, {256, 0}, {64, 1}, {128, 1}, {256, 1}, {64, 2}, {128, 2}, {256, 2}}));
  EXPECT_EQ(run.progress.ended, 9u);
  // A trial counts once.
  EXPECT_EQ(run.outcome.trials, (std::map<Outcome, std::size_t>{{Outcome::ok, 6}}));
  std::set<std::uint64_t> seeds;
  for (const Measurement& one : run.outcome.measurements) seeds.insert(one.seed);
  EXPECT_EQ(seeds.size(), 3u);  // another order in each pass
}

TEST(Passes, OnlyContendersComeBack) {
  // Contenders are those of a family: "b" is alone in front of its own, whatever the machine does.
  const auto implementations =
      fakes::make({{.name = "base", .is_baseline = true},
                   {.name = "b", .family = "other"},
                   {.name = "slow", .family = "other", .at_start = [](int, int) {
                      std::this_thread::sleep_for(100ms);
                    }}});
  SweepSpec spec = three_cells_in(2);
  spec.sizes = parse_sizes("64,128");
  spec.null_test = true;
  SweepRun run;
  sweep(run, 2, implementations, spec);
  ASSERT_EQ(run.journal.appended.size(), 4u);
  for (std::size_t i = 0; i < 4; ++i) {
    std::vector<std::string> names;
    for (const Measurement& one : run.journal.appended[i])
      names.push_back(to_string(one.variant) + (one.is_twin ? " (twin)" : ""));
    if (i < 2) {
      EXPECT_THAT(names, testing::ElementsAre("base", "base (twin)", "b", "slow"));
    } else {
      EXPECT_THAT(names, testing::ElementsAre("base", "base (twin)", "b"));
    }
  }
}

TEST(Passes, AVariantThatFailsInALaterPassDoesNotComeBack) {
  // By rank: one for each visit. Both fail, so that none waits for the other.
  std::array<std::atomic<int>, 2> prepared{};
  const auto implementations =
      fakes::make({{.name = "base", .is_baseline = true},
                   {.name = "bad", .at_prepare = [&](int rank, int) {
                      if (++prepared.at(static_cast<std::size_t>(rank)) == 2)
                        throw Error(StatusCode::internal, "planted");
                    }}});
  SweepSpec spec = three_cells_in(4);
  spec.sizes = parse_sizes("64");
  SweepRun run;
  sweep(run, 2, implementations, spec);
  EXPECT_THAT(run.ends, testing::Each(SweepEnd::complete));
  ASSERT_EQ(run.journal.appended.size(), 4u);
  EXPECT_EQ(run.journal.appended[0].size(), 2u);
  ASSERT_EQ(run.journal.appended[1].size(), 2u);
  EXPECT_EQ(run.journal.appended[1][1].outcome, Outcome::failed);
  EXPECT_EQ(run.journal.appended[2].size(), 1u);
  EXPECT_EQ(run.journal.appended[3].size(), 1u);
  EXPECT_EQ(run.outcome.trials,
            (std::map<Outcome, std::size_t>{{Outcome::ok, 1}, {Outcome::failed, 1}}));
  for (const auto& decision : decide(run.outcome.measurements, {}, "s"))
    EXPECT_EQ(decision.ranked.size(), 1u);
}

TEST(Passes, HeldOutCellsAreMeasuredOnce) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  SweepSpec spec = three_cells_in(2);
  spec.sizes = parse_sizes("64,128");
  spec.holdout_sizes = parse_sizes("256");
  SweepRun run;
  sweep(run, 2, implementations, spec);
  EXPECT_EQ(visits_of(run), (Visits{{64, 0}, {128, 0}, {256, 0}, {64, 1}, {128, 1}}));
}

TEST(Passes, AreResumedWhereTheyWereInterrupted) {
  const auto implementations =
      fakes::make({{.name = "base", .is_baseline = true}, {.name = "b", .family = "other"}});
  SweepRun first;
  first.progress.at_end = [&] {
    if (first.progress.ended == 4) first.stop.raise();
  };
  sweep(first, 2, implementations, three_cells_in(3));
  ASSERT_THAT(first.ends, testing::Each(SweepEnd::stopped));
  EXPECT_EQ(visits_of(first), (Visits{{64, 0}, {128, 0}, {256, 0}, {64, 1}}));
  SweepRun rest;
  rest.stored = first.outcome.measurements;
  // What was found out before the interruption holds after it.
  for (Measurement& one : rest.stored)
    if (one.key.problem.message_size == Bytes{128} && !one.is_baseline) {
      one.outcome = Outcome::wrong;
      one.samples.clear();
      one.slowest_ranks.clear();
      one.marks.clear();
    }
  rest.progress.begun = rest.progress.ended = 4;
  sweep(rest, 2, implementations, three_cells_in(3));
  EXPECT_THAT(rest.errors, testing::Each(""));
  EXPECT_THAT(rest.ends, testing::Each(SweepEnd::complete));
  EXPECT_EQ(visits_of(rest), (Visits{{128, 1}, {256, 1}, {64, 2}, {128, 2}, {256, 2}}));
  for (const auto& measured : rest.journal.appended)
    EXPECT_EQ(measured.size(), measured[0].key.problem.message_size == Bytes{128} ? 1u : 2u);
  EXPECT_TRUE(
      std::equal(rest.stored.begin(), rest.stored.end(), rest.outcome.measurements.begin()));
}

TEST(Passes, ABudgetThatEndsAfterTheFirstOneIsNoLoss) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  SweepSpec spec = three_cells_in(2);
  spec.budget = 2s;  // of which the first pass takes some hundredths
  SweepRun run;
  run.begin = std::chrono::steady_clock::now();
  run.progress.at_end = [&] {
    if (run.progress.ended == 3) std::this_thread::sleep_until(*run.begin + 2s);
  };
  sweep(run, 2, implementations, spec);
  EXPECT_THAT(run.ends, testing::Each(SweepEnd::complete));
  EXPECT_EQ(visits_of(run), (Visits{{64, 0}, {128, 0}, {256, 0}}));
  EXPECT_EQ(run.outcome.budget_left, 0ns);
}

TEST(Passes, WhoeverWinsInTheEndWasSoakedOnce) {
  // In their family "early" leads in the first pass, "late" after the second. What a busy machine
  // adds to a sleep must not change that, so the sleeps are long and far apart.
  std::atomic<int> pass{0};
  const auto sleeps = [&](std::chrono::microseconds first, std::chrono::microseconds later) {
    return
        [&pass, first, later](int, int) { std::this_thread::sleep_for(pass == 0 ? first : later); };
  };
  const auto implementations =
      fakes::make({{.name = "base", .is_baseline = true},
                   {.name = "early", .family = "other", .at_start = sleeps(10ms, 80ms)},
                   {.name = "late", .family = "other", .at_start = sleeps(20ms, 200us)}});
  SweepSpec spec = three_cells_in(3);
  spec.sizes = parse_sizes("64");
  spec.soak = {.runs = 100, .time = 60s};
  SweepRun run;
  run.progress.at_end = [&] { ++pass; };
  sweep(run, 3, implementations, spec);
  ASSERT_EQ(run.journal.appended.size(), 3u);
  const auto is_soaked = [&](std::size_t visit, const std::string& variant) {
    for (const Measurement& one : run.journal.appended[visit])
      if (to_string(one.variant) == variant) return one.verified_calls >= 100;
    ADD_FAILURE() << variant << " took no part in visit " << visit;
    return false;
  };
  EXPECT_TRUE(is_soaked(0, "early"));
  EXPECT_FALSE(is_soaked(0, "late"));
  EXPECT_TRUE(is_soaked(1, "late"));
  EXPECT_FALSE(is_soaked(1, "early"));
  EXPECT_FALSE(is_soaked(2, "late"));  // it was before
  for (const Decision& decision : decide(run.outcome.measurements, {}, "s"))
    EXPECT_GE(decision.ranked.front().verified_calls, 100u) << decision.family;
}

TEST(Sweep, ShippedConfigurationsPlanOnTwoRanks) {
  if (test::has_thread_sanitizer) GTEST_SKIP() << "each rank plans alone";
  const auto catalogue = make_catalogue();
  for (const char* file : {"quick", "bringup"}) {
    const SweepSpec spec = load_sweep_spec(COLLTUNE_CONFIGS "/" + std::string(file) + ".json");
    SweepPlan plan;
    fakes::on_ranks(2, 120s, [&](ControlPlane& control, Communicator& launch) {
      const Availability availability =
          exchange_capabilities(control, launch, detect_capability(catalogue, launch));
      const SweepPlan shared = share_plan(control, spec, availability, catalogue, "e");
      if (control.rank() == 0) plan = shared;
    });
    // Every key that it names has rivals: here only our own, since threads have no library.
    std::map<std::pair<Collective, std::uint64_t>, std::size_t> rivals;
    for (const Cell& cell : plan.cells)
      rivals[{cell.key.problem.collective, cell.key.problem.message_size.value}] +=
          cell.variants.size();
    for (const Collective collective : spec.collectives)
      for (const Bytes size : spec.sizes)
        EXPECT_GE((rivals[{collective, size.value}]), 2U)
            << file << ": " << name_of(collective) << ' ' << size.value;
  }
}

}  // namespace
}  // namespace colltune
