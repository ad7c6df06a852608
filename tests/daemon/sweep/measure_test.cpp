// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <latch>
#include <mutex>
#include <set>

#include "colltune/sweep/flight_recorder.h"
#include "colltune/sweep/run_timer.h"
#include "colltune/vocabulary/canonical.h"
#include "fakes.h"

namespace colltune {
namespace {

using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;

/// Short, so that a test of a missing rank is short as well.
MeasurePolicy short_policy() {
  return {.warm_up_runs = 2,
          .min_rounds = 3,
          .max_rounds = 6,
          .max_samples_per_round = 4,
          .round_target = 2ms,
          .call_limit_floor = 300ms};
}

/// A plan of one cell: all_reduce f32 sum over all ranks, every implementation with one variant.
SweepPlan plan_of(const Implementations& implementations, int ranks, Problem problem = {}) {
  if (problem.message_size.value == 0) problem.message_size = {64};
  SweepPlan plan;
  PlannedWorld world{.topology = {.ranks_per_node = ranks,
                                  .ranks = ranks,
                                  .architectures = {{"x86_64", ranks}},
                                  .layout_digest = "uniform",
                                  .interconnect = "shared-memory"}};
  for (int rank = 0; rank < ranks; ++rank) world.ranks.push_back(rank);
  Cell cell{.key = {.problem = problem, .topology = world.topology, .environment_digest = "e"}};
  for (const auto& implementation : implementations)
    cell.variants.push_back({.variant = {std::string(implementation->name()), {}},
                             .family = std::string(implementation->family()),
                             .protocol = "p",
                             .is_baseline = implementation->is_baseline(),
                             .rounding = Rounding::once,
                             .call_limit = 1ms});
  plan.worlds.push_back(std::move(world));
  plan.cells.push_back(std::move(cell));
  plan.precision = -1;  // never reached, not even by equal times: the number of rounds is known
  plan.soak.runs = 0;
  return plan;
}

struct Result {
  std::vector<Measurement> measurements;
  PhaseTimes phases;
};

/// Measures the plan's only cell on thread ranks; rank 0's result.
Result measure(const Implementations& implementations, const SweepPlan& plan, int launch_ranks,
               const MeasurePolicy& policy = short_policy(), nanoseconds share = {}) {
  Result result;
  AbortFlag stop;
  fakes::on_ranks(launch_ranks, 20s, [&](ControlPlane& control, Communicator& launch) {
    Measurer measurer(
        {.control = control, .launch = launch, .implementations = implementations, .plan = plan},
        policy);
    auto measurements = measurer.measure({.share = share}, {}, stop);
    if (control.rank() == 0)
      result = {std::move(measurements), measurer.phases()};
    else {
      EXPECT_TRUE(measurements.empty());
    }
    control.barrier();
  });
  return result;
}

Result measure(const Implementations& implementations, int ranks) {
  return measure(implementations, plan_of(implementations, ranks), ranks);
}

class MeasureOnRanks : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, MeasureOnRanks, testing::Values(1, 2, 3, 4));

TEST_P(MeasureOnRanks, EveryVariantGetsVerifiedSamplesOfTheSlowestRank) {
  const int ranks = GetParam();
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}, {.name = "b"}});
  const auto result = measure(implementations, ranks);
  ASSERT_EQ(result.measurements.size(), 2u);
  for (const auto& measured : result.measurements) {
    EXPECT_EQ(measured.outcome, Outcome::ok) << measured.detail;
    const auto per_round = static_cast<std::size_t>(measured.samples_per_round);
    const std::size_t rounds = measured.samples.size() / per_round;
    EXPECT_EQ(measured.samples.size(), rounds * per_round);
    // A rival that looks slower may leave; the baseline stays.
    if (measured.is_baseline) {
      EXPECT_EQ(rounds, 6u);
    } else {
      EXPECT_LE(rounds, 6u);
    }
    EXPECT_EQ(measured.slowest_ranks.size(), measured.samples.size());
    EXPECT_THAT(measured.samples, Each(testing::Gt(0ns)));
    EXPECT_THAT(measured.slowest_ranks, Each(AllOf(testing::Ge(0), testing::Lt(ranks))));
    EXPECT_EQ(measured.ranks_ran, ranks);
    EXPECT_EQ(measured.ranks_failed, 0);
    // Before, in each round, after.
    EXPECT_EQ(measured.verified_calls, rounds + 2);
    EXPECT_EQ(measured.calls_per_sample, result.measurements[0].calls_per_sample);
    EXPECT_LE(measured.samples_per_round, result.measurements[0].samples_per_round);
  }
  EXPECT_TRUE(result.measurements[0].is_baseline);
  for (const Phase phase : {Phase::batch, Phase::warm_up, Phase::verification, Phase::preparation})
    EXPECT_GT(result.phases[phase].count(), 0) << name_of(phase);
}

TEST(Measure, TheSlowestRankIsNamedAndMakesTheTime) {
  const auto implementations =
      fakes::make({{.name = "base", .is_baseline = true, .at_start = [](int rank, int) {
                      if (rank == 2) std::this_thread::sleep_for(5ms);
                    }}});
  const auto measured = measure(implementations, 3).measurements.at(0);
  EXPECT_THAT(measured.samples, Each(testing::Ge(5ms)));
}

TEST(Measure, RanksBeyondTheWorldTakePartInTheVotesAlone) {
  std::atomic<int> largest_rank{-1};
  const auto note = [&](int rank, int) {
    for (int seen = largest_rank; rank > seen && !largest_rank.compare_exchange_weak(seen, rank);)
      ;
  };
  const auto implementations =
      fakes::make({{.name = "base", .is_baseline = true, .at_start = note}});
  const auto result = measure(implementations, plan_of(implementations, 2), 4);
  EXPECT_EQ(result.measurements.at(0).outcome, Outcome::ok);
  EXPECT_EQ(result.measurements.at(0).ranks_ran, 2);
  EXPECT_EQ(largest_rank, 1);
}

TEST(Measure, AWorldMayLeaveOutRanksInTheMiddle) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  SweepPlan plan = plan_of(implementations, 2);
  plan.worlds[0].ranks = {0, 2};
  const auto result = measure(implementations, plan, 3);
  EXPECT_EQ(result.measurements.at(0).outcome, Outcome::ok) << result.measurements[0].detail;
}

TEST(Measure, InPlaceAndRegisteredBuffersAreVerifiedToo) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  for (const bool in_place : {false, true})
    for (const bool registered : {false, true}) {
      const auto plan =
          plan_of(implementations, 2,
                  {.message_size = {4096}, .in_place = in_place, .registered = registered});
      // In place, only runs of one call are compared while timing.
      auto policy = short_policy();
      policy.max_calls_per_sample = 1;
      const auto measured = measure(implementations, plan, 2, policy).measurements.at(0);
      EXPECT_EQ(measured.outcome, Outcome::ok) << measured.detail;
      EXPECT_EQ(measured.verified_calls, 8u);
    }
}

/// One rank's last element is wrong in the given call only.
fakes::Behaviour spoiler(int spoiled_rank, std::function<bool(int)> in_call) {
  return {.name = "spoiler", .spoil = [=](int rank, int call, std::span<std::byte> result) {
            if (rank == spoiled_rank && in_call(call)) result.back() ^= std::byte{0x40};
          }};
}

TEST(Measure, AWrongElementOnOneRankEndsTheVariantAlone) {
  const auto implementations =
      fakes::make({{.name = "base", .is_baseline = true}, spoiler(1, [](int) { return true; })});
  const auto result = measure(implementations, 3);
  EXPECT_EQ(result.measurements.at(0).outcome, Outcome::ok);
  const auto& wrong = result.measurements.at(1);
  EXPECT_EQ(wrong.outcome, Outcome::wrong);
  EXPECT_THAT(wrong.detail, AllOf(HasSubstr("rank 1: element 15 is "), HasSubstr(", expected ")));
  EXPECT_TRUE(wrong.samples.empty());
  EXPECT_EQ(wrong.ranks_failed, 1);
  EXPECT_EQ(wrong.verified_calls, 0u);
}

TEST(Measure, AVariantThatGoesWrongWhileItIsTimedIsCaughtWithItsRun) {
  const auto implementations = fakes::make(
      {{.name = "base", .is_baseline = true}, spoiler(0, [](int call) { return call > 2; })});
  const auto wrong = measure(implementations, 2).measurements.at(1);
  EXPECT_EQ(wrong.outcome, Outcome::wrong);
  EXPECT_TRUE(wrong.samples.empty());
  EXPECT_EQ(wrong.verified_calls, 1u);
  EXPECT_THAT(wrong.detail, AllOf(HasSubstr("rank 0: element 15 is "), HasSubstr(" (run ")));
}

TEST(Measure, AWrongResultKeepsNoRankWaiting) {
  // Were the rank that noticed to stop calling, the others would wait for the call's limit.
  auto policy = short_policy();
  policy.call_limit_floor = 60s;
  const auto implementations = fakes::make(
      {{.name = "base", .is_baseline = true}, spoiler(1, [](int call) { return call > 2; })});
  const auto result = measure(implementations, plan_of(implementations, 3), 3, policy);
  EXPECT_EQ(result.measurements.at(1).outcome, Outcome::wrong);
  EXPECT_EQ(result.measurements.at(1).ranks_failed, 1);
  EXPECT_EQ(result.measurements.at(0).outcome, Outcome::ok);
}

/// Who writes outside: the receive buffer's bytes at `offset` from its begin or end, in the call.
fakes::Behaviour stray_writer(bool behind, std::ptrdiff_t offset, int in_call) {
  return {.name = "stray", .spoil = [=](int rank, int call, std::span<std::byte> result) {
            if (rank != 1 || call != in_call) return;
            std::byte* const at = (behind ? result.data() + result.size() : result.data()) + offset;
            for (int i = 0; i < 4; ++i) at[i] ^= std::byte{0xFF};
          }};
}

class StrayWrites : public testing::TestWithParam<std::tuple<bool, bool, bool, int>> {};
INSTANTIATE_TEST_SUITE_P(Buffers, StrayWrites,
                         testing::Combine(testing::Bool(), testing::Bool(), testing::Bool(),
                                          testing::Values(0, 1, 4)));

TEST_P(StrayWrites, AreFoundInVerifiedAndInTimedRuns) {
  const auto [behind, in_place, registered, call] = GetParam();
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true},
                                            stray_writer(behind, behind ? 0 : -4, call),
                                            {.name = "last"}});
  const auto plan = plan_of(
      implementations, 2, {.message_size = {4096}, .in_place = in_place, .registered = registered});
  const auto result = measure(implementations, plan, 2);
  EXPECT_EQ(result.measurements.at(1).outcome, Outcome::wrong);
  EXPECT_THAT(result.measurements.at(1).detail,
              HasSubstr(std::string("rank 1: wrote 4 byte(s) ") + (behind ? "behind" : "before") +
                        (in_place ? " the buffer" : " the receive buffer")));
  // The damage is put down to its author alone.
  EXPECT_EQ(result.measurements.at(0).outcome, Outcome::ok) << result.measurements[0].detail;
  EXPECT_EQ(result.measurements.at(2).outcome, Outcome::ok) << result.measurements[2].detail;
}

TEST(Measure, AFarStrayWriteIsFoundUpToTheLastGuardByte) {
  const auto implementations =
      fakes::make({{.name = "base", .is_baseline = true}, stray_writer(true, 1020, 0)});
  EXPECT_EQ(measure(implementations, 2).measurements.at(1).outcome, Outcome::wrong);
}

TEST(Measure, AVariantThatChangesItsInputIsWrong) {
  const auto implementations = fakes::make(
      {{.name = "base", .is_baseline = true},
       {.name = "eater", .spoil_input = [](int rank, int call, std::span<std::byte> input) {
          if (rank == 1 && call == 0) input[5] ^= std::byte{1};
        }}});
  const auto wrong = measure(implementations, 2).measurements.at(1);
  EXPECT_EQ(wrong.outcome, Outcome::wrong);
  EXPECT_THAT(wrong.detail, HasSubstr("rank 1: changed byte 5 of its input"));
}

SweepPlan soaked_plan(const Implementations& implementations, int ranks, std::uint64_t runs) {
  SweepPlan plan = plan_of(implementations, ranks);
  plan.soak = {.runs = runs, .time = 60s};
  return plan;
}

TEST(Soak, EveryWinnerRunsWithVerificationAndLosersDoNot) {
  const auto slow = [](int, int) { std::this_thread::sleep_for(2ms); };
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true},
                                            {.name = "slow", .at_start = slow},
                                            {.name = "own", .family = "other", .at_start = slow}});
  const auto result = measure(implementations, soaked_plan(implementations, 2, 100), 3);
  EXPECT_EQ(result.measurements.at(0).verified_calls, 108u);
  EXPECT_LE(result.measurements.at(1).verified_calls, 8u);    // may have left the rounds
  EXPECT_EQ(result.measurements.at(2).verified_calls, 108u);  // wins its family
  for (const auto& measured : result.measurements) EXPECT_EQ(measured.outcome, Outcome::ok);
}

TEST(Soak, ARareFaultOfAWinnerIsFoundAndTheNextOneIsSoakedInstead) {
  // Wrong in one call alone, and by far the fastest of a family without a baseline: its winner
  // whatever the noise.
  auto rare = spoiler(1, [](int call) { return call == 499; });
  rare.name = "rare";
  rare.family = "other";
  const auto implementations =
      fakes::make({{.name = "base", .is_baseline = true},
                   rare,
                   {.name = "next", .family = "other", .at_start = [](int, int) {
                      std::this_thread::sleep_for(3ms);
                    }}});
  auto policy = short_policy();
  policy.max_calls_per_sample = 1;  // the number of a call is that of its run
  const auto result = measure(implementations, soaked_plan(implementations, 2, 600), 2, policy);
  const auto& wrong = result.measurements.at(1);
  EXPECT_EQ(wrong.outcome, Outcome::wrong);
  EXPECT_THAT(wrong.detail,
              AllOf(HasSubstr("rank 1: element 15 is "), HasSubstr("(run 499 of this variant)")));
  EXPECT_TRUE(wrong.samples.empty());
  EXPECT_EQ(result.measurements.at(2).outcome, Outcome::ok);
  // It left the rounds as the slower one, and is soaked all the same.
  EXPECT_GE(result.measurements.at(2).verified_calls, 602u);
}

TEST(Soak, AWinnerThatThrowsIsOut) {
  const auto implementations =
      fakes::make({{.name = "base", .is_baseline = true},
                   {.name = "bad", .family = "other", .at_wait = [](int rank, int call) {
                      if (rank == 0 && call == 60) throw std::runtime_error("planted");
                    }}});
  const auto result = measure(implementations, soaked_plan(implementations, 2, 80), 2);
  EXPECT_EQ(result.measurements.at(1).outcome, Outcome::failed);
  EXPECT_EQ(result.measurements.at(1).detail, "rank 0: planted");
  EXPECT_EQ(result.measurements.at(0).verified_calls, 88u);
}

TEST(Soak, EndsWhenItsTimeIsOver) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  SweepPlan plan = plan_of(implementations, 2);
  plan.soak = {.runs = 1'000'000'000, .time = 20ms};
  const auto measured = measure(implementations, plan, 2).measurements.at(0);
  EXPECT_EQ(measured.outcome, Outcome::ok);
  EXPECT_GT(measured.verified_calls, 8u);
}

TEST(Measure, AllRanksOfTheLaunchRecordTheSameCollectiveSteps) {
  struct alignas(64) Region {
    std::array<std::byte, flight_region_size> bytes;
  };
  std::vector<Region> board(3);
  const auto implementations =
      fakes::make({{.name = "base", .is_baseline = true}, spoiler(0, [](int) { return true; })});
  const SweepPlan plan = soaked_plan(implementations, 2, 20);
  AbortFlag stop;
  fakes::on_ranks(3, 20s, [&](ControlPlane& control, Communicator& launch) {
    FlightRecorder recorder(board[static_cast<std::size_t>(control.rank())].bytes, control.rank());
    Measurer measurer({control, launch, implementations, plan, &recorder}, short_policy());
    (void)measurer.measure({}, {}, stop);
    control.barrier();
  });
  std::vector<RankPosition> positions;
  for (const Region& region : board) positions.push_back(read_position(region.bytes).value());
  std::set<std::string> phases;
  for (const RankPosition& position : positions) {
    ASSERT_EQ(position.steps, positions[0].steps);
    for (std::size_t i = 0; i < position.steps; ++i) {
      const StepRecord& step = position.last[i];
      EXPECT_EQ(step.collective_steps, positions[0].last[i].collective_steps);
      EXPECT_EQ(step.phase.view(), positions[0].last[i].phase.view());
      EXPECT_EQ(step.run, positions[0].last[i].run);
      EXPECT_EQ(step.cell, 0);
      phases.insert(std::string(step.phase.view()));
      if (step.phase.view() == "control") {
        // A rank beyond the world waits for a whole round there.
        EXPECT_EQ(step.deadline.has_value(), position.rank < 2);
      } else {
        EXPECT_EQ(step.key_digest.view(), digest_of_value(plan.cells[0].key));
        EXPECT_TRUE(step.deadline.has_value());
      }
      if (step.phase.view() == "verification") {
        EXPECT_EQ(step.variant.view(), "base");
      }
    }
  }
  EXPECT_THAT(phases, testing::IsSupersetOf({"verification", "control", "preparation"}));
}

TEST(Measure, AResultLeftFromTheCallBeforeIsWrong) {
  // Delivers its first result for ever: right for the first data, stale for the second.
  std::array<std::vector<std::byte>, 2> first;
  const auto implementations =
      fakes::make({{.name = "base", .is_baseline = true},
                   {.name = "stale", .spoil = [&](int rank, int, std::span<std::byte> result) {
                      auto& kept = first[static_cast<std::size_t>(rank)];
                      if (kept.empty()) kept.assign(result.begin(), result.end());
                      std::ranges::copy(kept, result.begin());
                    }}});
  EXPECT_EQ(measure(implementations, 2).measurements.at(1).outcome, Outcome::wrong);
}

TEST(Measure, OneRankThatThrowsInPrepareBecomesAVote) {
  const auto implementations =
      fakes::make({{.name = "base", .is_baseline = true},
                   {.name = "bad", .at_prepare = [](int rank, int) {
                      if (rank == 1) throw Error(StatusCode::resource_exhausted, "no memory");
                    }}});
  const auto result = measure(implementations, 3);
  EXPECT_EQ(result.measurements.at(0).outcome, Outcome::ok) << result.measurements[0].detail;
  EXPECT_EQ(result.measurements.at(1).outcome, Outcome::failed);
  EXPECT_EQ(result.measurements.at(1).detail, "rank 1: no memory");
}

TEST(Measure, AMissingImplementationOnARankIsAFault) {
  const auto full = fakes::make({{.name = "base", .is_baseline = true}, {.name = "b"}});
  const auto plan = plan_of(full, 2);
  const auto lacking = fakes::make({{.name = "base", .is_baseline = true}});
  std::vector<Measurement> measurements;
  AbortFlag stop;
  fakes::on_ranks(2, 20s, [&](ControlPlane& control, Communicator& launch) {
    Measurer measurer({control, launch, control.rank() == 0 ? full : lacking, plan},
                      short_policy());
    auto own = measurer.measure({}, {}, stop);
    if (control.rank() == 0) measurements = std::move(own);
    control.barrier();
  });
  EXPECT_EQ(measurements.at(0).outcome, Outcome::ok);
  EXPECT_EQ(measurements.at(1).outcome, Outcome::failed);
  EXPECT_THAT(measurements.at(1).detail, HasSubstr("has no implementation b"));
}

/// The step in which a rank throws, and the call: 0 is verified, the later ones are timed.
class Throwing : public testing::TestWithParam<std::tuple<bool, int>> {};
INSTANTIATE_TEST_SUITE_P(Steps, Throwing,
                         testing::Combine(testing::Bool(), testing::Values(0, 2, 5)));

TEST_P(Throwing, OneRankThatThrowsEndsTheVariantAndTheCellGoesOn) {
  const auto [in_start, bad_call] = GetParam();
  const auto raise = [bad_call = bad_call](int rank, int call) {
    if (rank == 1 && call == bad_call) throw std::runtime_error("planted");
  };
  fakes::Behaviour bad{.name = "bad"};
  (in_start ? bad.at_start : bad.at_wait) = raise;
  const auto implementations =
      fakes::make({{.name = "base", .is_baseline = true}, bad, {.name = "c"}});
  const auto result = measure(implementations, 3);
  EXPECT_EQ(result.measurements.at(0).outcome, Outcome::ok) << result.measurements[0].detail;
  EXPECT_EQ(result.measurements.at(2).outcome, Outcome::ok) << result.measurements[2].detail;
  const auto& failed = result.measurements.at(1);
  // The ranks that waited in vain timed out; the cause is what counts.
  EXPECT_EQ(failed.outcome, Outcome::failed);
  EXPECT_EQ(failed.detail, "rank 1: planted");
  EXPECT_TRUE(failed.samples.empty());
  EXPECT_EQ(failed.ranks_failed, 3);
}

TEST(Measure, ARankThatHangsBeyondTheLimitIsTimedOut) {
  const auto implementations = fakes::make(
      {{.name = "base", .is_baseline = true}, {.name = "slow", .at_wait = [](int rank, int call) {
                                                 if (rank == 1 && call == 3)
                                                   std::this_thread::sleep_for(500ms);
                                               }}});
  const auto result = measure(implementations, 2);
  EXPECT_EQ(result.measurements.at(0).outcome, Outcome::ok) << result.measurements[0].detail;
  EXPECT_EQ(result.measurements.at(1).outcome, Outcome::timed_out);
  EXPECT_THAT(result.measurements.at(1).detail, HasSubstr("rank"));
}

TEST(Measure, ARankThatNeverComesEndsTheOthersWithItsNumber) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  const auto plan = plan_of(implementations, 3);
  AbortFlag stop;
  fakes::on_ranks(3, 200ms, [&](ControlPlane& control, Communicator& launch) {
    if (control.rank() == 2) return;
    Measurer measurer({control, launch, implementations, plan}, short_policy());
    EXPECT_THROW((void)measurer.measure({}, {}, stop), RankMissing);
  });
}

TEST(Measure, StopsWhenTheIntervalsAreNarrowEnough) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  SweepPlan plan = plan_of(implementations, 1);
  plan.precision = 1e9;
  auto policy = short_policy();
  policy.max_rounds = 1000;
  const auto measured = measure(implementations, plan, 1, policy).measurements.at(0);
  EXPECT_EQ(measured.samples.size(), static_cast<std::size_t>(3 * measured.samples_per_round));
}

TEST(Measure, StopsAfterARoundWhenItsShareIsSpent) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  const auto plan = plan_of(implementations, 2);
  const auto measured = measure(implementations, plan, 2, short_policy(), 1ns).measurements.at(0);
  EXPECT_EQ(measured.outcome, Outcome::ok);
  EXPECT_EQ(measured.samples.size(), static_cast<std::size_t>(measured.samples_per_round));
}

TEST(Measure, StopsAfterARoundWhenTheUserAsksForIt) {
  AbortFlag stop;
  stop.raise();
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  const auto plan = plan_of(implementations, 2);
  fakes::on_ranks(2, 20s, [&](ControlPlane& control, Communicator& launch) {
    Measurer measurer({control, launch, implementations, plan}, short_policy());
    const auto measured = measurer.measure({}, {}, stop);
    if (control.rank() == 0) {
      EXPECT_EQ(measured.at(0).samples.size(),
                static_cast<std::size_t>(measured[0].samples_per_round));
    }
    control.barrier();
  });
}

TEST(Measure, RivalsAreInterleavedInASeededOrder) {
  // Which variant ran when, as rank 0 saw it.
  const auto order_with = [](std::uint64_t seed) {
    std::mutex mutex;
    std::string order;
    const auto note = [&](char name) {
      return [&, name](int rank, int) {
        if (rank != 0) return;
        const std::scoped_lock lock(mutex);
        if (order.empty() || order.back() != name) order += name;
      };
    };
    // Who is alone in a family never leaves, whatever the machine does to its times.
    const auto implementations =
        fakes::make({{.name = "a", .is_baseline = true, .at_start = note('a')},
                     {.name = "b", .family = "b", .at_start = note('b')},
                     {.name = "c", .family = "c", .at_start = note('c')}});
    SweepPlan plan = plan_of(implementations, 2);
    plan.seed = seed;
    auto policy = short_policy();
    policy.max_samples_per_round = 1;
    policy.min_rounds = policy.max_rounds = 7;
    const auto result = measure(implementations, plan, 2, policy);
    EXPECT_EQ(result.measurements.at(0).seed, seed);
    return order;
  };
  EXPECT_EQ(order_with(7), order_with(7));
  EXPECT_NE(order_with(7), order_with(8));
  // Verified and warmed up in order, then not one order for ever.
  EXPECT_THAT(order_with(7), testing::StartsWith("abcabc"));
  EXPECT_THAT(order_with(7), testing::Not(testing::StartsWith("abcabcabcabcabcabc")));
}

/// A plan whose second implementation is the first one's twin.
SweepPlan with_twin(SweepPlan plan) {
  PlannedVariant twin = plan.cells[0].variants[0];
  twin.is_baseline = false;
  twin.is_twin = true;
  plan.cells[0].variants.insert(plan.cells[0].variants.begin() + 1, std::move(twin));
  return plan;
}

TEST(Measure, TheTwinIsATrialOfItsOwn) {
  std::atomic<int> prepared{0};
  const auto implementations = fakes::make(
      {{.name = "base", .is_baseline = true, .at_prepare = [&](int, int) { ++prepared; }},
       {.name = "b"}});
  const auto result = measure(implementations, with_twin(plan_of(implementations, 2)), 2);
  ASSERT_EQ(result.measurements.size(), 3u);
  EXPECT_EQ(prepared, 2 * 2);
  const Measurement& baseline = result.measurements[0];
  const Measurement& twin = result.measurements[1];
  EXPECT_TRUE(baseline.is_baseline);
  EXPECT_FALSE(baseline.is_twin);
  EXPECT_TRUE(twin.is_twin);
  EXPECT_FALSE(twin.is_baseline);
  EXPECT_EQ(twin.variant, baseline.variant);
  EXPECT_EQ(twin.samples.size(), baseline.samples.size());
  EXPECT_NE(twin.samples, baseline.samples);
  EXPECT_FALSE(result.measurements[2].is_twin);
}

TEST(Measure, ATwinIsNeverSoaked) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  const auto result = measure(implementations, with_twin(soaked_plan(implementations, 2, 50)), 2);
  EXPECT_EQ(result.measurements.at(0).verified_calls, 58u);
  EXPECT_EQ(result.measurements.at(1).verified_calls, 8u);
}

TEST(Measure, WhoCannotWinLeavesTheRoundsAndKeepsItsSamples) {
  const auto implementations = fakes::make(
      {{.name = "base", .is_baseline = true},
       {.name = "slow", .at_start = [](int, int) { std::this_thread::sleep_for(40ms); }},
       {.name = "b"}});
  auto policy = short_policy();
  policy.max_rounds = 48;  // on a busy machine it takes more than the first few
  const auto result = measure(implementations, plan_of(implementations, 2), 2, policy);
  const Measurement& slow = result.measurements.at(1);
  EXPECT_EQ(slow.outcome, Outcome::ok) << slow.detail;
  EXPECT_FALSE(slow.samples.empty());
  EXPECT_EQ(slow.samples.size() % static_cast<std::size_t>(slow.samples_per_round), 0u);
  EXPECT_EQ(slow.slowest_ranks.size(), slow.samples.size());
  const Measurement& base = result.measurements.at(0);
  EXPECT_EQ(base.samples.size(), 48u * static_cast<std::size_t>(base.samples_per_round));
  for (const Measurement* one : {&slow, &base})
    if (!one->marks.empty() && std::ranges::count(one->marks, 0) < std::ssize(one->marks) / 2)
      GTEST_SKIP() << "the machine is so busy that most samples do not count";
  EXPECT_LT(slow.samples.size() / static_cast<std::size_t>(slow.samples_per_round), 48u);
}

TEST(Measure, TheHopelessRunAFewSamplesOnly) {
  const auto implementations = fakes::make(
      {{.name = "base", .is_baseline = true},
       {.name = "slow", .at_start = [](int, int) { std::this_thread::sleep_for(100ms); }}});
  auto policy = short_policy();
  policy.max_samples_per_round = 64;
  policy.round_target = 5s;  // a busy machine's runs take their time
  policy.hopeless_samples = 2;
  const auto result = measure(implementations, plan_of(implementations, 2), 2, policy);
  EXPECT_EQ(result.measurements.at(1).samples_per_round, 2);
  EXPECT_GT(result.measurements.at(0).samples_per_round, 2);
}

TEST(Measure, PageFaultsOfTimedRunsAreCounted) {
  // Fresh pages in every call, as a library's buffer beyond malloc's threshold.
  constexpr std::size_t pages = 64;
  const auto fault = [](int, int) {
    void* fresh = ::mmap(nullptr, pages * 4096, PROT_READ | PROT_WRITE,
                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
    ASSERT_NE(fresh, MAP_FAILED);
    ::madvise(fresh, pages * 4096, MADV_DONTNEED);
    for (std::size_t page = 0; page < pages; ++page)
      static_cast<volatile char*>(fresh)[page * 4096] = 1;
    ::munmap(fresh, pages * 4096);
  };
  const auto implementations =
      fakes::make({{.name = "base", .is_baseline = true}, {.name = "faulting", .at_start = fault}});
  const auto result = measure(implementations, 2);
  const auto faults_per_run = [&](std::size_t trial) {
    const Measurement& measured = result.measurements.at(trial);
    return static_cast<double>(measured.conditions.page_faults) /
           static_cast<double>(measured.samples.size());
  };
  EXPECT_GE(faults_per_run(1), pages);
  // Not none: a sanitizer's own memory is touched in the runs.
  EXPECT_LT(faults_per_run(0), pages / 8.0);
}

TEST(Measure, RanksThatShareCoresAreNotWatchedNorStartedInWindows) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  const int ranks = static_cast<int>(std::thread::hardware_concurrency()) + 2;
  SweepPlan plan = plan_of(implementations, ranks);
  plan.synchronization = Synchronization::window;
  const auto measured = measure(implementations, plan, ranks).measurements.at(0);
  EXPECT_EQ(measured.outcome, Outcome::ok) << measured.detail;
  EXPECT_LT(measured.conditions.steal, 0);
  EXPECT_TRUE(measured.marks.empty());
  EXPECT_EQ(measured.synchronization, Synchronization::barrier);
}

/// The kind of start that the plan asks for, on ranks with a core each.
class Starts : public testing::TestWithParam<Synchronization> {};
INSTANTIATE_TEST_SUITE_P(Kinds, Starts,
                         testing::Values(Synchronization::barrier, Synchronization::window));

TEST_P(Starts, AreTheOnesAskedForAndAreRecorded) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs 2 cores";
  const auto implementations =
      fakes::make({{.name = "base", .is_baseline = true, .at_start = [](int rank, int) {
                      if (rank == 1) std::this_thread::sleep_for(2ms);
                    }}});
  SweepPlan plan = plan_of(implementations, 2);
  plan.synchronization = GetParam();
  const auto measured = measure(implementations, plan, 2).measurements.at(0);
  EXPECT_EQ(measured.synchronization, GetParam());
  EXPECT_THAT(measured.samples, Each(testing::Ge(2ms)));
  EXPECT_GE(measured.conditions.steal, 0);
  EXPECT_LE(measured.conditions.steal, 1);
  if (!measured.marks.empty()) {
    EXPECT_EQ(measured.marks.size(), measured.samples.size());
  }
  if (GetParam() == Synchronization::window) {
    EXPECT_GT(measured.conditions.clock_error, 0ns);
    EXPECT_LT(measured.conditions.clock_error, 10ms);
  } else {
    EXPECT_EQ(measured.conditions.clock_error, 0ns);
  }
}

TEST_P(Starts, AFaultOnOneRankKeepsTheOthersInStep) {
  if (std::thread::hardware_concurrency() < 2) GTEST_SKIP() << "needs 2 cores";
  const auto implementations = fakes::make(
      {{.name = "base", .is_baseline = true}, {.name = "bad", .at_start = [](int rank, int call) {
                                                 if (rank == 1 && call == 5)
                                                   throw std::runtime_error("planted");
                                               }}});
  SweepPlan plan = plan_of(implementations, 2);
  plan.synchronization = GetParam();
  const auto result = measure(implementations, plan, 2);
  EXPECT_EQ(result.measurements.at(0).outcome, Outcome::ok) << result.measurements[0].detail;
  EXPECT_EQ(result.measurements.at(1).outcome, Outcome::failed);
  EXPECT_TRUE(result.measurements.at(1).marks.empty());
}

TEST(Measure, HeldOutCellsAreMarkedAndNotSoaked) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  SweepPlan plan = soaked_plan(implementations, 2, 50);
  plan.cells[0].is_holdout = true;
  const auto measured = measure(implementations, plan, 2).measurements.at(0);
  EXPECT_TRUE(measured.is_holdout);
  EXPECT_EQ(measured.verified_calls, 8u);
}

class InputModes : public testing::TestWithParam<InputMode> {};
INSTANTIATE_TEST_SUITE_P(All, InputModes,
                         testing::Values(InputMode::rewritten, InputMode::hot,
                                         InputMode::rotating));

TEST_P(InputModes, AreRightAndRecorded) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  for (const bool in_place : {false, true}) {
    SweepPlan plan = plan_of(implementations, 2, {.message_size = {4096}, .in_place = in_place});
    plan.input_mode = GetParam();
    const auto measured = measure(implementations, plan, 2).measurements.at(0);
    EXPECT_EQ(measured.outcome, Outcome::ok) << measured.detail;
    EXPECT_EQ(measured.input_mode, GetParam());
  }
}

TEST(RunTimer, TimesExactlyTheCallsAskedFor) {
  int started = 0;
  int waited = 0;
  class Counting final : public Operation {
   public:
    Counting(int& started, int& waited) : started_(started), waited_(waited) {}
    void start() override { ++started_; }
    void wait(Deadline) override { ++waited_; }

   private:
    int& started_;
    int& waited_;
  } operation(started, waited);
  EXPECT_GE(time_calls(operation, 5, Deadline::max()).duration().count(), 0);
  EXPECT_EQ(started, 5);
  EXPECT_EQ(waited, 5);
  EXPECT_GT(clock_resolution().count(), 0);
}

TEST(RunTimer, RewritesTheInputBeforeTheBarrier) {
  fakes::on_ranks(2, 20s, [](ControlPlane&, Communicator& world) {
    std::vector<std::byte> target(64, std::byte{0});
    const std::vector<std::byte> image(64, std::byte{7});
    const Deadline deadline = start_together(world, {.target = target, .image = image},
                                             {.calls = 3, .call_limit = 10s, .barrier_limit = 10s});
    EXPECT_EQ(target, image);
    EXPECT_GT(deadline, std::chrono::steady_clock::now() + 5s);
  });
}

TEST(LongestStep, GrowsWithTheSlowestCall) {
  const auto implementations = fakes::make({{.name = "base"}});
  SweepPlan plan = plan_of(implementations, 2);
  const auto usual = longest_step(plan, short_policy());
  EXPECT_GT(usual, short_policy().call_limit_floor);
  plan.cells[0].variants[0].call_limit = 100s;
  EXPECT_GT(longest_step(plan, short_policy()), 100s);
}

}  // namespace
}  // namespace colltune
