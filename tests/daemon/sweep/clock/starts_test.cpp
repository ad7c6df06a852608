// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// What surrounds the timed part of a run: clocks of ranks, common starts, windows that watch.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <fstream>
#include <thread>
#include <vector>

#include "clock/hand_over.h"
#include "colltune/sweep/clock/global_clock.h"
#include "colltune/sweep/clock/perturbation.h"
#include "colltune/sweep/clock/starter.h"
#include "fakes.h"
#include "temporary_folder.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;
using std::chrono::nanoseconds;
using Clock = std::chrono::steady_clock;

Deadline soon() { return Clock::now() + 20s; }

TEST(WatchClock, WatchesUntilTheEndAndSeesGaps) {
  Gaps gaps;
  // Until the thread had its core when the watch began: after that it sees all of the time.
  for (int attempt = 0; attempt < 10'000 && gaps.watched < 100us; ++attempt) {
    gaps = {};
    const auto end = Clock::now() + 200us;
    EXPECT_GE(watch_clock(end, gaps), end);
  }
  EXPECT_GE(gaps.watched, 100us);
  EXPECT_LE(gaps.lost, gaps.watched);
  EXPECT_LE(gaps.longest, gaps.lost);
}

TEST(WatchClock, APastEndIsReadOnce) {
  Gaps gaps;
  const auto now = Clock::now();
  EXPECT_GE(watch_clock(now - 1s, gaps), now);
  EXPECT_EQ(gaps.watched, 0ns);
}

TEST(RunWatch, APageTouchedForTheFirstTimeIsAFault) {
  RunWatch watch(true);
  Perturbation seen;
  watch.begin();
  std::vector<char> fresh(1 << 22);
  (void)watch.end(2us, 1ms, seen);
  EXPECT_GT(seen.page_faults, 100);
  // Who loses his core just then watches nothing.
  for (int attempt = 0; attempt < 10'000 && seen.gaps.watched == 0ns; ++attempt) {
    watch.begin();
    (void)watch.end(2us, 1ms, seen);
  }
  EXPECT_GT(seen.gaps.watched, 0ns);
}

TEST(RunWatch, MarksARunByItsOwnWindowsAlone) {
  RunWatch watch(true);
  // Until a run is quiet: on any machine some are.
  int marks = 1;
  Perturbation seen;
  for (int attempt = 0; attempt < 100'000 && marks != 0; ++attempt) {
    watch.begin();
    watch.watch_until(Clock::now() + 2us);
    std::this_thread::sleep_for(20us);  // a long run: no reason to void it
    marks = watch.end(2us, 20us, seen);
  }
  EXPECT_EQ(marks, 0);
}

/// This thread and a rival that spins, on one core as long as this lives.
class SharedCore {
 public:
  SharedCore() {
    EXPECT_EQ(::sched_getaffinity(0, sizeof before_, &before_), 0);
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(::sched_getcpu(), &one);
    EXPECT_EQ(::sched_setaffinity(0, sizeof one, &one), 0);
    rival_ = std::jthread([this] {
      while (!done_) {
      }
    });
  }
  ~SharedCore() {
    done_ = true;
    ::sched_setaffinity(0, sizeof before_, &before_);
  }

 private:
  cpu_set_t before_{};
  std::atomic<bool> done_{false};
  std::jthread rival_;
};

/// Watches runs beside a rival, as if each took `duration`, until one was interrupted in its window
/// of 20 ms; its marks.
int marks_beside_a_rival(std::chrono::nanoseconds duration, Perturbation& seen) {
  const SharedCore shared;
  RunWatch watch(true);
  int marks = 0;
  for (int attempt = 0; attempt < 1000 && (marks & static_cast<int>(RunMark::gap)) == 0;
       ++attempt) {
    watch.begin();
    watch.watch_until(Clock::now() + 20ms);
    marks = watch.end(2us, duration, seen);
  }
  return marks;
}

TEST(RunWatch, ALongGapAndAnInvoluntarySwitchVoidTheRun) {
  Perturbation seen;
  EXPECT_EQ(marks_beside_a_rival(1us, seen),
            static_cast<int>(RunMark::gap) + static_cast<int>(RunMark::switched));
  EXPECT_GT(seen.gaps.longest, void_gap);
  EXPECT_GT(seen.involuntary_switches, 0);
}

TEST(RunWatch, ASwitchThatIsLittleBesideTheRunDoesNotVoidIt) {
  if (ThreadCounterReader().read().kept_waiting < 0ns)
    GTEST_SKIP() << "this kernel does not tell how long a thread was kept waiting";
  Perturbation seen;
  EXPECT_EQ(marks_beside_a_rival(1h, seen), static_cast<int>(RunMark::gap));
  EXPECT_GT(seen.involuntary_switches, 0);
  EXPECT_GT(seen.kept_waiting, 0ns);
  EXPECT_LT(seen.kept_waiting, seen.observed);
}

TEST(RunWatch, WithoutACoreOfItsOwnARankIsNotAccused) {
  RunWatch watch(false);
  Perturbation seen;
  watch.begin();
  const auto begin = Clock::now();
  EXPECT_EQ(watch.end(10s, 1us, seen), 0);
  EXPECT_LT(Clock::now() - begin, 10s);
  EXPECT_EQ(seen.gaps.watched, 0ns);
  EXPECT_EQ(seen.observed, 0ns);
}

TEST(RunWatch, WithoutACoreOfItsOwnTheCountersAreReadAroundManyRuns) {
  RunWatch watch(false);
  Perturbation seen;
  const auto run = [&] {
    watch.begin();
    std::vector<char> fresh(1 << 22);
    (void)watch.end(2us, 1ms, seen);
  };
  for (int i = 0; i < 3; ++i) run();
  EXPECT_EQ(seen.page_faults, 0);
  watch.close(seen);
  const std::int64_t of_runs = seen.page_faults;
  EXPECT_GT(of_runs, 100);
  run();  // what lies between is not the runs'
  watch.open();
  watch.close(seen);
  EXPECT_LT(seen.page_faults, of_runs + 100);
}

TEST(CoreState, IsReadWhereTheKernelTells) {
  const literals::TemporaryFolder folder;
  const std::filesystem::path cpu = folder / "cpu3";
  const std::filesystem::path root = cpu.parent_path();
  std::filesystem::create_directories(cpu / "thermal_throttle");
  std::filesystem::create_directories(cpu / "cpufreq");
  std::ofstream(cpu / "thermal_throttle/core_throttle_count") << "5\n";
  std::ofstream(cpu / "thermal_throttle/package_throttle_count") << "2\n";
  std::ofstream(cpu / "cpufreq/scaling_cur_freq") << "2400000\n";
  const CoreState state = read_core_state(3, root);
  EXPECT_EQ(state.throttle_events, 7u);
  EXPECT_EQ(state.frequency_khz, 2400000u);
  const CoreState absent = read_core_state(4, root);
  EXPECT_EQ(absent.throttle_events, 0u);
  EXPECT_EQ(absent.frequency_khz, 0u);
}

/// Ranks whose clocks differ by rank * step.
std::vector<ClockOffset> offsets(const std::vector<int>& nodes, nanoseconds step) {
  std::vector<ClockOffset> result(nodes.size());
  fakes::on_ranks(
      static_cast<int>(nodes.size()), 20s,
      [&](ControlPlane&, Communicator& world) {
        const int rank = world.rank();
        result[static_cast<std::size_t>(rank)] =
            estimate_clock_offset(world, soon(), [&] { return read_steady_clock() + rank * step; });
      },
      nodes);
  return result;
}

TEST(ClockOffsets, OneNodeWithOneClockIsFoundOut) {
  for (const ClockOffset& clock : offsets({0, 0, 0}, 0ns)) {
    EXPECT_TRUE(clock.is_one_clock);
    EXPECT_EQ(clock.offset, 0ns);
    EXPECT_GT(clock.error, 0ns);
  }
}

TEST(ClockOffsets, UnlikeClocksOnOneNodeAreNotBelieved) {
  // As in two time namespaces.
  const auto clocks = offsets({0, 0, 0}, 1h);
  for (std::size_t rank = 0; rank < clocks.size(); ++rank) {
    EXPECT_FALSE(clocks[rank].is_one_clock);
    EXPECT_LE(std::chrono::abs(clocks[rank].offset + static_cast<int>(rank) * nanoseconds(1h)),
              clocks[rank].error);
    EXPECT_LT(clocks[rank].error, 1min);
  }
}

TEST(ClockOffsets, AreFoundOverNodesToWithinTheirBound) {
  const auto clocks = offsets({0, 0, 1, 1, 2}, -3s);
  for (std::size_t rank = 0; rank < clocks.size(); ++rank) {
    EXPECT_FALSE(clocks[rank].is_one_clock);
    EXPECT_LE(std::chrono::abs(clocks[rank].offset - static_cast<int>(rank) * nanoseconds(3s)),
              clocks[rank].error);
    EXPECT_EQ(clocks[rank].error, clocks[0].error);
  }
}

TEST(ClockOffsets, ScatteredRanksOfNodesFindTheirLeader) {
  for (const ClockOffset& clock : offsets({0, 1, 0, 1}, 0ns)) {
    EXPECT_FALSE(clock.is_one_clock);
    EXPECT_LE(std::chrono::abs(clock.offset), clock.error);
  }
}

TEST(ClockOffsets, OneRankIsOneClock) {
  const ClockOffset clock = offsets({0}, 0ns).at(0);
  EXPECT_TRUE(clock.is_one_clock);
  EXPECT_EQ(clock.error, 0ns);
}

TEST(ClockOffsets, AMissingRankEndsTheOthers) {
  fakes::on_ranks(2, 20s, [](ControlPlane&, Communicator& world) {
    if (world.rank() == 0) {
      EXPECT_THROW((void)estimate_clock_offset(world, Clock::now() + 50ms), RankMissing);
    }
  });
}

/// What each rank of such nodes measured: the time of its farthest neighbour, the last of three.
std::vector<nanoseconds> hand_overs(const std::vector<int>& nodes) {
  std::vector<nanoseconds> result(nodes.size());
  fakes::on_ranks(
      static_cast<int>(nodes.size()), 20s,
      [&](ControlPlane&, Communicator& world) {
        HandOverProbe hand_over(world, soon());
        for (int i = 0; i < 3; ++i)
          result[static_cast<std::size_t>(world.rank())] = hand_over.measure(soon());
      },
      nodes);
  return result;
}

TEST(HandOvers, TakeTimeBetweenNeighboursOfANode) {
  using ::testing::Each;
  using ::testing::Gt;
  EXPECT_THAT(hand_overs({0, 0}), Each(Gt(0ns)));
  EXPECT_THAT(hand_overs({0, 0, 0}), Each(Gt(0ns)));
  EXPECT_THAT(hand_overs({0, 0, 0, 0, 0}), Each(Gt(0ns)));
  EXPECT_THAT(hand_overs({0, 1, 0, 1}), Each(Gt(0ns)));
  // The rank that is alone on its node has nobody.
  EXPECT_THAT(hand_overs({0, 1, 0}), ::testing::ElementsAre(Gt(0ns), 0ns, Gt(0ns)));
  EXPECT_THAT(hand_overs({0}), Each(0ns));
}

TEST(HandOvers, AreDefinedWhereNeighboursHaveCoresOfTheirOwn) {
  const auto is_defined = [](const std::vector<int>& nodes) {
    std::atomic<bool> found{false};
    fakes::on_ranks(
        static_cast<int>(nodes.size()), 20s,
        [&](ControlPlane&, Communicator& world) { found = HandOverProbe::is_defined_on(world); },
        nodes);
    return found.load();
  };
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  EXPECT_EQ(is_defined({0, 0}), cores >= 2);
  EXPECT_FALSE(is_defined({0}));
  EXPECT_FALSE(is_defined({0, 1}));
  EXPECT_FALSE(is_defined(std::vector<int>(static_cast<std::size_t>(cores) + 1)));
}

TEST(HandOvers, AMissingRankEndsTheOthers) {
  fakes::on_ranks(2, 20s, [](ControlPlane& control, Communicator& world) {
    HandOverProbe hand_over(world, soon());
    if (world.rank() == 0) {
      EXPECT_THROW((void)hand_over.measure(Clock::now() + 50ms), RankMissing);
    }
    control.barrier();
  });
}

TEST(StartBarriers, NobodyLeavesBeforeAllHaveCome) {
  for (const int ranks : {1, 2, 5, 8}) {
    std::atomic<int> arrivals{0};
    fakes::on_ranks(ranks, 20s, [&](ControlPlane&, Communicator& world) {
      StartBarrier barrier(world, soon());
      for (int run = 1; run <= 200; ++run) {
        ++arrivals;
        barrier.meet(soon());
        EXPECT_GE(arrivals.load(), run * ranks);
      }
    });
  }
}

TEST(StartBarriers, AreDefinedWhereRanksShareTheCoresOfANode) {
  const auto is_defined = [](int ranks, int nodes) {
    std::vector<int> of_rank;
    for (int rank = 0; rank < ranks; ++rank) of_rank.push_back(rank % nodes);
    std::atomic<bool> found{false};
    fakes::on_ranks(
        ranks, 20s,
        [&](ControlPlane&, Communicator& world) { found = StartBarrier::is_defined_on(world); },
        of_rank);
    return found.load();
  };
  const int cores = static_cast<int>(std::thread::hardware_concurrency());
  EXPECT_FALSE(is_defined(1, 1));
  EXPECT_TRUE(is_defined(cores + 1, 1));
  EXPECT_FALSE(is_defined(cores + 1, 2));
}

TEST(StartBarriers, AMissingRankIsNamed) {
  fakes::on_ranks(3, 20s, [](ControlPlane& control, Communicator& world) {
    StartBarrier barrier(world, soon());
    if (world.rank() != 1) {
      try {
        barrier.meet(Clock::now() + 50ms);
        ADD_FAILURE() << "rank 1 never came";
      } catch (const RankMissing& error) {
        EXPECT_EQ(error.rank(), 1);
      }
    }
    control.barrier();
  });
}

TEST(Ends, NobodyGoesOnBeforeAllHaveEnded) {
  for (const bool has_barrier : {false, true}) {
    std::atomic<int> ended = 0;
    fakes::on_ranks(3, 20s, [&](ControlPlane&, Communicator& world) {
      StartBarrier barrier(world, soon());
      const StartPolicy policy{.barrier = has_barrier ? &barrier : nullptr, .ends_together = true};
      for (int run = 1; run <= 100; ++run) {
        ++ended;
        end_run(world, {.barrier_limit = 10s}, policy);
        EXPECT_GE(ended, 3 * run);
      }
    });
  }
}

TEST(Ends, AMissingRankIsNamed) {
  fakes::on_ranks(2, 20s, [](ControlPlane& control, Communicator& world) {
    StartBarrier barrier(world, soon());
    if (world.rank() == 0) {
      try {
        end_run(world, {.barrier_limit = 20ms}, {.barrier = &barrier, .ends_together = true});
        ADD_FAILURE() << "rank 1 never came";
      } catch (const RankMissing& error) {
        EXPECT_EQ(error.rank(), 1);
      }
      end_run(world, {.barrier_limit = 20ms}, {.barrier = &barrier});  // waits for nobody
    }
    control.barrier();
  });
}

TEST(Ends, AreTogetherWhereWhatFollowsShows) {
  constexpr Bytes small{8};
  constexpr Bytes large{1 << 20};
  EXPECT_FALSE(ends_together(InputMode::rewritten, small, false));
  EXPECT_TRUE(ends_together(InputMode::rewritten, small, true));
  EXPECT_TRUE(ends_together(InputMode::rewritten, large, false));
  EXPECT_TRUE(ends_together(InputMode::rotating, large, false));
  EXPECT_FALSE(ends_together(InputMode::hot, large, false));
  EXPECT_TRUE(ends_together(InputMode::hot, large, true));
}

TEST(Starts, RanksAgreeOnACommonPointAfterTheLastArrival) {
  std::array<Start, 2> starts;
  std::array<Clock::time_point, 2> arrivals;
  std::array<Clock::time_point, 2> begins;
  fakes::on_ranks(2, 20s, [&](ControlPlane&, Communicator& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    if (rank == 1) std::this_thread::sleep_for(5ms);
    RunWatch watch(true);
    watch.begin();
    arrivals[rank] = Clock::now();
    starts[rank] =
        start_run(world, {}, {.calls = 1, .call_limit = 10s, .barrier_limit = 10s},
                  {.synchronization = Synchronization::window, .watch = 2us, .lead = 1ms},
                  {.is_one_clock = true}, watch);
    begins[rank] = Clock::now();
  });
  EXPECT_EQ(starts[0].common, starts[1].common);
  EXPECT_GE(starts[0].common, arrivals[1] + 1ms);
  for (std::size_t rank = 0; rank < 2; ++rank) {
    EXPECT_GE(begins[rank], starts[rank].common);
    EXPECT_GT(starts[rank].deadline, starts[rank].common + 5s);
  }
}

TEST(Starts, OffsetsAreTakenIntoAccount) {
  std::array<Start, 2> starts;
  fakes::on_ranks(2, 20s, [&](ControlPlane&, Communicator& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    RunWatch watch(true);
    watch.begin();
    // Rank 1 believes that its clock is 1 ms behind: the common point lies that much earlier on it.
    starts[rank] =
        start_run(world, {}, {.calls = 1, .call_limit = 10s, .barrier_limit = 10s},
                  {.synchronization = Synchronization::window, .watch = 2us, .lead = 50ms},
                  {.offset = world.rank() * 1ms, .error = 1ms}, watch);
  });
  EXPECT_EQ(starts[0].common - starts[1].common, 1ms);
}

TEST(Starts, AClockThatIsNotWhatWasEstimatedMakesTheRunLateInsteadOfHanging) {
  std::array<Start, 2> starts;
  fakes::on_ranks(2, 20s, [&](ControlPlane&, Communicator& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    RunWatch watch(true);
    watch.begin();
    starts[rank] =
        start_run(world, {}, {.calls = 1, .call_limit = 10s, .barrier_limit = 10s},
                  {.synchronization = Synchronization::window, .watch = 2us, .lead = 10us},
                  {.offset = world.rank() * nanoseconds(1h)}, watch);
  });
  EXPECT_TRUE(starts[0].is_late);
}

TEST(Starts, LateRunsMakeTheLeadLongerAndPunctualOnesShorter) {
  EXPECT_EQ(adapt_lead(10us, 100, 3, longest_lead), 20us);
  EXPECT_EQ(adapt_lead(10us, 100, 3, 15us), 15us);
  EXPECT_EQ(adapt_lead(10us, 100, 1, longest_lead), 10us);
  EXPECT_LT(adapt_lead(10us, 100, 0, longest_lead), 10us);
  EXPECT_EQ(adapt_lead(shortest_lead, 100, 0, longest_lead), shortest_lead);
  EXPECT_EQ(adapt_lead(longest_lead, 100, 100, longest_lead), longest_lead);
}

TEST(Starts, NoLeadIsLongerThanWhatHelps) {
  std::array<nanoseconds, 2> longest{};
  fakes::on_ranks(2, 20s, [&](ControlPlane&, Communicator& world) {
    longest[static_cast<std::size_t>(world.rank())] = find_longest_lead(world, Clock::now() + 10s);
  });
  EXPECT_EQ(longest[0], longest[1]);
  EXPECT_GE(longest[0], shortest_lead);
  EXPECT_LE(longest[0], longest_lead);
}

}  // namespace
}  // namespace colltune
