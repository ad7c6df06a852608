// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <string_view>

#include "colltune/flight/watchdog.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

template <std::size_t Capacity>
FixedText<Capacity> text(std::string_view from) {
  FixedText<Capacity> out;
  std::ranges::copy(from, out.bytes.begin());
  out.size = from.size();
  return out;
}

struct Where {
  int rank = 0;
  std::uint64_t collective_steps = 0;
  std::string_view variant;
  Fate fate = Fate::running;
  int fate_code = 0;
};

RankPosition position(const Where& where) {
  RankPosition out{.rank = where.rank,
                   .pid = 1000 + where.rank,
                   .host = text<64>("node7"),
                   .fate = where.fate,
                   .fate_code = where.fate_code,
                   .steps = 1};
  out.last[0] = {.sequence = where.collective_steps,
                 .collective_steps = where.collective_steps,
                 .activity = text<32>(where.variant.empty() ? "control" : "batch"),
                 .key_digest = text<32>(where.variant.empty() ? "" : "k"),
                 .variant = text<384>(where.variant),
                 .cell = 5,
                 .run = 2,
                 .begin = SteadyTime(1s),
                 .deadline = SteadyTime(2s + where.rank * 1ms)};
  return out;
}

constexpr int exited(int code) { return code << 8; }

TEST(Verdict, ACrashIsBlamedOnTheRankThatMarkedIt) {
  const LaunchVerdict verdict =
      judge({.wait_status = exited(139),
             .sweep_uuid = "u",
             .positions = {position({.rank = 0, .collective_steps = 8, .variant = "next{}"}),
                           position({.rank = 1,
                                     .collective_steps = 7,
                                     .variant = "bad{}",
                                     .fate = Fate::signalled,
                                     .fate_code = SIGSEGV})},
             .dead_first = {0, 1}});
  EXPECT_EQ(verdict.outcome, Outcome::crashed);
  EXPECT_EQ(verdict.trial,
            (FailedTrial{.sweep_uuid = "u", .key_digest = "k", .variant = "bad{}", .cell = 5}));
  EXPECT_THAT(verdict.detail, HasSubstr("rank 1 on node7 (pid 1001) crashed by signal 11"));
  EXPECT_THAT(verdict.detail, HasSubstr("exit code 139 (Segmentation fault)"));
}

TEST(Verdict, ARankThatDiedWithoutAWordIsTheOneThatWasDeadFirst) {
  const LaunchVerdict verdict =
      judge({.wait_status = exited(137),
             .positions = {position({.rank = 0, .collective_steps = 7, .variant = "a{}"}),
                           position({.rank = 1, .collective_steps = 7, .variant = "b{}"})},
             .dead_first = {1}});
  EXPECT_EQ(verdict.outcome, Outcome::crashed);
  ASSERT_TRUE(verdict.trial);
  EXPECT_EQ(verdict.trial->variant, "b{}");
}

TEST(Verdict, LatenessIsBlamedOnTheRankThatTheOthersWaitFor) {
  const LaunchVerdict verdict =
      judge({.wait_status = exited(late_exit_code),
             .positions = {position({.rank = 0, .collective_steps = 9, .fate = Fate::late}),
                           position({.rank = 1, .collective_steps = 8, .variant = "bad{}"})},
             .dead_first = {0, 1},
             .missing = {1}});
  EXPECT_EQ(verdict.outcome, Outcome::timed_out);
  ASSERT_TRUE(verdict.trial);
  EXPECT_EQ(verdict.trial->variant, "bad{}");
  EXPECT_THAT(verdict.detail, HasSubstr("rank 1 on node7 (pid 1001) did not come out of batch of "
                                        "bad{} (cell 5, run 2) in time; the others waited"));
}

TEST(Verdict, ARankLeftAloneInsideTheLibraryIsToldFromOneThatHangs) {
  RankPosition left = position({.rank = 0, .collective_steps = 8, .variant = "bad{}"});
  left.whereabouts = Whereabouts::at_peers;
  left.stack = text<256>("libmpi.so < acme.so");
  LaunchEnd end{.wait_status = exited(late_exit_code),
                .positions = {left, position({.rank = 1, .collective_steps = 9})},
                .missing = {0}};
  EXPECT_THAT(
      judge(end).detail,
      HasSubstr("rank 0 on node7 (pid 1000) in libmpi.so < acme.so did not come out of batch "
                "of bad{} (cell 5, run 2) in time, waiting for rank 1, who left that call"));
  end.positions[0].whereabouts = Whereabouts::elsewhere;
  end.positions[0].stack = text<256>("acme.so");
  EXPECT_THAT(judge(end).detail, HasSubstr("(pid 1000) in acme.so did not come out of batch of "
                                           "bad{} (cell 5, run 2) in time; the others waited"));
}

TEST(Verdict, LatenessOfAllIsBlamedOnTheStepThatWasDueFirst) {
  const LaunchVerdict verdict =
      judge({.wait_status = SIGTERM,
             .ended_for = EndedFor::lateness,
             .positions = {position({.rank = 1, .collective_steps = 8, .variant = "bad{}"}),
                           position({.rank = 0, .collective_steps = 8, .variant = "bad{}"})}});
  EXPECT_EQ(verdict.outcome, Outcome::timed_out);
  ASSERT_TRUE(verdict.trial);
  EXPECT_THAT(verdict.detail, HasSubstr("all ranks of this node were batch of bad{}"));
  EXPECT_THAT(verdict.detail, HasSubstr("signal 15 (Terminated)"));
}

TEST(Verdict, AStepOutsideATrialBlamesNoVariant) {
  const LaunchVerdict verdict = judge({.wait_status = exited(137),
                                       .positions = {position({.rank = 0, .collective_steps = 3})},
                                       .dead_first = {0}});
  EXPECT_FALSE(verdict.trial);
  EXPECT_EQ(verdict.cell, 5);
}

TEST(Verdict, AKilledLauncherBlamesNobody) {
  const LaunchVerdict verdict =
      judge({.wait_status = SIGKILL,
             .positions = {position({.rank = 0, .collective_steps = 7, .variant = "a{}"}),
                           position({.rank = 1, .collective_steps = 6, .variant = "a{}"})},
             .dead_first = {0, 1},
             .missing = {1}});
  EXPECT_FALSE(verdict.trial);
  EXPECT_THAT(verdict.detail, HasSubstr("the launcher was killed"));
}

TEST(Verdict, AHostThatIsGoneIsNoVariantsFault) {
  const LaunchVerdict verdict =
      judge({.wait_status = exited(124),
             .ended_for = EndedFor::lateness,
             .positions = {position({.rank = 0, .collective_steps = 7, .variant = "a{}"})},
             .lost_hosts = {{"lab1", "2, 3"}}});
  EXPECT_FALSE(verdict.trial);
  EXPECT_THAT(verdict.detail, HasSubstr("host lab1 (ranks 2, 3) does not answer any more"));
}

TEST(Verdict, AHostThatNeverAnsweredIsBlamedForAWaitButNotForACrash) {
  LaunchEnd end{.wait_status = exited(124),
                .ended_for = EndedFor::lateness,
                .positions = {position({.rank = 0, .collective_steps = 7, .variant = "a{}"})},
                .unclear_hosts = {{"lab1", "2"}, {"lab2", "3"}}};
  const LaunchVerdict late = judge(end);
  EXPECT_FALSE(late.trial);
  EXPECT_EQ(late.outcome, Outcome::timed_out);
  EXPECT_THAT(late.detail,
              HasSubstr("host lab1 (rank 2), host lab2 (rank 3) have not answered since this "
                        "launch began, lost or behind a firewall: no variant is blamed this time"));

  end.positions.front().fate = Fate::signalled;
  const LaunchVerdict crashed = judge(end);
  EXPECT_TRUE(crashed.trial);
  EXPECT_EQ(crashed.outcome, Outcome::crashed);
}

TEST(Verdict, AStepInWhichARankOfAnyHostWasStoppedIsNoVariantsFault) {
  // The step of the helper above began at second 1.
  LaunchEnd end{.wait_status = exited(124),
                .seen_at = SteadyTime(20s),
                .positions = {position({.rank = 0, .collective_steps = 7, .variant = "a{}"})},
                .hosts = {{"lab1", "2"}, {"lab2", "1"}},
                .stopped = {{.rank = 2, .host = "lab1", .last_seen = SteadyTime(1s)},
                            {.rank = 1, .host = "lab2", .last_seen = SteadyTime(9s)}}};
  const LaunchVerdict late = judge(end);
  EXPECT_FALSE(late.trial);
  EXPECT_EQ(late.outcome, Outcome::timed_out);
  EXPECT_EQ(late.cell, 5);
  EXPECT_THAT(late.detail, HasSubstr("rank 1 on lab2, rank 2 on lab1 were stopped (SIGSTOP, or a "
                                     "debugger): no variant is blamed"));

  end.stopped = {{.rank = 2, .host = "lab1", .last_seen = SteadyTime(999ms)}};
  EXPECT_TRUE(judge(end).trial) << "it went on before the step began";
  end.seen_at = SteadyTime(4s);
  EXPECT_FALSE(judge(end).trial) << "the launcher woke it, and it came to this step";

  end.stopped = {};
  end.positions.push_back(position({.rank = 1, .collective_steps = 7, .variant = "a{}"}));
  EXPECT_TRUE(judge(end).trial);
  end.positions.back().whereabouts = Whereabouts::stopped;
  EXPECT_FALSE(judge(end).trial) << "a watchdog saw it";
}

TEST(Verdict, AStoppedRankDoesNotExcuseACrashButADeathFromOutside) {
  LaunchEnd end{.wait_status = exited(139),
                .positions = {position({.rank = 0,
                                        .collective_steps = 7,
                                        .variant = "a{}",
                                        .fate = Fate::signalled,
                                        .fate_code = SIGSEGV})},
                .stopped = {{.rank = 2, .host = "lab1", .last_seen = SteadyTime(9s)}}};
  EXPECT_TRUE(judge(end).trial);
  end.positions[0].fate = Fate::running;
  end.wait_status = exited(137);
  end.dead_first = {0};
  EXPECT_FALSE(judge(end).trial) << "the launcher may have killed it, slowly";
  end.stopped.clear();
  EXPECT_TRUE(judge(end).trial);
}

TEST(Verdict, WhereNobodyHereIsBehindTheOtherHostsAreNamed) {
  const LaunchVerdict verdict =
      judge({.wait_status = exited(124),
             .ended_for = EndedFor::lateness,
             .positions = {position({.rank = 0, .collective_steps = 7, .variant = "a{}"})},
             .hosts = {{"lab1", "1"}}});
  EXPECT_THAT(verdict.detail, HasSubstr("they may have waited for host lab1 (rank 1)"));
}

TEST(Verdict, ADeathOnAnotherNodeIsBlamedOnTheStepWhereItWasMissed) {
  const LaunchVerdict verdict =
      judge({.wait_status = exited(139),
             .positions = {position({.rank = 0, .collective_steps = 7, .variant = "next{}"}),
                           position({.rank = 1, .collective_steps = 6, .variant = "bad{}"})},
             .missing = {1}});
  EXPECT_EQ(verdict.outcome, Outcome::crashed);
  ASSERT_TRUE(verdict.trial);
  EXPECT_EQ(verdict.trial->variant, "bad{}");
}

}  // namespace
}  // namespace colltune
