// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

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

const std::vector<std::string> launcher{COLLTUNE_LAUNCHER, "-n", "2"};

bool lingers(const SupervisedLaunch& launch) {
  return comes_true([&] { return !launch.lines("lingers").empty(); });
}

struct Kind {
  std::string fault;
  std::string outcome;
  std::string words;  ///< in the failure's detail
};
void PrintTo(const Kind& kind, std::ostream* out) { *out << kind.fault; }

class MpirunFailure : public testing::TestWithParam<Kind> {};

TEST_P(MpirunFailure, IsBlamedOnTheRightRankAndTheSweepGoesOn) {
  SupervisedLaunch launch(launcher, {GetParam().fault, "1", "1"});
  EXPECT_EQ(launch.wait(), 0) << launch.log();
  EXPECT_THAT(launch.lines("launches"), SizeIs(2)) << launch.log();
  EXPECT_THAT(launch.lines("failures"),
              ElementsAre(AllOf(HasSubstr(GetParam().outcome), HasSubstr("|bad{}|1|"),
                                HasSubstr(GetParam().words))))
      << launch.log();
  EXPECT_THAT(launch.lines("journal"), SizeIs(6));
  EXPECT_THAT(launch.processes(), IsEmpty());
}
INSTANTIATE_TEST_SUITE_P(Kinds, MpirunFailure,
                         testing::Values(Kind{"segv", "crashed", "rank 1 on "},
                                         Kind{"kill", "crashed", "rank 1 on "},
                                         Kind{"exit", "crashed", "rank 1 on "},
                                         Kind{"hang", "timed_out", "bad{}"},
                                         Kind{"watched_hang", "timed_out", "bad{}"},
                                         Kind{"stubborn", "timed_out", "bad{}"}));

TEST(Mpirun, LaunchesAgainWhenARankWasStoppedAndBlamesNobody) {
  SupervisedLaunch launch(launcher, {"stop", "1", "1"});
  EXPECT_EQ(launch.wait(), 0) << launch.log();
  EXPECT_THAT(launch.lines("launches"), SizeIs(2)) << launch.log();
  EXPECT_THAT(launch.log(), ContainsRegex("timed_out: rank 1 on [^ ]+ was stopped"));
  EXPECT_THAT(launch.lines("failures"), IsEmpty());
  EXPECT_THAT(launch.lines("journal"), SizeIs(6));
  EXPECT_THAT(launch.processes(), IsEmpty());
}

TEST(Mpirun, GoesOnWhenItIsKilledAndBlamesNobody) {
  SupervisedLaunch launch(launcher, {"linger", "1", "1"});
  ASSERT_TRUE(lingers(launch)) << launch.log();
  const pid_t mpirun = launch.child_of(launch.child_of(launch.driver()));
  ASSERT_GT(mpirun, 0);
  kill(mpirun, SIGKILL);
  EXPECT_EQ(launch.wait(), 0) << launch.log();
  EXPECT_THAT(launch.lines("launches"), SizeIs(2));
  EXPECT_THAT(launch.lines("failures"), IsEmpty());
  EXPECT_THAT(launch.processes(), IsEmpty());
}

TEST(Mpirun, IsWokenUpWhereItIsStopped) {
  SupervisedLaunch launch(launcher, {"linger", "1", "1"});
  ASSERT_TRUE(lingers(launch)) << launch.log();
  const pid_t mpirun = launch.child_of(launch.child_of(launch.driver()));
  ASSERT_GT(mpirun, 0);
  kill(mpirun, SIGSTOP);
  const std::string line = "the launcher (process " + std::to_string(mpirun) + ") was stopped";
  EXPECT_TRUE(comes_true([&] { return launch.log().find(line) != std::string::npos; }));
  launch.touch("go");
  EXPECT_EQ(launch.wait(), 0) << launch.log();
  EXPECT_THAT(launch.lines("launches"), SizeIs(1));
  EXPECT_THAT(launch.lines("failures"), IsEmpty());
}

TEST(Mpirun, EndsWithTheSupervisor) {
  SupervisedLaunch launch(launcher, {"linger_stubbornly", "1"});
  ASSERT_TRUE(lingers(launch)) << launch.log();
  launch.signal(SIGKILL);
  EXPECT_EQ(launch.wait(), 128 + SIGKILL);
  EXPECT_TRUE(comes_true([&] { return launch.processes().empty(); }));
}

TEST(Mpirun, IsInterruptedByTheUser) {
  SupervisedLaunch launch(launcher, {"linger", "1"});
  ASSERT_TRUE(lingers(launch)) << launch.log();
  launch.signal(SIGINT);
  EXPECT_EQ(launch.wait(), 128 + SIGINT) << launch.log();
  EXPECT_THAT(launch.lines("failures"), IsEmpty());
  EXPECT_THAT(launch.processes(), IsEmpty());
}

}  // namespace
}  // namespace colltune::literals
