// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <vector>

#include "colltune/kernels/communicator.h"
#include "support/run_ranks.h"

namespace colltune::test {

/// What Communicator::find_peers promises, over any communicator. Collective.
inline void check_find_peers(Communicator& communicator) {
  const int rank = communicator.rank();
  const int ranks = communicator.size();
  auto memory = communicator.allocate({4096}, soon_enough());
  const auto mark_of = [](int r) { return static_cast<std::byte>(r + 1); };
  // Each rank's bytes lie elsewhere in its part.
  const auto offset_of = [](int r) { return static_cast<std::size_t>(16 * (r + 1)); };
  const auto own = memory->part(rank).subspan(offset_of(rank), 16);
  own.back() = mark_of(rank);
  communicator.barrier(soon_enough());

  const auto check = [&](Communicator& other, int (*world_rank)(int rank, int ranks), bool gives) {
    const auto peers = other.find_peers(
        gives ? std::span<const std::byte>(own) : std::span<const std::byte>(), soon_enough());
    ASSERT_EQ(peers.size(), static_cast<std::size_t>(other.size()));
    for (int r = 0; r < other.size(); ++r) {
      std::byte* const peer = peers[static_cast<std::size_t>(r)];
      if (peer == nullptr) continue;
      EXPECT_EQ(peer[15], mark_of(world_rank(r, ranks)));
    }
    EXPECT_EQ(peers[static_cast<std::size_t>(other.rank())], gives ? own.data() : nullptr);
  };
  const auto same = [](int r, int) { return r; };
  const auto backwards = [](int r, int n) { return n - 1 - r; };
  check(communicator, same, true);
  check(communicator, same, rank != 0);
  check(*communicator.duplicate(soon_enough()), same, true);
  check(*communicator.split(0, -rank, soon_enough()), backwards, true);

  // One rank's buffer is a private one, or its end is beyond the part: nobody gets anything.
  std::vector<std::byte> plain(16);
  EXPECT_TRUE(communicator
                  .find_peers(rank == ranks - 1 ? std::span<const std::byte>(plain)
                                                : std::span<const std::byte>(own),
                              soon_enough())
                  .empty());
  EXPECT_TRUE(communicator.find_peers({own.data(), 4096}, soon_enough()).empty());
  // Nor once the memory is given back.
  const std::span<const std::byte> gone = own;
  communicator.barrier(soon_enough());
  memory.reset();
  EXPECT_TRUE(communicator.find_peers(gone, soon_enough()).empty());
}

}  // namespace colltune::test
