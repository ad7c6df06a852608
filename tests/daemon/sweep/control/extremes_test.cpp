// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "control/extremes.h"

#include <gtest/gtest.h>

#include <array>
#include <thread>
#include <vector>

namespace colltune {
namespace {

struct Seen {
  Highest slowest;
  Lowest clock;
  std::array<Highest, 2> flags;

  template <class Visit>
  void each_extreme(Visit visit) {
    visit(slowest);
    visit(clock);
    for (Highest& one : flags) visit(one);
  }
};

TEST(Extremes, AllRanksLearnTheHighestAndTheLowestOfThoseThatHaveOne) {
  constexpr int ranks = 3;
  const auto planes = make_thread_control_planes(ranks, std::chrono::seconds(30));
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&control = *planes[static_cast<std::size_t>(rank)], rank] {
      Seen seen;
      seen.slowest = -5 - rank;
      if (rank != 0) seen.clock = 1000 * rank;
      if (rank == 2) seen.flags[1] = 1;
      Lowest nobodys;
      std::array<std::int64_t, 2> times{rank, -rank};
      ExtremesExchange exchange;
      exchange.add_highest(times);
      exchange.add(seen);
      exchange.add(nobodys);
      exchange.exchange(control);
      EXPECT_EQ(seen.slowest.value(), -5);
      EXPECT_EQ(seen.clock.value(), 1000);
      EXPECT_FALSE(seen.flags[0].value());
      EXPECT_EQ(seen.flags[1].value(), 1);
      EXPECT_FALSE(nobodys.value());
      EXPECT_EQ(nobodys.value_or(7), 7);
      EXPECT_EQ(times, (std::array<std::int64_t, 2>{ranks - 1, 0}));
    });
}

}  // namespace
}  // namespace colltune
