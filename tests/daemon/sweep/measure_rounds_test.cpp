// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// How rounds are run, how many, and what is noted of the machine meanwhile.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "colltune/sweep/clock/perturbation.h"
#include "colltune/sweep/measure/measure.h"
#include "one_cell.h"

namespace colltune {
namespace {

using fakes::impatient_policy;
using fakes::measure;
using fakes::plan_of;
using fakes::short_policy;
using ::testing::Each;
using namespace std::chrono_literals;

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

TEST(Measure, RunsThatTakeOverTheBuffersAreAsManyAsSizeAndTimeAsk) {
  const auto runs_of = [](std::uint64_t bytes, Calling calling = Calling::each,
                          std::chrono::nanoseconds call = 10us,
                          InputMode mode = InputMode::rewritten) {
    TuningKey key{.problem = {.message_size = {bytes}}};
    key.calling = calling;
    return takeover_runs(key, mode, call);
  };
  EXPECT_EQ(runs_of(64), 0);
  EXPECT_EQ(runs_of((32 << 10) - 1), 0);
  EXPECT_EQ(runs_of(32 << 10), 8);
  EXPECT_EQ(runs_of(2 << 20), 6);  // twice for each pair of buffers
  EXPECT_EQ(runs_of(2 << 20, Calling::persistent), 2);
  EXPECT_EQ(runs_of(2 << 20, Calling::each, 2ms), 2);
  EXPECT_EQ(runs_of(16 << 20, Calling::each, 6ms), 0);
  EXPECT_EQ(runs_of(2 << 20, Calling::each, 10us, InputMode::rotating), 0);
}

TEST(Measure, AVariantTakesTheBuffersOverBeforeItsSamplesOfEachRound) {
  // Calls of the baseline, and its shortest. A rank alone waits for nobody, so that its calls are
  // short on a busy machine, too.
  const auto calls_of = [](std::uint64_t bytes) {
    std::atomic<int> calls = 0;
    const auto implementations =
        fakes::make({{.name = "base", .is_baseline = true, .at_start = [&](int, int) { ++calls; }},
                     {.name = "b", .family = "b"}});
    SweepPlan plan = plan_of(implementations, 1, {.message_size = {bytes}});
    plan.cells[0].key.calling = Calling::each;
    auto policy = short_policy();
    policy.max_calls_per_sample = policy.max_samples_per_round = 1;
    policy.min_rounds = policy.max_rounds = 5;
    const Measurement base = measure(implementations, plan, 1, policy).measurements.at(0);
    EXPECT_EQ(base.outcome, Outcome::ok) << base.detail;
    EXPECT_EQ(base.samples.size(), 5U);
    return std::pair(calls.load(), std::ranges::min(base.samples));
  };
  // As many in each of the 5 rounds; fewer than 8 where a call takes more than 5 ms / 8.
  const auto [calls, shortest] = calls_of(32 << 10);
  const int takeover = calls - calls_of(64).first;
  if (takeover == 0 && shortest > 500us)
    GTEST_SKIP() << "the machine is so busy that a call takes 5 ms";
  EXPECT_GT(takeover, 0);
  EXPECT_LE(takeover, 5 * 8);
  EXPECT_EQ(takeover % 5, 0);
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
  EXPECT_FALSE(measured.conditions.kept_waiting.has_value());
  EXPECT_TRUE(measured.marks.empty());
  EXPECT_EQ(measured.synchronization, Synchronization::barrier);
}

/// Whether the kernel says how long a thread waited for a core.
bool is_told_of_waits() { return ThreadCounterReader().read().kept_waiting.count() >= 0; }

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
  if (const auto waited = measured.conditions.kept_waiting; is_told_of_waits()) {
    EXPECT_GE(waited.value(), 0);
    EXPECT_LE(waited.value(), 1);
  } else {
    EXPECT_FALSE(waited.has_value());
  }
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
  const auto implementations =
      fakes::make({{.name = "base", .is_baseline = true},
                   {.name = "bad", .is_waited_for = true, .at_start = [](int rank, int call) {
                      if (rank == 1 && call == 5) throw std::runtime_error("planted");
                    }}});
  SweepPlan plan = plan_of(implementations, 2);
  plan.synchronization = GetParam();
  const auto result = measure(implementations, plan, 2, impatient_policy());
  EXPECT_EQ(result.measurements.at(0).outcome, Outcome::ok) << result.measurements[0].detail;
  EXPECT_EQ(result.measurements.at(1).outcome, Outcome::failed);
  EXPECT_TRUE(result.measurements.at(1).marks.empty());
}

}  // namespace
}  // namespace colltune
