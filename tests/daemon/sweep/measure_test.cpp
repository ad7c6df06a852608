// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/measure/measure.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <set>
#include <thread>

#include "colltune/flight/flight_recorder.h"
#include "colltune/sweep/clock/run_timer.h"
#include "colltune/vocabulary/canonical.h"
#include "one_cell.h"

namespace colltune {
namespace {

using fakes::impatient_policy;
using fakes::measure;
using fakes::plan_of;
using fakes::short_policy;
using fakes::soaked_plan;
using fakes::spoiler;
using fakes::with_twin;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

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
  for (const Activity activity :
       {Activity::batch, Activity::warm_up, Activity::verification, Activity::preparation})
    EXPECT_GT(result.activities[activity].count(), 0) << name_of(activity);
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

TEST(Measure, OrdinaryCallsComeWithOtherBuffersEachTime) {
  // Sizes below and above the one from which there are only as many places as must be.
  for (const std::uint64_t size : {64U, 1U << 20}) {
    std::vector<CallBuffers> bound;  // on rank 1
    const auto implementations = fakes::make(
        {{.name = "base", .is_baseline = true, .at_bind = [&](int rank, const auto& to) {
            if (rank == 1) bound.push_back(to);
          }}});
    SweepPlan plan = plan_of(implementations, 2, {.message_size = {size}});
    plan.cells[0].key.calling = Calling::each;
    const auto measured = measure(implementations, plan, 2).measurements.at(0);
    EXPECT_EQ(measured.outcome, Outcome::ok) << measured.detail;
    EXPECT_EQ(measured.key.calling, Calling::each);
    EXPECT_GE(measured.conditions.footprint.value_or(0), std::uint64_t{1} << 20);
    ASSERT_GT(bound.size(), 6U);
    std::set<const std::byte*> sends;
    std::set<const std::byte*> receives;
    for (std::size_t i = 0; i < bound.size(); ++i) {
      sends.insert(bound[i].send.data());
      receives.insert(bound[i].receive.data());
      if (i > 0) {
        EXPECT_NE(bound[i].send.data(), bound[i - 1].send.data());
      }
    }
    EXPECT_EQ(sends.size(), size > 64 ? 3 : bound.size());
    EXPECT_EQ(receives.size(), sends.size());
  }
}

TEST(Measure, PersistentCallsKeepTheirBuffers) {
  std::atomic<int> bound = 0;
  const auto implementations = fakes::make(
      {{.name = "base", .is_baseline = true, .at_bind = [&](int, const auto&) { ++bound; }}});
  SweepPlan plan = plan_of(implementations, 2);
  plan.cells[0].key.calling = Calling::persistent;
  EXPECT_EQ(measure(implementations, plan, 2).measurements.at(0).outcome, Outcome::ok);
  EXPECT_EQ(bound, 0);
}

TEST(Measure, WhatAnOrdinaryCallWritesBesideItsBuffersIsFoundWhereverTheyAre) {
  for (const int spoiled : {2, 5}) {  // verified runs; a warm-up run, whose result nobody looks at
    const auto implementations = fakes::make(
        {{.name = "base", .is_baseline = true},
         {.name = "stray", .spoil = [&](int rank, int call, std::span<std::byte> result) {
            if (rank == 1 && call == spoiled) *(result.data() + result.size()) ^= std::byte{1};
          }}});
    SweepPlan plan = plan_of(implementations, 2);
    plan.cells[0].key.calling = Calling::each;
    const auto measured = measure(implementations, plan, 2).measurements;
    EXPECT_EQ(measured.at(0).outcome, Outcome::ok) << measured[0].detail;
    EXPECT_EQ(measured.at(1).outcome, Outcome::wrong);
    EXPECT_THAT(measured.at(1).detail, HasSubstr("wrote 1 byte(s) behind the receive buffer"));
  }
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
  const auto implementations = fakes::make(
      {{.name = "base", .is_baseline = true},
       {.name = "bad", .family = "other", .is_waited_for = true, .at_wait = [](int rank, int call) {
          if (rank == 0 && call == 60) throw std::runtime_error("planted");
        }}});
  const auto result =
      measure(implementations, soaked_plan(implementations, 2, 80), 2, impatient_policy());
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
  std::set<std::string> activities;
  for (const RankPosition& position : positions) {
    ASSERT_EQ(position.steps, positions[0].steps);
    for (std::size_t i = 0; i < position.steps; ++i) {
      const FlightStepRecord& step = position.last[i];
      EXPECT_EQ(step.collective_steps, positions[0].last[i].collective_steps);
      EXPECT_EQ(step.activity.view(), positions[0].last[i].activity.view());
      EXPECT_EQ(step.run, positions[0].last[i].run);
      EXPECT_EQ(step.cell, 0);
      activities.insert(std::string(step.activity.view()));
      if (step.activity.view() == "control") {
        // A rank beyond the world waits for a whole round there.
        EXPECT_EQ(step.deadline.has_value(), position.rank < 2);
      } else {
        EXPECT_EQ(step.key_digest.view(), digest_of_value(plan.cells[0].key));
        EXPECT_TRUE(step.deadline.has_value());
      }
      if (step.activity.view() == "verification") {
        EXPECT_EQ(step.variant.view(), "base");
      }
    }
  }
  EXPECT_THAT(activities, testing::IsSupersetOf({"verification", "control", "preparation"}));
}

TEST(Measure, HowFarTheCoresWereIsRecordedWhereRanksHaveSome) {
  const auto implementations = fakes::make({{.name = "base", .is_baseline = true}});
  for (const int ranks : {1, 2}) {
    const SweepPlan plan = soaked_plan(implementations, ranks, 20);
    AbortFlag stop;
    fakes::on_ranks(2, 20s, [&](ControlPlane& control, Communicator& launch) {
      Measurer measurer({control, launch, implementations, plan}, short_policy());
      const auto measured = measurer.measure({}, {}, stop);
      if (control.rank() != 0) return;
      ASSERT_FALSE(measured.empty());
      for (const Measurement& one : measured) {
        const auto& hand_over = one.conditions.hand_over;
        EXPECT_EQ(hand_over.has_value(), ranks == 2 && !launch.is_oversubscribed());
        EXPECT_GT(hand_over.value_or(1ns), 0ns);
      }
    });
  }
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
    for (Cell& cell : plan.cells) cell.key.input = GetParam();
    const auto measured = measure(implementations, plan, 2).measurements.at(0);
    EXPECT_EQ(measured.outcome, Outcome::ok) << measured.detail;
    EXPECT_EQ(measured.key.input, GetParam());
  }
}

TEST(RunTimer, TimesExactlyTheCallsAskedFor) {
  int started = 0;
  int waited = 0;
  int bound = 0;
  using Clock = std::chrono::steady_clock;
  Clock::time_point first_start{};
  Clock::time_point last_wait{};
  class Counting final : public Operation {
   public:
    Counting(int& started, int& waited, int& bound, Clock::time_point& first_start,
             Clock::time_point& last_wait)
        : started_(started),
          waited_(waited),
          bound_(bound),
          first_start_(first_start),
          last_wait_(last_wait) {}
    void bind(const CallBuffers& buffers) override {
      EXPECT_EQ(started_, waited_) << "bound within a call";
      EXPECT_EQ(buffers.send.size(), static_cast<std::size_t>(bound_));
      ++bound_;
    }
    void start() override {
      if (++started_ == 1) first_start_ = Clock::now();
    }
    void wait(Deadline) override {
      ++waited_;
      last_wait_ = Clock::now();
    }

   private:
    int& started_;
    int& waited_;
    int& bound_;
    Clock::time_point& first_start_;
    Clock::time_point& last_wait_;
  } operation(started, waited, bound, first_start, last_wait);
  const TimedCalls calls = time_calls(operation, 5, Deadline::max());
  EXPECT_EQ(bound, 0);
  EXPECT_LE(calls.begin, first_start);
  EXPECT_GE(calls.end, last_wait);
  EXPECT_EQ(calls.duration(), calls.end - calls.begin);
  EXPECT_EQ(started, 5);
  EXPECT_EQ(waited, 5);
  // Each call's own buffers, in their order; the sizes tell them apart here.
  const std::array<std::byte, 3> bytes{};
  const std::array<CallBuffers, 3> bindings{{{.send = std::span(bytes).first(0), .receive = {}},
                                             {.send = std::span(bytes).first(1), .receive = {}},
                                             {.send = std::span(bytes).first(2), .receive = {}}}};
  (void)time_calls(operation, 3, Deadline::max(), bindings);
  EXPECT_EQ(bound, 3);
  EXPECT_EQ(waited, 8);
  EXPECT_GT(clock_resolution().count(), 0);
}

TEST(RunTimer, RewritesTheInputBeforeTheBarrier) {
  fakes::on_ranks(2, 20s, [](ControlPlane&, Communicator& world) {
    std::vector<std::byte> target(64, std::byte{0});
    const std::vector<std::byte> image(64, std::byte{7});
    const std::array targets{std::span(target)};
    const Deadline deadline = start_together(world, {.targets = targets, .image = image},
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
