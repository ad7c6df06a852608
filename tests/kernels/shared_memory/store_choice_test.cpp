// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "shared_memory/store_choice.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>

#include "shared_memory/shared_times.h"
#include "support/run_ranks.h"

namespace colltune {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t cached = 0;
constexpr std::size_t past = 1;

/// A machine on which calls take what is set, by the way in which they stage.
struct Machine {
  StoreChoice::Times takes{};
  std::array<int, 2> calls{};
  int timed = 0;

  void run(StoreChoice& choice, int count) {
    for (int i = 0; i < count; ++i) {
      const std::size_t way = choice.way().staging == CopyMode::cached ? cached : past;
      ++calls[way];
      if (choice.is_timed()) ++timed;
      if (choice.completed(takes[way])) choice.decide(choice.fastest());
    }
  }
};

TEST(StoreChoice, UsesWhatWasFasterAndTriesAgain) {
  StoreChoice choice({.lead_in = 4, .period = 100});
  Machine machine{.takes = {nanoseconds(1000), nanoseconds(700)}};
  machine.run(choice, 100);
  EXPECT_EQ(machine.calls, (std::array{6, 94}));
  EXPECT_EQ(machine.timed, 4);
  // The cores are put elsewhere: found out by the next probe.
  machine = {.takes = {nanoseconds(600), nanoseconds(700)}};
  machine.run(choice, 100);
  EXPECT_EQ(machine.calls, (std::array{94, 6}));
  machine = {.takes = {nanoseconds(600), nanoseconds(500)}};
  machine.run(choice, 50);
  EXPECT_EQ(machine.calls, (std::array{6, 44}));
}

TEST(StoreChoice, IsNotMovedByWhatHardlyDiffersOrByOneSlowCall) {
  StoreChoice choice({.lead_in = 4, .period = 20});
  Machine machine{.takes = {nanoseconds(1000), nanoseconds(990)}};
  machine.run(choice, 1000);
  EXPECT_EQ(machine.calls[past], 300);  // the probes alone

  StoreChoice disturbed({.lead_in = 0, .period = 20});
  machine = {.takes = {nanoseconds(10), nanoseconds(20)}};
  machine.takes[cached] = nanoseconds(1'000'000);
  machine.run(disturbed, 1);
  machine.takes[cached] = nanoseconds(10);
  machine.run(disturbed, 3);
  EXPECT_EQ(disturbed.way().staging, CopyMode::cached);
}

TEST(StoreChoice, TriesAsManyWaysAsTheMessageIsWorth) {
  const auto number_of = [](const StoreWay& way) {
    const bool streams_staging = way.staging == CopyMode::non_temporal;
    if (way.results == CopyMode::non_temporal) return streams_staging ? 2U : 3U;
    return streams_staging ? 1U : 0U;
  };
  constexpr std::array takes{100, 90, 80, 70};
  for (const std::size_t tried : {2U, 3U, 4U}) {
    StoreChoice choice({.tried = tried, .period = 10});
    std::array<std::size_t, takes.size()> calls{};
    for (int i = 0; i < 10; ++i) {
      const auto way = number_of(choice.way());
      ++calls.at(way);
      if (choice.completed(nanoseconds(takes.at(way)))) choice.decide(choice.fastest());
    }
    for (std::size_t way = 0; way < takes.size(); ++way)
      EXPECT_EQ(calls.at(way), way + 1 == tried ? 10 - 2 * (tried - 1)
                               : way < tried    ? 2
                                                : 0)
          << "way " << way << " of " << tried;
  }
}

TEST(StoreChoice, EachWayIsTimedOnceTheSlotsAreWrittenSo) {
  const auto rhythm = [](std::uint64_t waves, std::uint64_t size) {
    return StoreChoice::rhythm_of(waves, 4, {size});
  };
  EXPECT_EQ(rhythm(1, 8 << 10).lead_in, 4U);
  EXPECT_EQ(rhythm(1, 8 << 10).period, 600U);
  EXPECT_EQ(rhythm(4, 1 << 20).lead_in, 1U);
  EXPECT_EQ(rhythm(16, 1 << 20).lead_in, 0U);
  EXPECT_EQ(rhythm(16, 1 << 20).period, 300U);
  EXPECT_EQ(rhythm(16, 1 << 20).tried, 3U);
  EXPECT_EQ(rhythm(2, 256 << 10).tried, 2U);
  EXPECT_EQ(rhythm(64, 2 << 20).period, 150U);
  EXPECT_EQ(rhythm(64, 4 << 20).tried, 4U);
  EXPECT_EQ(rhythm(64, 16 << 20).period, 200U);
  // Longer probes are as rare: none costs more than the others.
  EXPECT_EQ(rhythm(2, 2 << 20).period, 450U);
}

TEST(StoreChoice, TheSlowestRankDecides) {
  // A rank that only writes finds one way faster; the one that reads, the other.
  constexpr std::array<StoreChoice::Times, 2> takes{
      StoreChoice::Times{nanoseconds(300), nanoseconds(100)},
      StoreChoice::Times{nanoseconds(400), nanoseconds(900)}};
  test::run_ranks(2, [&](Communicator& communicator) {
    const auto memory =
        communicator.allocate({Signals::size(SharedTimes::words)}, test::soon_enough());
    const Signals signals(communicator, *memory, 0);
    SharedTimes times(signals, communicator, 0);
    EXPECT_FALSE(times.take());
    for (const std::chrono::seconds disturbed :
         {std::chrono::seconds(0), std::chrono::seconds(100)}) {
      StoreChoice::Times own = takes[static_cast<std::size_t>(communicator.rank())];
      own[past] += disturbed;
      times.publish(own);
      communicator.barrier(test::soon_enough());
      const auto slowest = times.take();
      ASSERT_TRUE(slowest);
      EXPECT_EQ((*slowest)[cached], nanoseconds(400));
      // What is longer than there is room for is the longest there is.
      EXPECT_EQ((*slowest)[past],
                nanoseconds(disturbed.count() == 0 ? 900 : (std::int64_t{1} << 32) - 1));
      EXPECT_FALSE(times.take());
      communicator.barrier(test::soon_enough());
    }
  });
}

TEST(StoreChoice, WhoDoesNotAdaptIsNotWaitedFor) {
  test::run_ranks(2, [&](Communicator& communicator) {
    const auto memory =
        communicator.allocate({Signals::size(SharedTimes::words)}, test::soon_enough());
    const Signals signals(communicator, *memory, 0);
    if (communicator.rank() == 0) {
      SharedTimes times(signals, communicator, 0);
      times.publish({nanoseconds(2), nanoseconds(1)});
      EXPECT_EQ(times.take(), (StoreChoice::Times{nanoseconds(2), nanoseconds(1)}));
    }
    communicator.barrier(test::soon_enough());
  });
}

TEST(StoreChoice, NobodyDecidesBeforeAllHaveSaid) {
  test::run_ranks(2, [&](Communicator& communicator) {
    const auto memory =
        communicator.allocate({Signals::size(SharedTimes::words)}, test::soon_enough());
    const Signals signals(communicator, *memory, 0);
    SharedTimes times(signals, communicator, 0);
    communicator.barrier(test::soon_enough());
    if (communicator.rank() == 0) {
      times.publish({nanoseconds(1), nanoseconds(2)});
      EXPECT_FALSE(times.take());
    }
    communicator.barrier(test::soon_enough());
    if (communicator.rank() == 1) times.publish({nanoseconds(3), nanoseconds(1)});
    communicator.barrier(test::soon_enough());
    EXPECT_EQ(times.take(), (StoreChoice::Times{nanoseconds(3), nanoseconds(2)}));
  });
}

}  // namespace
}  // namespace colltune
