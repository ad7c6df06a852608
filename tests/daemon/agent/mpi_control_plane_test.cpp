// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/mpi_control_plane.h"

#include <gtest/gtest.h>

#include <numeric>
#include <thread>

namespace colltune {
namespace {

using namespace std::chrono_literals;

Payload payload_of(int rank, std::size_t size) {
  Payload payload(size);
  std::iota(payload.begin(), payload.end(), static_cast<std::uint8_t>(rank));
  return payload;
}

TEST(MpiControlPlane, BroadcastsRankZerosPayload) {
  MpiControlPlane plane(MPI_COMM_WORLD, 60s);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{1}, std::size_t{5000}, std::size_t{3} << 20}) {
    const Payload mine =
        plane.rank() == 0 ? payload_of(7, size) : payload_of(plane.rank() + 100, 3);
    EXPECT_EQ(plane.broadcast(mine), payload_of(7, size));
  }
}

TEST(MpiControlPlane, GathersUnlikePayloadsInRankOrderOnRankZero) {
  MpiControlPlane plane(MPI_COMM_WORLD, 60s);
  for (const std::size_t step : {std::size_t{0}, std::size_t{1}, std::size_t{40000}}) {
    const auto size_on = [&](int rank) { return step * static_cast<std::size_t>(rank); };
    const auto all = plane.gather(payload_of(plane.rank(), size_on(plane.rank())));
    if (plane.rank() != 0) {
      EXPECT_TRUE(all.empty());
      continue;
    }
    ASSERT_EQ(all.size(), static_cast<std::size_t>(plane.size()));
    for (int rank = 0; rank < plane.size(); ++rank)
      EXPECT_EQ(all[static_cast<std::size_t>(rank)], payload_of(rank, size_on(rank)))
          << "rank " << rank;
  }
}

TEST(MpiControlPlane, MergesNeighbouringRangesInOrder) {
  MpiControlPlane plane(MPI_COMM_WORLD, 60s);
  Payload wanted;
  for (int rank = 0; rank < plane.size(); ++rank) wanted.push_back(static_cast<std::uint8_t>(rank));
  const auto join = [](const Payload& lower, const Payload& upper) {
    EXPECT_EQ(lower.back() + 1, upper.front());
    Payload both = lower;
    both.insert(both.end(), upper.begin(), upper.end());
    return both;
  };
  for (int i = 0; i < 3; ++i)
    EXPECT_EQ(plane.merge({static_cast<std::uint8_t>(plane.rank())}, join), wanted);
}

TEST(MpiControlPlane, ReducesElementWiseOnAllRanks) {
  MpiControlPlane plane(MPI_COMM_WORLD, 60s);
  const std::int64_t n = plane.size();
  const std::int64_t r = plane.rank();
  std::vector<std::int64_t> values{r, -r, (std::int64_t{1} << 60) + (r == n - 1 ? 1 : 0), 5};
  auto sums = values;
  plane.all_reduce_max(values);
  EXPECT_EQ(values, (std::vector<std::int64_t>{n - 1, 0, (std::int64_t{1} << 60) + 1, 5}));
  sums[2] = 1;
  plane.all_reduce_sum(sums);
  EXPECT_EQ(sums, (std::vector<std::int64_t>{n * (n - 1) / 2, -n * (n - 1) / 2, n, 5 * n}));
}

TEST(MpiControlPlane, KeepsStepsApartOverTheTagsEnd) {
  MpiControlPlane plane(MPI_COMM_WORLD, 60s);
  constexpr int steps = 2500;  // the cycle of tags more than twice
  for (int step = 0; step < steps; ++step) {
    std::int64_t value = step + plane.rank();
    plane.all_reduce_max({&value, 1});
    ASSERT_EQ(value, step + plane.size() - 1);
  }
}

TEST(MpiControlPlane, NobodyLeavesTheBarrierBeforeTheLastOneCame) {
  MpiControlPlane plane(MPI_COMM_WORLD, 60s);
  // The last rank sends a word to all others just before it enters: whoever is out must find it
  // there.
  const int last = plane.size() - 1;
  std::vector<MPI_Request> requests;
  const int word = 42;
  if (plane.rank() == last) {
    for (int peer = 0; peer < last; ++peer)
      MPI_Isend(&word, 1, MPI_INT, peer, 1, MPI_COMM_WORLD, &requests.emplace_back());
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    plane.barrier();
  } else {
    plane.barrier();
    int got = 0;
    MPI_Recv(&got, 1, MPI_INT, last, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    EXPECT_EQ(got, word);
  }
}

struct Missing {
  std::string message;
  int rank = -1;
};

// A rank that does not come: every other one gives up within its time-out, and the missing one's
// neighbour in the tree names it.
TEST(MpiControlPlane, NamesTheRankThatDoesNotCome) {
  int size = 0;
  int rank = 0;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (size == 1) GTEST_SKIP() << "needs a second rank";
  for (const int absent : {size - 1, 0}) {
    MpiControlPlane plane(MPI_COMM_WORLD, 300ms,
                          [](const std::string& message, int missing) -> void {
                            throw Missing{message, missing};
                          });
    bool named = false;
    if (rank != absent) {
      try {
        plane.barrier();
        ADD_FAILURE() << "the barrier completed without rank " << absent;
      } catch (const Missing& missing) {
        named = missing.rank == absent;
        EXPECT_NE(missing.message.find("waited"), std::string::npos) << missing.message;
        EXPECT_NE(missing.message.find("rank " + std::to_string(missing.rank) + " is missing"),
                  std::string::npos)
            << missing.message;
      }
    }
    // All meet again on the other communicator, so that the absent one stays away until everybody
    // gave up.
    int anybody = named ? 1 : 0;
    MPI_Allreduce(MPI_IN_PLACE, &anybody, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    EXPECT_EQ(anybody, 1) << "nobody named rank " << absent;
  }
}

}  // namespace
}  // namespace colltune
