// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/execution/call_times.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace colltune {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

nanoseconds fake{};
nanoseconds of_reading{};
nanoseconds fake_now() { return fake += of_reading; }

class CallTimers : public ::testing::Test {
 protected:
  CallTimers() { fake = of_reading = {}; }

  static void call(CallTimer& timer, CallSamples& of, nanoseconds takes) {
    timer.begin(of);
    fake += takes;
    timer.end();
    fake += milliseconds(1);  // the program's own work
  }
};

TEST_F(CallTimers, ScaleLateCallsAlone) {
  CallTimer timer(fake_now);
  CallSamples samples;
  call(timer, samples, milliseconds(50));
  for (std::uint64_t i = 1; i < CallSamples::early; ++i) call(timer, samples, microseconds(100));
  for (int i = 0; i < 10000; ++i) call(timer, samples, microseconds(3));
  EXPECT_EQ(samples.calls, 10000 + CallSamples::early);
  EXPECT_GE(samples.late_timed, 10000 / 96U);
  EXPECT_LE(samples.late_timed, 10000 / 32U);
  const CallTimes times = samples.estimate();
  EXPECT_EQ(times.calls, samples.calls);
  EXPECT_EQ(times.timed, CallSamples::early + samples.late_timed);
  EXPECT_EQ(times.of_first, milliseconds(50));
  EXPECT_EQ(times.all, milliseconds(50) + microseconds(100) * (CallSamples::early - 1) +
                           microseconds(3) * 10000);
}

TEST_F(CallTimers, MeetNoPeriodOfAProgram) {
  for (const int period : {32, 48, 64, 96, 128}) {
    CallTimer timer(fake_now);
    CallSamples samples;
    constexpr int calls = 4'000'000;
    int slow = 0;
    for (int i = 0; i < calls; ++i) {
      const bool is_slow = i % period == period - 1;
      slow += is_slow ? 1 : 0;
      call(timer, samples, is_slow ? microseconds(1) : nanoseconds(0));
    }
    const auto estimate = static_cast<double>(samples.estimate().all.count());
    EXPECT_NEAR(estimate / (slow * 1e3), 1, 0.2) << period;
  }
}

TEST_F(CallTimers, TimeEachKindByItsOwnSamples) {
  CallTimer timer(fake_now);
  CallSamples often;
  CallSamples rare;
  for (int i = 0; i < 50000; ++i) {
    call(timer, often, microseconds(1));
    if (i % 10 == 0) call(timer, rare, microseconds(20));
  }
  EXPECT_EQ(often.estimate().all, microseconds(50000));
  EXPECT_EQ(rare.estimate().all, microseconds(20 * 5000));
  EXPECT_NEAR(static_cast<double>(often.late_timed) / static_cast<double>(rare.late_timed), 10, 4);
}

TEST_F(CallTimers, TakeTheEarlyOnesForTheLateOnesIfTheyHaveNoOthers) {
  CallTimer timer(fake_now);
  CallSamples samples;
  call(timer, samples, milliseconds(9));
  while (samples.late_timed == 0 && samples.calls < 200) {
    const CallTimes times = samples.estimate();
    EXPECT_EQ(times.all, milliseconds(9) + microseconds(5) * (samples.calls - 1));
    EXPECT_EQ(times.timed, std::min(samples.calls, CallSamples::early));
    call(timer, samples, microseconds(5));
  }
  EXPECT_LE(samples.calls, CallSamples::early + 64);
}

TEST_F(CallTimers, TakeUnlikeCallsByUnlikeSeeds) {
  std::set<std::uint64_t> firsts;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    CallTimer timer(fake_now, seed);
    CallSamples samples;
    while (samples.late_timed == 0) call(timer, samples, microseconds(5));
    firsts.insert(samples.calls - CallSamples::early);
  }
  EXPECT_GT(firsts.size(), 50U);
  EXPECT_GE(*firsts.begin(), 1U);
  EXPECT_LE(*firsts.rbegin(), 64U);
}

TEST_F(CallTimers, LeaveOutWhatTheClockTakes) {
  of_reading = nanoseconds(25);
  CallTimer timer(fake_now);
  CallSamples samples;
  for (int i = 0; i < 5; ++i) call(timer, samples, nanoseconds(70));
  EXPECT_EQ(samples.estimate().all, nanoseconds(350));
}

TEST_F(CallTimers, LeaveOutWhatAProgramDoesBetweenStartAndWait) {
  CallTimer timer(fake_now);
  CallSamples samples;
  timer.begin(samples);
  fake += microseconds(2);
  timer.pause();
  fake += milliseconds(100);
  timer.go_on();
  fake += microseconds(3);
  timer.end();
  EXPECT_EQ(samples.estimate().all, microseconds(5));
}

TEST_F(CallTimers, WithoutAClockOnlyCount) {
  CallTimer timer;
  CallSamples samples;
  for (int i = 0; i < 1000; ++i) call(timer, samples, microseconds(1));
  const CallTimes times = samples.estimate();
  EXPECT_EQ(times.calls, 1000U);
  EXPECT_EQ(times.timed, 0U);
  EXPECT_EQ(times.all.count(), 0);
}

TEST_F(CallTimers, SumOverCommunicatorsWithAFirstCallOnEach) {
  CallTimes sum;
  for (int communicator = 0; communicator < 3; ++communicator) {
    CallTimer timer(fake_now);
    CallSamples samples;
    call(timer, samples, milliseconds(1));
    for (int i = 0; i < 4; ++i) call(timer, samples, microseconds(10));
    sum += samples.estimate();
  }
  EXPECT_EQ(sum.calls, 15U);
  EXPECT_EQ(sum.first_calls, 3U);
  EXPECT_EQ(sum.of_first, milliseconds(3));
  EXPECT_DOUBLE_EQ(sum.mean().count(), 10e3);
}

}  // namespace
}  // namespace colltune
