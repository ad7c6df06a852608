// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "shared_memory/store_choice.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <random>

#include "shared_memory/adaptive_stores.h"
#include "shared_memory/shared_times.h"
#include "support/run_ranks.h"

namespace colltune {
namespace {

using std::chrono::nanoseconds;

constexpr std::size_t cached = 0;
constexpr std::size_t past = 1;

/// A machine on which calls take what is set, by the mode in which they stage.
struct Machine {
  StoreChoice::Times takes{};
  std::array<int, 2> calls{};
  int timed = 0;

  void run(StoreChoice& choice, int count) {
    for (int i = 0; i < count; ++i) {
      const std::size_t mode = choice.mode().staging == CopyMode::cached ? cached : past;
      ++calls[mode];
      if (choice.is_timed()) ++timed;
      if (choice.completed(takes[mode])) choice.decide(choice.fastest());
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
  EXPECT_EQ(disturbed.mode().staging, CopyMode::cached);
}

TEST(StoreChoice, TriesAsManyWaysAsTheMessageIsWorth) {
  const auto number_of = [](const StoreMode& mode) {
    const bool streams_staging = mode.staging == CopyMode::non_temporal;
    if (mode.results == CopyMode::non_temporal) return streams_staging ? 2U : 3U;
    return streams_staging ? 1U : 0U;
  };
  constexpr std::array takes{100, 90, 80, 70};
  for (const std::size_t tried : {2U, 3U, 4U}) {
    StoreChoice choice({.tried = tried, .period = 10});
    std::array<std::size_t, takes.size()> calls{};
    for (int i = 0; i < 10; ++i) {
      const auto mode = number_of(choice.mode());
      ++calls.at(mode);
      if (choice.completed(nanoseconds(takes.at(mode)))) choice.decide(choice.fastest());
    }
    for (std::size_t mode = 0; mode < takes.size(); ++mode)
      EXPECT_EQ(calls.at(mode), mode + 1 == tried ? 10 - 2 * (tried - 1)
                                : mode < tried    ? 2
                                                  : 0)
          << "mode " << mode << " of " << tried;
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
  // A rank that only writes finds one mode faster; the one that reads, the other.
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

/// A clock of each rank's own, which only the test moves.
thread_local AdaptiveStores::Clock::time_point pretended_now;
AdaptiveStores::Clock::time_point read_pretended() { return pretended_now; }

/// Ranks that make calls of given sizes. A call's own work takes what `takes` says of its size, by
/// the mode in which it stages; then the rank waits for others.
class AdaptingRank {
 public:
  AdaptingRank(Communicator& communicator, const SizeBuckets& buckets)
      : memory_(communicator.allocate({Signals::size(buckets.words())}, test::soon_enough())),
        signals_(communicator, *memory_, 0),
        stores_(
            buckets,
            [](Bytes) { return StoreChoice::Rhythm{.tried = 2, .lead_in = 1, .period = 50}; },
            signals_, communicator, 0, &read_pretended) {}

  /// Whether the call staged past the caches.
  bool call(Bytes size, const StoreChoice::Times& takes, nanoseconds waits) {
    const bool is_past = stores_.begin(size).staging == CopyMode::non_temporal;
    pretended_now += takes[is_past ? past : cached] / 2;
    stores_.pause();
    pretended_now += waits;
    stores_.resume();
    pretended_now += takes[is_past ? past : cached] / 2;
    stores_.end();
    return is_past;
  }

 private:
  std::unique_ptr<SymmetricMemory> memory_;
  Signals signals_;
  AdaptiveStores stores_;
};

TEST(AdaptiveStores, AreNotMovedByWhenOthersCome) {
  const Call call{.problem = {.message_size = {16 << 10}}};
  test::run_ranks(2, [&](Communicator& communicator) {
    AdaptingRank rank(communicator, SizeBuckets(call));
    std::mt19937 random(static_cast<unsigned>(communicator.rank()) + 1);
    int calls_past = 0;
    constexpr int periods = 20;
    for (int i = 0; i < 50 * periods; ++i) {
      calls_past += rank.call({16 << 10}, {nanoseconds(1000), nanoseconds(700)},
                              nanoseconds(random() % 10'000'000))
                        ? 1
                        : 0;
      communicator.barrier(test::soon_enough());
    }
    // All but the probes' calls in the other mode.
    EXPECT_EQ(calls_past, (50 - 3) * periods);
  });
}

TEST(AdaptiveStores, LearnApartForEachSizeOfCalls) {
  Call call{.problem = {.message_size = {8}}};
  call.capacity = {100 << 10};
  const SizeBuckets buckets(call);
  EXPECT_EQ(buckets.count(), 6);  // 2, 4, 8, 16, 32 and 64 KiB
  EXPECT_EQ(buckets.of({2 << 10}), 0);
  EXPECT_EQ(buckets.of({(4 << 10) - 1}), 0);
  EXPECT_EQ(buckets.of({4 << 10}), 1);
  EXPECT_EQ(buckets.of({100 << 10}), 5);
  EXPECT_EQ(buckets.size_of(5), Bytes{64 << 10});
  test::run_ranks(2, [&](Communicator& communicator) {
    AdaptingRank rank(communicator, buckets);
    std::array<int, 3> calls_past{};
    std::mt19937 random(7);
    for (int i = 0; i < 500; ++i) {
      // In proportion to the size, since a probe's calls are not all of one size.
      const std::uint64_t small = (4 << 10) + random() % (4 << 10);
      const std::uint64_t large = (64 << 10) + random() % (36 << 10);
      const auto takes = [](std::uint64_t size, int by_cached, int by_past) {
        const auto in_all = static_cast<std::int64_t>(size);
        return StoreChoice::Times{nanoseconds(in_all * by_cached), nanoseconds(in_all * by_past)};
      };
      calls_past[0] += rank.call({small}, takes(small, 10, 13), {}) ? 1 : 0;
      communicator.barrier(test::soon_enough());
      calls_past[1] += rank.call({large}, takes(large, 13, 10), {}) ? 1 : 0;
      communicator.barrier(test::soon_enough());
      calls_past[2] += rank.call({100}, takes(100, 13, 10), {}) ? 1 : 0;
      communicator.barrier(test::soon_enough());
    }
    EXPECT_EQ(calls_past, (std::array{30, 470, 0}));
  });
}

}  // namespace
}  // namespace colltune
