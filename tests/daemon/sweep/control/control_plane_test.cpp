// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/control/control_plane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <thread>

#include "colltune/machine/abort_flag.h"

namespace colltune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

/// Runs `body` on each rank in a thread of its own.
void on_ranks(int ranks, std::chrono::milliseconds time_out,
              const std::function<void(ControlPlane&)>& body) {
  const auto planes = make_thread_control_planes(ranks, time_out);
  std::vector<std::jthread> threads;
  for (const auto& plane : planes) threads.emplace_back([&] { body(*plane); });
}

class ThreadControlPlanes : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, ThreadControlPlanes, testing::Values(1, 2, 3, 4, 8));

TEST_P(ThreadControlPlanes, EveryCallGivesItsResultOnAllRanks) {
  const int ranks = GetParam();
  on_ranks(ranks, 20s, [&](ControlPlane& plane) {
    EXPECT_EQ(plane.size(), ranks);
    for (int round = 0; round < 50; ++round) {
      plane.barrier();
      const auto own = static_cast<std::uint8_t>(plane.rank() + round);
      EXPECT_THAT(plane.broadcast({own}), ElementsAre(static_cast<std::uint8_t>(round)));

      const auto gathered = plane.gather(Payload(static_cast<std::size_t>(plane.rank()), own));
      ASSERT_EQ(gathered.size(), plane.rank() == 0 ? static_cast<std::size_t>(ranks) : 0u);
      for (std::size_t rank = 0; rank < gathered.size(); ++rank)
        EXPECT_EQ(gathered[rank],
                  Payload(rank, static_cast<std::uint8_t>(static_cast<int>(rank) + round)));

      std::vector<std::int64_t> values{plane.rank(), -plane.rank(), round};
      plane.all_reduce_max(values);
      EXPECT_THAT(values, ElementsAre(ranks - 1, 0, round));
      values = {plane.rank(), 1};
      plane.all_reduce_sum(values);
      EXPECT_THAT(values, ElementsAre(ranks * (ranks - 1) / 2, ranks));
      plane.all_reduce_sum({});
    }
  });
}

TEST(ThreadControlPlane, NamesTheRanksThatDoNotCome) {
  on_ranks(4, 50ms, [](ControlPlane& plane) {
    if (plane.rank() == 1 || plane.rank() == 3) return;
    try {
      plane.barrier();
      ADD_FAILURE() << "nobody was missed";
    } catch (const RankMissing& error) {
      EXPECT_EQ(error.rank(), 1);
      EXPECT_THAT(error.what(), HasSubstr("'barrier' (missing ranks: 1, 3)"));
    }
  });
}

TEST(ThreadControlPlane, StaysBrokenForRanksThatComeLate) {
  const auto planes = make_thread_control_planes(2, 20ms);
  EXPECT_THROW(planes[0]->barrier(), RankMissing);
  EXPECT_THROW(planes[1]->barrier(), RankMissing);
  EXPECT_THROW(planes[0]->barrier(), RankMissing);
}

TEST(ThreadControlPlane, UnlikeStepsAreAnErrorOnAllRanks) {
  on_ranks(3, 20s, [](ControlPlane& plane) {
    try {
      if (plane.rank() == 2)
        (void)plane.broadcast({});
      else
        plane.barrier();
      ADD_FAILURE() << "no error";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::internal);
      EXPECT_THAT(error.what(), HasSubstr("unlike control steps"));
    }
    plane.barrier();  // the ranks are still in step
  });
}

TEST(ThreadControlPlane, UnlikeLengthsAreAnErrorOnAllRanks) {
  on_ranks(2, 20s, [](ControlPlane& plane) {
    std::vector<std::int64_t> values(static_cast<std::size_t>(1 + plane.rank()));
    EXPECT_THROW(plane.all_reduce_max(values), Error);
  });
}

}  // namespace
}  // namespace colltune
