// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/flight/flight_recorder.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "colltune/flight/flight_board.h"
#include "colltune/flight/process_status.h"
#include "colltune/flight/watchdog.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// Memory for the records of a few ranks.
struct Memory {
  struct alignas(64) Region {
    std::array<std::byte, flight_region_size> bytes{};
  };
  explicit Memory(std::size_t ranks) : regions(ranks) {}
  std::span<std::byte> board() { return std::as_writable_bytes(std::span(regions)); }
  std::span<std::byte> region(std::size_t i) { return regions[i].bytes; }
  std::vector<Region> regions;
};

TEST(FlightRecorder, ShowsTheCurrentStepAndThoseBefore) {
  Memory memory(1);
  FlightRecorder recorder(memory.region(0), 7);
  EXPECT_EQ(read_position(memory.region(0))->current(), nullptr);
  EXPECT_FALSE(read_current_step(memory.region(0)));
  recorder.enter({.activity = "control"}, SteadyTime(5s));
  recorder.enter({.activity = "journal", .is_collective = false}, SteadyTime(6s));
  recorder.enter({.activity = "batch",
                  .key_digest = "0123456789abcdef0123456789abcdef",
                  .variant = "ring{chunk=4096}",
                  .cell = 3,
                  .run = 17,
                  .limit = 2s},
                 SteadyTime(8s));

  const auto position = read_position(memory.region(0));
  ASSERT_TRUE(position);
  EXPECT_EQ(position->rank, 7);
  EXPECT_EQ(position->pid, getpid());
  EXPECT_EQ(position->start_ticks, read_process_status(getpid())->start_ticks);
  EXPECT_EQ(position->fate, Fate::running);
  ASSERT_EQ(position->steps, 3U);
  const FlightStepRecord& step = *position->current();
  EXPECT_EQ(step.sequence, 3U);
  EXPECT_EQ(step.collective_steps, 2U);
  EXPECT_EQ(step.activity.view(), "batch");
  EXPECT_EQ(step.key_digest.view(), "0123456789abcdef0123456789abcdef");
  EXPECT_EQ(step.variant.view(), "ring{chunk=4096}");
  EXPECT_FALSE(step.variant_is_cut);
  EXPECT_EQ(step.cell, 3);
  EXPECT_EQ(step.run, 17);
  EXPECT_EQ(step.begin, SteadyTime(8s));
  EXPECT_EQ(step.deadline, SteadyTime(10s));
  EXPECT_EQ(position->last[1].activity.view(), "journal");
  EXPECT_EQ(position->last[1].collective_steps, 1U);
  EXPECT_FALSE(position->last[1].deadline);
  EXPECT_EQ(position->last[2].activity.view(), "control");
  EXPECT_EQ(read_current_step(memory.region(0))->sequence, 3U);
}

TEST(FlightRecorder, KeepsTheLastSteps) {
  Memory memory(1);
  FlightRecorder recorder(memory.region(0), 0);
  for (int run = 1; run <= 100; ++run) recorder.enter({.activity = "batch", .run = run});
  const auto position = read_position(memory.region(0));
  ASSERT_EQ(position->steps, steps_kept);
  for (std::size_t i = 0; i < steps_kept; ++i)
    EXPECT_EQ(position->last[i].run, 100 - static_cast<int>(i));
}

TEST(FlightRecorder, CutsTextThatIsTooLong) {
  Memory memory(1);
  FlightRecorder recorder(memory.region(0), 0);
  const std::string variant(1000, 'v');
  recorder.enter({.activity = std::string(50, 'p'), .variant = variant});
  recorder.enter({.activity = "batch", .variant = variant.substr(0, 384)});
  const auto position = read_position(memory.region(0));
  EXPECT_EQ(position->last[1].activity.view(), std::string(32, 'p'));
  EXPECT_EQ(position->last[1].variant.view(), variant.substr(0, 384));
  EXPECT_TRUE(position->last[1].variant_is_cut);
  EXPECT_FALSE(position->last[0].variant_is_cut);
}

TEST(FlightRecorder, RefusesMemoryThatDoesNotFit) {
  Memory memory(2);
  EXPECT_THROW(FlightRecorder(memory.board(), 0), Error);
  EXPECT_THROW(FlightRecorder(memory.board().subspan(8, flight_region_size), 0), Error);
}

TEST(FlightRecorder, ReadersKnowWhatIsNoneOfOurs) {
  Memory memory(3);
  EXPECT_FALSE(read_position(memory.region(0)));
  EXPECT_FALSE(read_position(memory.region(0).first(100)));
  const FlightRecorder recorder(memory.region(1), 4);
  const auto board = read_board(memory.board());
  ASSERT_THAT(board, SizeIs(1));
  EXPECT_EQ(board[0].rank, 4);
  memory.regions[1].bytes[8] = std::byte{99};  // the layout's version
  EXPECT_FALSE(read_position(memory.region(1)));
}

TEST(FlightRecorder, TheFirstFateCounts) {
  Memory memory(1);
  FlightRecorder recorder(memory.region(0), 0);
  recorder.mark(Fate::signalled, SIGBUS);
  recorder.mark(Fate::exited);
  const auto position = read_position(memory.region(0));
  EXPECT_EQ(position->fate, Fate::signalled);
  EXPECT_EQ(position->fate_code, SIGBUS);
}

TEST(FlightRecorder, AReaderNeverSeesAStepThatWasNotEntered) {
  Memory memory(1);
  FlightRecorder recorder(memory.region(0), 0);
  // Every field of a step follows from its number, so that a torn read shows.
  const std::vector<std::string> variants{"a{}", "bb{chunk=1}", std::string(200, 'c'),
                                          std::string(384, 'd')};
  const auto variant_of = [&](std::uint64_t run) { return variants[run % variants.size()]; };
  std::atomic<bool> is_done{false};
  std::jthread writer([&] {
    for (std::int64_t run = 1; run <= 50'000; ++run)
      recorder.enter({.activity = "batch",
                      .variant = variant_of(static_cast<std::uint64_t>(run)),
                      .cell = 2 * run,
                      .run = run});
    is_done = true;
  });
  std::uint64_t newest = 0;
  std::uint64_t looks = 0;
  while (!is_done || looks == 0) {
    if (const auto step = read_current_step(memory.region(0))) {
      ASSERT_EQ(static_cast<std::uint64_t>(step->run), step->sequence);
      ASSERT_EQ(step->cell, 2 * step->run);
      ASSERT_EQ(step->variant.view(), variant_of(step->sequence));
      ASSERT_GE(step->sequence, newest);
      newest = step->sequence;
      ++looks;
    }
  }
  writer.join();
  EXPECT_EQ(read_current_step(memory.region(0))->sequence, 50'000U);
}

TEST(ProcessStatus, KnowsTheLivingAndTheAbsent) {
  const auto own = read_process_status(getpid());
  ASSERT_TRUE(own);
  EXPECT_EQ(own->parent, getppid());
  EXPECT_GT(own->start_ticks, 0U);
  EXPECT_FALSE(read_process_status(0x7ffffffe));
}

TEST(FlightBoard, SaysWhoIsWhereAndWhoWaitsForWhom) {
  Memory memory(3);
  FlightRecorder ahead(memory.region(0), 0);
  FlightRecorder behind(memory.region(1), 1);
  const FlightStep batch{
      .activity = "batch", .variant = "ring{}", .cell = 3, .run = 17, .limit = 1s};
  ahead.enter(batch, SteadyTime(10s));
  ahead.enter({.activity = "vote", .limit = 10s}, SteadyTime(11s));
  behind.enter(batch, SteadyTime(10s));

  std::vector<char> text(8192);
  const std::size_t size = render_board(memory.board(), SteadyTime(13s), 4, text);
  EXPECT_THAT(std::string(text.data(), size),
              AllOf(HasSubstr("vote, for 2.000 s; 1 steps ahead"),
                    HasSubstr("before: batch of ring{} (cell 3, run 17), took 1.000 s"),
                    HasSubstr("batch of ring{} (cell 3, run 17), for 3.000 s, late by 2.000 s; "
                              "behind: the others wait for it"),
                    HasSubstr("record 2: no rank recorded anything")));
  const auto positions = read_board(memory.board());
  EXPECT_THAT(render_board(positions, SteadyTime(13s), 0),
              AllOf(HasSubstr("late by 2.000 s"), Not(HasSubstr("before:"))));
  EXPECT_THAT(find_missing_ranks(positions), ElementsAre(1));
  EXPECT_EQ(describe_step(*positions[1].current()), "batch of ring{} (cell 3, run 17)");
}

TEST(FlightBoard, ARankThatFinishedIsMissedByNobody) {
  Memory memory(2);
  FlightRecorder done(memory.region(0), 0);
  FlightRecorder other(memory.region(1), 1);
  done.enter({.activity = "end"});
  done.mark(Fate::finished);
  other.enter({.activity = "batch"});
  other.enter({.activity = "end"});
  EXPECT_THAT(find_missing_ranks(read_board(memory.board())), IsEmpty());
}

TEST(FlightRecorder, SaysWhatTheThreadWasFoundIn) {
  Memory memory(1);
  FlightRecorder recorder(memory.region(0), 0);
  EXPECT_EQ(read_position(memory.region(0))->whereabouts, Whereabouts::unknown);
  recorder.locate(Whereabouts::at_peers, "libmpi.so < " + std::string(300, 'x'));
  const auto position = read_position(memory.region(0));
  EXPECT_EQ(position->whereabouts, Whereabouts::at_peers);
  EXPECT_EQ(position->stack.view(), "libmpi.so < " + std::string(256 - 12, 'x'));
}

/// Three ranks in the same step, of which rank 2 went on by `ahead` steps.
std::vector<RankPosition> positions_at(std::array<Whereabouts, 3> whereabouts, int ahead = 0) {
  Memory memory(3);
  std::vector<RankPosition> positions;
  for (int rank = 0; rank < 3; ++rank) {
    const auto region = memory.region(static_cast<std::size_t>(rank));
    FlightRecorder recorder(region, rank);
    recorder.enter({.activity = "batch", .variant = "acme.ring{}"});
    for (int i = 0; rank == 2 && i < ahead; ++i) recorder.enter({.activity = "batch"});
    recorder.locate(whereabouts[static_cast<std::size_t>(rank)], "");
    recorder.mark(Fate::late);
    positions.push_back(*read_position(region));
  }
  return positions;
}

TEST(FlightBoard, WhoIsInsideTheLibraryWaitsForWhoIsNot) {
  using enum Whereabouts;
  EXPECT_THAT(find_missing_ranks(positions_at({at_peers, elsewhere, at_peers})), ElementsAre(1));
  EXPECT_THAT(find_missing_ranks(positions_at({elsewhere, at_peers, elsewhere})),
              ElementsAre(0, 2));
  // A rank that did not answer is neither.
  EXPECT_THAT(find_missing_ranks(positions_at({at_peers, elsewhere, silent})), ElementsAre(1));
}

TEST(FlightBoard, WhoWasSeenStoppedIsMissedAlsoOnceItWasWoken) {
  using enum Whereabouts;
  EXPECT_THAT(find_missing_ranks(positions_at({elsewhere, at_peers, stopped})), ElementsAre(2));
  Memory memory(1);
  FlightRecorder recorder(memory.region(0), 0);
  note_stopped(memory.region(0));
  EXPECT_EQ(read_position(memory.region(0))->whereabouts, stopped);
  // What the rank says itself counts more.
  recorder.locate(at_peers, "libmpi.so");
  note_stopped(memory.region(0));
  EXPECT_EQ(read_position(memory.region(0))->whereabouts, at_peers);
}

TEST(FlightBoard, WhereAllAreAlikeNobodyIsNamed) {
  using enum Whereabouts;
  EXPECT_THAT(find_missing_ranks(positions_at({at_peers, at_peers, at_peers})), IsEmpty());
  EXPECT_THAT(find_missing_ranks(positions_at({elsewhere, elsewhere, elsewhere})), IsEmpty());
}

TEST(FlightBoard, OfTheRanksBehindThoseInsideTheLibraryAreNotToBlame) {
  using enum Whereabouts;
  EXPECT_THAT(find_missing_ranks(positions_at({at_peers, elsewhere, at_peers}, 1)), ElementsAre(1));
  EXPECT_THAT(find_missing_ranks(positions_at({at_peers, at_peers, elsewhere}, 1)),
              ElementsAre(0, 1));
}

TEST(FlightBoard, ARankThatItsWatchdogEndedIsNotTakenForOneThatDied) {
  // Both processes are gone when the supervisor looks, and neither was in the library.
  auto positions =
      positions_at({Whereabouts::elsewhere, Whereabouts::elsewhere, Whereabouts::elsewhere});
  for (RankPosition& position : positions) position.pid = 0x7ffffffe;
  EXPECT_THAT(find_missing_ranks(positions), IsEmpty());
}

TEST(FlightBoard, IsCutWhereTheMemoryEnds) {
  Memory memory(1);
  FlightRecorder recorder(memory.region(0), 0);
  recorder.enter({.activity = "batch", .variant = "ring{}"});
  std::array<char, 20> text{};
  EXPECT_EQ(render_board(memory.board(), SteadyTime(), 4, text), text.size());
}

TEST(FlightBoard, IsClaimedOnce) {
  Memory memory(2);
  FlightRecorder recorder(memory.region(1), 1);
  EXPECT_TRUE(claim_board(memory.board()));
  EXPECT_FALSE(claim_board(memory.board()));
}

/// The read end's text once all writers are gone.
std::string drain(int descriptor) {
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t size = 0; (size = read(descriptor, part.data(), part.size())) > 0;)
    text.append(part.data(), static_cast<std::size_t>(size));
  return text;
}

TEST(Watchdog, ReportsALateStepOnceAndCallsBack) {
  Memory memory(2);
  FlightRecorder own(memory.region(0), 0);
  FlightRecorder other(memory.region(1), 1);
  other.enter({.activity = "preparation"});
  std::array<int, 2> pipe_ends{};
  ASSERT_EQ(pipe2(pipe_ends.data(), O_CLOEXEC), 0);
  std::atomic<int> calls{0};
  std::string late;
  {
    Watchdog watchdog(own, {.board = memory.board(),
                            .interval = 100ms,
                            .grace = 0ms,
                            .report_to = pipe_ends[1],
                            .on_late = [&](const FlightStepRecord& step) {
                              late = std::string(step.variant.view());
                              calls.fetch_add(1);
                              calls.notify_all();
                            }});
    own.enter({.activity = "setup"});  // no limit: not watched
    own.enter({.activity = "batch", .variant = "slow{}", .limit = 1ns});
    calls.wait(0);
  }
  close(pipe_ends[1]);
  EXPECT_EQ(calls, 1);
  EXPECT_EQ(late, "slow{}");
  EXPECT_THAT(drain(pipe_ends[0]), AllOf(HasSubstr("batch of slow{} did not end within its limit"),
                                         HasSubstr("rank 1 on"), HasSubstr("preparation")));
  close(pipe_ends[0]);
  EXPECT_EQ(read_position(memory.region(0))->fate, Fate::late);
}

/// Where the watchdog finds this thread, which waits in libc; `peer` is its way to know a library.
RankPosition located(const void* peer) {
  Memory memory(1);
  FlightRecorder recorder(memory.region(0), 0);
  const int nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  std::array<int, 2> pipe_ends{};
  EXPECT_EQ(pipe2(pipe_ends.data(), O_CLOEXEC), 0);
  {
    WatchdogOptions options{.board = memory.board(), .interval = 100ms, .grace = 0ms};
    options.report_to = nowhere;
    options.peer_libraries = {peer};
    options.on_late = [&](const FlightStepRecord&) { close(pipe_ends[1]); };
    const Watchdog watchdog(recorder, options);
    recorder.enter({.activity = "batch", .variant = "slow{}", .limit = 1ns});
    // Until the watchdog has reported; a system call that its question interrupts goes on.
    drain(pipe_ends[0]);
  }
  close(pipe_ends[0]);
  close(nowhere);
  return *read_position(memory.region(0));
}

TEST(Watchdog, FindsOutWhatItsThreadIsIn) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer hands a signal on only when the call that waits has returned";
#endif
  // read(2) lies in libc: as a library of peers it is one that the thread waits in.
  const auto* const libc = reinterpret_cast<const void*>(&::getppid);
  const RankPosition waiting = located(libc);
  EXPECT_EQ(waiting.whereabouts, Whereabouts::at_peers) << waiting.stack.view();
  EXPECT_THAT(std::string(waiting.stack.view()), HasSubstr("libc.so"));
  EXPECT_THAT(std::string(waiting.stack.view()), HasSubstr(" < "));
  EXPECT_EQ(located(nullptr).whereabouts, Whereabouts::elsewhere);
}

TEST(Watchdog, LooksWhereItsThreadIsWhenAnotherRankIsLate) {
  Memory memory(2);
  FlightRecorder own(memory.region(0), 0);
  FlightRecorder other(memory.region(1), 1);
  const Watchdog watchdog(own, {.board = memory.board(), .interval = 100ms});
  own.enter({.activity = "control"});
  EXPECT_TRUE(claim_board(memory.board()));
  // Ends at the test's time-out where nobody looks.
  while (read_position(memory.region(0))->whereabouts == Whereabouts::unknown) poll(nullptr, 0, 1);
  EXPECT_EQ(read_position(memory.region(0))->fate, Fate::running);
}

TEST(Watchdog, EndsTheProcessWithItsExitCode) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        Memory memory(1);
        FlightRecorder recorder(memory.region(0), 3);
        const Watchdog watchdog(recorder, {.grace = 0ms});
        recorder.enter({.activity = "batch", .variant = "hangs{}", .limit = 1ms});
        for (;;) pause();
      },
      testing::ExitedWithCode(late_exit_code), "rank 3 on .*: batch of hangs.. did not end");
}

TEST(Watchdog, StopsThoughAStepIsNotOver) {
  Memory memory(1);
  FlightRecorder recorder(memory.region(0), 0);
  recorder.enter({.activity = "batch", .limit = 1h});
  // Would take an hour if it waited for the next look.
  const Watchdog watchdog(recorder, {.interval = std::chrono::hours(1)});
}

}  // namespace
}  // namespace colltune
