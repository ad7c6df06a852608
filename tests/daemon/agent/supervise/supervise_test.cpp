// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "supervised_launch.h"

namespace colltune::literals {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAreArray;

const std::vector<std::string> all_trials{"digest-of-cell-0 bad{}", "digest-of-cell-0 good{}",
                                          "digest-of-cell-1 bad{}", "digest-of-cell-1 good{}",
                                          "digest-of-cell-2 bad{}", "digest-of-cell-2 good{}"};
const std::vector<std::string> all_but_the_bad_one{
    "digest-of-cell-0 bad{}", "digest-of-cell-0 good{}", "digest-of-cell-1 good{}",
    "digest-of-cell-2 bad{}", "digest-of-cell-2 good{}"};
const std::string the_bad_one = "11111111-2222-3333-4444-555555555555|digest-of-cell-1|bad{}|1|";

/// Supervisors that start while it lives wait for 300 ms where others wait for seconds: for tests in
/// which all of that is waited out, however long it is.
class WithShortPatience {
 public:
  WithShortPatience() {
    for (const char* const variable : variables) EXPECT_EQ(setenv(variable, "300", 1), 0);
  }
  ~WithShortPatience() {
    for (const char* const variable : variables) EXPECT_EQ(unsetenv(variable), 0);
  }
  WithShortPatience(const WithShortPatience&) = delete;
  WithShortPatience& operator=(const WithShortPatience&) = delete;

 private:
  static constexpr std::array variables{"COLLTUNE_TEST_PATIENCE_MS", "COLLTUNE_TEST_FAREWELL_MS",
                                        "COLLTUNE_TEST_FINISH_PATIENCE_MS"};
};

std::string stem(const testing::TestParamInfo<std::string>& info) {
  return info.param[0] == '_' ? "underscore" + info.param : info.param;
}

TEST(Supervise, LeavesAGoodLaunchAlone) {
  SupervisedLaunch launch({}, {"none"});
  EXPECT_EQ(launch.wait(), 0) << launch.log();
  EXPECT_THAT(launch.lines("launches"), SizeIs(1));
  EXPECT_THAT(launch.lines("journal"), UnorderedElementsAreArray(all_trials));
  EXPECT_FALSE(launch.has("in-flight"));
  EXPECT_THAT(launch.processes(), IsEmpty());
}

TEST(Supervise, BlamesNoVariantForAHostThatNeverAnsweredUntilItComesToTheNextLaunch) {
  SupervisedLaunch launch({}, {"hang_beside_silent_hosts", "0", "2"});
  EXPECT_EQ(launch.wait(), 0) << launch.log();
  EXPECT_THAT(launch.lines("launches"), SizeIs(3));
  EXPECT_THAT(launch.log(), HasSubstr("host 255.255.255.255 (rank 2), host 224.0.0.1 (rank 3) have "
                                      "not answered since this launch began"));
  EXPECT_THAT(launch.lines("failures"), ElementsAre(StartsWith("timed_out|" + the_bad_one)));
  EXPECT_THAT(launch.lines("journal"), UnorderedElementsAreArray(all_trials));
  EXPECT_THAT(launch.processes(), IsEmpty());
}

class SuperviseCrash : public testing::TestWithParam<std::string> {};

TEST_P(SuperviseCrash, IsRecordedAndTheSweepGoesOn) {
  SupervisedLaunch launch({}, {GetParam(), "0", "1"});
  EXPECT_EQ(launch.wait(), 0) << launch.log();
  EXPECT_THAT(launch.lines("launches"), SizeIs(2));
  EXPECT_THAT(launch.lines("failures"), ElementsAre(StartsWith("crashed|" + the_bad_one)));
  EXPECT_THAT(launch.lines("journal"), UnorderedElementsAreArray(all_trials));
  EXPECT_THAT(launch.lines("quarantine"), IsEmpty());
  EXPECT_THAT(launch.processes(), IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(Kinds, SuperviseCrash,
                         testing::Values("segv", "abort", "kill", "exit", "_exit",
                                         "leave_child_and_crash"),
                         stem);

class SuperviseHang : public testing::TestWithParam<std::string> {};

TEST_P(SuperviseHang, IsEndedRecordedAndQuarantined) {
  // It takes no notice of SIGTERM, so that all of the patience is waited out, twice.
  const bool is_stubborn = GetParam() == "stubborn";
  const auto patience = is_stubborn ? std::make_unique<WithShortPatience>() : nullptr;
  SupervisedLaunch launch({}, {GetParam()});
  EXPECT_EQ(launch.wait(), 1) << launch.log();
  EXPECT_THAT(launch.lines("launches"), SizeIs(3));
  EXPECT_THAT(launch.lines("failures"), ElementsAre(StartsWith("timed_out|" + the_bad_one),
                                                    StartsWith("timed_out|" + the_bad_one)));
  EXPECT_THAT(launch.lines("quarantine"), ElementsAre("digest-of-cell-1 bad{}"));
  EXPECT_THAT(launch.lines("journal"), UnorderedElementsAreArray(all_but_the_bad_one));
  EXPECT_THAT(launch.processes(), IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(Kinds, SuperviseHang, testing::Values("hang", "watched_hang", "stubborn"),
                         stem);

TEST(Supervise, BlamesNoVariantForARankThatWasStopped) {
  SupervisedLaunch launch({}, {"stop", "0", "1"});
  EXPECT_EQ(launch.wait(), 0) << launch.log();
  EXPECT_THAT(launch.lines("launches"), SizeIs(2));
  EXPECT_THAT(launch.log(), ContainsRegex("timed_out: rank 0 on [^ ]+ was stopped .*: no variant "
                                          "is blamed"));
  EXPECT_THAT(launch.lines("failures"), IsEmpty());
  EXPECT_THAT(launch.lines("journal"), UnorderedElementsAreArray(all_trials));
  EXPECT_THAT(launch.processes(), IsEmpty());
}

TEST(Supervise, GivesUpWhereRanksAreStoppedInEveryLaunch) {
  SupervisedLaunch launch({}, {"stop"});
  EXPECT_EQ(launch.wait(), 4) << launch.log();
  EXPECT_THAT(launch.log(), HasSubstr("given up: 3 launches in a row got no further"));
  EXPECT_THAT(launch.lines("failures"), IsEmpty());
  EXPECT_THAT(launch.lines("journal"), SizeIs(2)) << "what was finished stays";
  EXPECT_THAT(launch.processes(), IsEmpty());
}

TEST(Supervise, WhereMemoryRunsOutNoVariantIsBlamedAndTheLoopEnds) {
  SupervisedLaunch launch({}, {"run_out_of_memory"});
  EXPECT_EQ(launch.wait(), 4) << launch.log();
  EXPECT_THAT(launch.lines("launches"), SizeIs(3));
  EXPECT_THAT(launch.lines("failures"), IsEmpty());
  EXPECT_THAT(launch.lines("quarantine"), IsEmpty());
  EXPECT_THAT(launch.lines("journal"), SizeIs(2)) << "what was finished stays";
  EXPECT_THAT(launch.log(), HasSubstr("given up: memory ran out in 3 launches"));
}

TEST(Supervise, WhereMemoryRanOutOnceTheSweepGoesOn) {
  SupervisedLaunch launch({}, {"run_out_of_memory", "0", "2"});
  EXPECT_EQ(launch.wait(), 0) << launch.log();
  EXPECT_THAT(launch.lines("failures"), IsEmpty());
  EXPECT_THAT(launch.lines("journal"), UnorderedElementsAreArray(all_trials));
}

TEST(Supervise, WhatKillsUnlikeVariantsOfAKeyAlikeIsNoneOfThem) {
  SupervisedLaunch launch({}, {"kill_each"});
  EXPECT_EQ(launch.wait(), 4) << launch.log();
  EXPECT_THAT(launch.lines("launches"), SizeIs(4));
  EXPECT_THAT(launch.lines("quarantine"), ElementsAre("digest-of-cell-1 bad{}"));
  EXPECT_THAT(launch.lines("released"), ElementsAre("digest-of-cell-1 bad{}"));
  EXPECT_THAT(launch.log(), HasSubstr("bad{} and good{} alike"));
}

TEST(Supervise, SaysWhoCrashedOnWhatAndWhere) {
  SupervisedLaunch launch({}, {"segv", "0", "1"});
  launch.wait();
  EXPECT_THAT(
      launch.log(),
      AllOf(HasSubstr("crashed by signal 11 (Segmentation fault) in batch of bad{} (cell 1, "
                      "run 1)"),
            HasSubstr("before: vote")));
}

TEST(Supervise, PrintsTheWatchdogsReport) {
  SupervisedLaunch launch({}, {"watched_hang", "0", "1"});
  launch.wait();
  EXPECT_THAT(launch.log(), HasSubstr("batch of bad{} did not end within its limit of 0.800 s"));
}

TEST(Supervise, QuarantinesAVariantThatCrashesAgain) {
  SupervisedLaunch launch({}, {"kill"});
  EXPECT_EQ(launch.wait(), 1) << launch.log();
  EXPECT_THAT(launch.lines("failures"), SizeIs(2));
  EXPECT_THAT(launch.lines("journal"), UnorderedElementsAreArray(all_but_the_bad_one));
}

TEST(Supervise, DoesNotRepeatALaunchThatRefusesItsInput) {
  SupervisedLaunch launch({}, {"wrong_input"});
  EXPECT_EQ(launch.wait(), 2) << launch.log();
  EXPECT_THAT(launch.lines("launches"), SizeIs(1));
}

TEST(Supervise, DoesNotRepeatALaunchThatRefusesInTheMiddle) {
  SupervisedLaunch launch({}, {"refuse"});
  EXPECT_EQ(launch.wait(), 4) << launch.log();
  EXPECT_THAT(launch.lines("launches"), SizeIs(1));
}

TEST(Supervise, SaysThatTheLauncherIsMissing) {
  SupervisedLaunch launch({"/nowhere/mpirun"}, {});
  EXPECT_EQ(launch.wait(), 2) << launch.log();
  EXPECT_THAT(launch.log(), HasSubstr("cannot start '/nowhere/mpirun': No such file"));
}

TEST(Supervise, RefusesAnEmptyCommand) {
  SupervisedLaunch launch(std::vector<std::string>{});
  EXPECT_EQ(launch.wait(), 2);
  EXPECT_THAT(launch.log(), HasSubstr("nothing to start"));
}

TEST(Supervise, GivesUpOnLaunchesThatNeverBegin) {
  SupervisedLaunch launch({}, {"die_early"});
  EXPECT_EQ(launch.wait(), 4) << launch.log();
  EXPECT_THAT(launch.lines("launches"), SizeIs(3));
}

TEST(Supervise, GivesUpOnLaunchesThatGetNoFurther) {
  SupervisedLaunch launch({}, {"crash_outside_trial"});
  EXPECT_EQ(launch.wait(), 4) << launch.log();
  EXPECT_THAT(launch.lines("failures"), IsEmpty());
  EXPECT_THAT(launch.log(), HasSubstr("in a row got no further"));
}

TEST(Supervise, KeepsWhatAFinishedSweepStored) {
  SupervisedLaunch launch({}, {"finish_badly"});
  EXPECT_EQ(launch.wait(), 1) << launch.log();
  EXPECT_THAT(launch.lines("launches"), SizeIs(1));
  EXPECT_THAT(launch.lines("failures"), IsEmpty());
}

TEST(Supervise, EndsALaunchThatDoesNotEndWhenAllIsStored) {
  const WithShortPatience patience;
  SupervisedLaunch launch({}, {"finish_never"});
  EXPECT_EQ(launch.wait(), 1) << launch.log();
  EXPECT_THAT(launch.lines("launches"), SizeIs(1));
  EXPECT_THAT(launch.processes(), IsEmpty());
}

TEST(Supervise, EndsLaunchesInWhichNoRankBegins) {
  ASSERT_EQ(setenv("COLLTUNE_TEST_START_PATIENCE_MS", "300", 1), 0);
  SupervisedLaunch launch({}, {"never_begin"});
  ASSERT_EQ(unsetenv("COLLTUNE_TEST_START_PATIENCE_MS"), 0);
  EXPECT_EQ(launch.wait(), 4) << launch.log();
  EXPECT_THAT(launch.processes(), IsEmpty());
}

TEST(Supervise, PassesOnUserSignals) {
  SupervisedLaunch launch({}, {"linger", "0", "1"});
  ASSERT_TRUE(comes_true([&] { return !launch.lines("lingers").empty(); })) << launch.log();
  launch.signal(SIGUSR1);
  EXPECT_TRUE(comes_true([&] { return launch.lines("signals").size() == 1; }));
  launch.signal(SIGUSR2);
  EXPECT_TRUE(comes_true([&] { return launch.lines("signals").size() == 2; }));
  launch.touch("go");
  EXPECT_EQ(launch.wait(), 0) << launch.log();
  EXPECT_THAT(launch.lines("signals"),
              ElementsAre(std::to_string(SIGUSR1), std::to_string(SIGUSR2)));
}

class SuperviseSignal : public testing::TestWithParam<int> {};

TEST_P(SuperviseSignal, EndsTheLaunchAndBlamesNobody) {
  SupervisedLaunch launch({}, {"linger"});
  ASSERT_TRUE(comes_true([&] { return !launch.lines("lingers").empty(); })) << launch.log();
  launch.signal(GetParam());
  EXPECT_EQ(launch.wait(), 128 + GetParam()) << launch.log();
  EXPECT_THAT(launch.processes(), IsEmpty());
  EXPECT_THAT(launch.lines("launches"), SizeIs(1));
  EXPECT_THAT(launch.lines("failures"), IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(Kinds, SuperviseSignal, testing::Values(SIGINT, SIGTERM, SIGHUP));

TEST(Supervise, EndsALaunchThatTakesNoNoticeOfTheUser) {
  const WithShortPatience patience;
  SupervisedLaunch launch({}, {"linger_stubbornly"});
  ASSERT_TRUE(comes_true([&] { return !launch.lines("lingers").empty(); })) << launch.log();
  launch.signal(SIGINT);
  EXPECT_EQ(launch.wait(), 128 + SIGINT);
  EXPECT_THAT(launch.processes(), IsEmpty());
}

TEST(Supervise, LeavesNoProcessWhenItIsKilled) {
  SupervisedLaunch launch({}, {"linger_stubbornly"});
  ASSERT_TRUE(comes_true([&] { return !launch.lines("lingers").empty(); })) << launch.log();
  launch.signal(SIGKILL);
  EXPECT_EQ(launch.wait(), 128 + SIGKILL);
  EXPECT_TRUE(comes_true([&] { return launch.processes().empty(); }));
}

TEST(Supervise, BeginsWhenTheLaunchOfAKilledOneHasEnded) {
  SupervisedLaunch killed({}, {"linger_stubbornly"});
  ASSERT_TRUE(comes_true([&] { return !killed.lines("lingers").empty(); })) << killed.log();
  killed.signal(SIGKILL);
  EXPECT_EQ(killed.wait(), 128 + SIGKILL);
  SupervisedLaunch again(killed, {"none"});
  ASSERT_TRUE(comes_true([&] { return again.lines("launches").size() == 2; })) << again.log();
  EXPECT_THAT(killed.processes(), IsEmpty());
  EXPECT_EQ(again.wait(), 0) << again.log();
  EXPECT_THAT(again.log(), HasSubstr("waiting for the launch of process "));
  EXPECT_THAT(again.lines("journal"), UnorderedElementsAreArray(all_trials));
}

TEST(Supervise, RefusesASecondOneOnTheSameDatabase) {
  SupervisedLaunch first({}, {"linger", "0", "1"});
  ASSERT_TRUE(comes_true([&] { return !first.lines("lingers").empty(); })) << first.log();
  ASSERT_EQ(setenv("COLLTUNE_TEST_LOCK_PATIENCE_MS", "50", 1), 0);
  SupervisedLaunch second(first, {"none"});
  ASSERT_EQ(unsetenv("COLLTUNE_TEST_LOCK_PATIENCE_MS"), 0);
  EXPECT_EQ(second.wait(), 2) << second.log();
  EXPECT_THAT(second.log(),
              HasSubstr("supervised by process " + std::to_string(first.driver()) + ","));
  first.touch("go");
  EXPECT_EQ(first.wait(), 0) << first.log();
  EXPECT_THAT(first.lines("launches"), SizeIs(1));
  EXPECT_THAT(first.lines("journal"), UnorderedElementsAreArray(all_trials));
}

TEST(Supervise, GoesOnWhenTheKeeperIsKilled) {
  SupervisedLaunch launch({}, {"linger", "0", "1"});
  ASSERT_TRUE(comes_true([&] { return !launch.lines("lingers").empty(); })) << launch.log();
  const pid_t keeper = launch.child_of(launch.driver());
  ASSERT_GT(keeper, 0);
  kill(keeper, SIGKILL);
  EXPECT_EQ(launch.wait(), 0) << launch.log();
  EXPECT_THAT(launch.lines("launches"), SizeIs(2));
  EXPECT_THAT(launch.lines("journal"), UnorderedElementsAreArray(all_trials));
  EXPECT_THAT(launch.processes(), IsEmpty());
}

TEST(Supervise, TheLauncherEndsWithBothSupervisorAndKeeper) {
  SupervisedLaunch launch({}, {"linger"});
  ASSERT_TRUE(comes_true([&] { return !launch.lines("lingers").empty(); })) << launch.log();
  const pid_t keeper = launch.child_of(launch.driver());
  ASSERT_GT(keeper, 0);
  launch.signal(SIGSTOP);
  kill(keeper, SIGKILL);
  launch.signal(SIGKILL);
  EXPECT_EQ(launch.wait(), 128 + SIGKILL);
  EXPECT_TRUE(comes_true([&] { return launch.processes().empty(); }));
}

}  // namespace
}  // namespace colltune::literals
