// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What goes wrong in a trial: found, put down to its author, and the cell goes on.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>

#include "colltune/sweep/measure/measure.h"
#include "one_cell.h"

namespace colltune {
namespace {

using fakes::impatient_policy;
using fakes::measure;
using fakes::plan_of;
using fakes::short_policy;
using fakes::spoiler;
using ::testing::AllOf;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

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
                   {.name = "bad", .is_waited_for = true, .at_prepare = [](int rank, int) {
                      if (rank == 1) throw Error(StatusCode::internal, "not here");
                    }}});
  const auto result = measure(implementations, 3, impatient_policy());
  EXPECT_EQ(result.measurements.at(0).outcome, Outcome::ok) << result.measurements[0].detail;
  EXPECT_EQ(result.measurements.at(1).outcome, Outcome::failed);
  EXPECT_EQ(result.measurements.at(1).detail, "rank 1: not here");
}

TEST(Measure, AMissingImplementationOnARankIsAFault) {
  const auto full =
      fakes::make({{.name = "base", .is_baseline = true}, {.name = "b", .is_waited_for = true}});
  const auto plan = plan_of(full, 2);
  const auto lacking = fakes::make({{.name = "base", .is_baseline = true}});
  std::vector<Measurement> measurements;
  AbortFlag stop;
  fakes::on_ranks(2, 20s, [&](ControlPlane& control, Communicator& launch) {
    Measurer measurer({control, launch, control.rank() == 0 ? full : lacking, plan},
                      impatient_policy());
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
  fakes::Behaviour bad{.name = "bad", .is_waited_for = true};
  (in_start ? bad.at_start : bad.at_wait) = raise;
  const auto implementations =
      fakes::make({{.name = "base", .is_baseline = true}, bad, {.name = "c"}});
  const auto result = measure(implementations, 3, impatient_policy());
  EXPECT_EQ(result.measurements.at(0).outcome, Outcome::ok) << result.measurements[0].detail;
  EXPECT_EQ(result.measurements.at(2).outcome, Outcome::ok) << result.measurements[2].detail;
  const auto& failed = result.measurements.at(1);
  // The ranks that waited in vain timed out; the cause is what counts.
  EXPECT_EQ(failed.outcome, Outcome::failed);
  EXPECT_EQ(failed.detail, "rank 1: planted");
  EXPECT_TRUE(failed.samples.empty());
  EXPECT_EQ(failed.ranks_failed, 3);
}

TEST(Measure, WhatIsNotThereAfterAllIsNoFault) {
  const auto absent = [](int, int) { throw UnavailableHere("the library has none"); };
  const auto implementations = fakes::make(
      {{.name = "base", .is_baseline = true}, {.name = "a", .at_prepare = absent}, {.name = "c"}});
  const auto result = measure(implementations, 2);
  EXPECT_EQ(result.measurements.at(0).outcome, Outcome::ok) << result.measurements[0].detail;
  EXPECT_EQ(result.measurements.at(2).outcome, Outcome::ok) << result.measurements[2].detail;
  const auto& found = result.measurements.at(1);
  EXPECT_EQ(found.outcome, Outcome::unavailable);
  EXPECT_EQ(found.detail, "rank 0: the library has none");
  EXPECT_EQ(found.ranks_failed, 0);
  EXPECT_TRUE(found.samples.empty());
}

/// The step in which one rank alone finds that it is not there.
class NotThereOnOneRank : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Steps, NotThereOnOneRank, testing::Bool());

TEST_P(NotThereOnOneRank, IsSoOnAllAndTheCellGoesOn) {
  const auto absent = [](int rank, int call) {
    if (rank == 1 && call == 0) throw UnavailableHere("the library has none");
  };
  fakes::Behaviour one{.name = "a", .is_waited_for = true};
  (GetParam() ? one.at_prepare : one.at_wait) = absent;
  const auto implementations =
      fakes::make({{.name = "base", .is_baseline = true}, one, {.name = "c"}});
  const auto result = measure(implementations, 3, impatient_policy());
  EXPECT_EQ(result.measurements.at(0).outcome, Outcome::ok) << result.measurements[0].detail;
  EXPECT_EQ(result.measurements.at(2).outcome, Outcome::ok) << result.measurements[2].detail;
  EXPECT_EQ(result.measurements.at(1).outcome, Outcome::unavailable)
      << "those that waited in vain are not the cause";
  EXPECT_EQ(result.measurements.at(1).detail, "rank 1: the library has none");
}

TEST(Measure, AFaultOnAnotherRankCountsMoreThanWhatIsNotThere) {
  const auto implementations = fakes::make(
      {{.name = "base", .is_baseline = true}, {.name = "a", .at_prepare = [](int rank, int) {
                                                 if (rank == 1) throw std::runtime_error("planted");
                                                 throw UnavailableHere("the library has none");
                                               }}});
  const auto result = measure(implementations, 2);
  EXPECT_EQ(result.measurements.at(1).outcome, Outcome::failed);
  EXPECT_EQ(result.measurements.at(1).detail, "rank 1: planted");
  EXPECT_EQ(result.measurements.at(1).ranks_failed, 1);
}

TEST(Measure, ARankThatHangsBeyondTheLimitIsTimedOut) {
  const auto implementations =
      fakes::make({{.name = "base", .is_baseline = true},
                   {.name = "slow", .is_waited_for = true, .at_wait = [](int rank, int call) {
                      if (rank == 1 && call == 3) std::this_thread::sleep_for(1s);
                    }}});
  const auto result = measure(implementations, 2, impatient_policy());
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
    Measurer measurer({control, launch, implementations, plan}, impatient_policy());
    EXPECT_THROW((void)measurer.measure({}, {}, stop), RankMissing);
  });
}

}  // namespace
}  // namespace colltune
