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

/// Symmetric memory is that of each node.
inline void check_memory_of_nodes(Communicator& communicator) {
  const int rank = communicator.rank();
  const auto memory = communicator.allocate({4096}, soon_enough());
  memory->part(rank)[0] = std::byte(rank + 1);
  communicator.barrier(soon_enough());
  const auto peers = communicator.find_peers(memory->part(rank), soon_enough());
  ASSERT_EQ(peers.size(), static_cast<std::size_t>(communicator.size()));
  const auto nodes = communicator.nodes();
  for (std::size_t r = 0; r < peers.size(); ++r) {
    const std::span<std::byte> part = memory->part(static_cast<int>(r));
    EXPECT_EQ(peers[r], part.data());
    const bool is_here = nodes[r] == nodes[static_cast<std::size_t>(rank)];
    ASSERT_EQ(part.size(), is_here ? 4096U : 0U) << r;
    if (is_here) {
      EXPECT_EQ(part[0], std::byte(r + 1));
    }
  }
  communicator.barrier(soon_enough());
}

/// Each rank sends to each other one two messages of each of two tags; they are received in another
/// order than they were sent in.
inline void check_messages(Communicator& communicator) {
  const int rank = communicator.rank();
  const int ranks = communicator.size();
  constexpr std::size_t per_peer = 4;
  const auto messages =
      communicator.open_messages(2 * per_peer * static_cast<std::size_t>(ranks), soon_enough());
  const auto value = [](int from, int to, int tag, int turn) {
    return 1000 * from + 100 * to + 10 * tag + turn;
  };
  std::vector<int> sent;
  for (int peer = 0; peer < ranks; ++peer)
    for (const int tag : {3, 7})
      for (const int turn : {0, 1}) sent.push_back(value(rank, peer, tag, turn));
  std::vector<int> received(sent.size(), -1);
  const auto bytes = [](auto& values, std::size_t i) { return std::span(values).subspan(i, 1); };
  const auto finish = [&](std::size_t number) {
    while (!messages->is_done(number)) messages->advance();
  };
  for (int peer = 0; peer < ranks; ++peer)
    for (std::size_t i = 0; i < per_peer; ++i) {
      const std::size_t number = per_peer * static_cast<std::size_t>(peer) + i;
      EXPECT_TRUE(messages->is_done(number));
      if (peer != rank)
        messages->send(number, peer, i < 2 ? 3 : 7, std::as_bytes(bytes(sent, number)));
    }
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == rank) continue;
    for (const std::size_t i : {2UL, 3UL, 0UL, 1UL}) {
      const std::size_t place = per_peer * static_cast<std::size_t>(peer) + i;
      const std::size_t number = sent.size() + place;
      messages->receive(number, peer, i < 2 ? 3 : 7,
                        std::as_writable_bytes(bytes(received, place)));
      finish(number);
      EXPECT_EQ(received[place], value(peer, rank, i < 2 ? 3 : 7, static_cast<int>(i % 2)));
    }
  }
  for (std::size_t number = 0; number < sent.size(); ++number) finish(number);
  EXPECT_TRUE(messages->give_up(soon_enough()));
}

/// Receives that nothing comes for are let go of at once.
inline void check_messages_given_up(Communicator& communicator) {
  const int next = (communicator.rank() + 1) % communicator.size();
  std::vector<std::byte> received(1 << 20);
  const auto messages = communicator.open_messages(2, soon_enough());
  messages->receive(0, next, 1, std::span(received).first(8));
  messages->receive(1, next, 2, received);
  EXPECT_FALSE(messages->is_done(0));
  EXPECT_TRUE(messages->give_up(soon_enough()));
}

}  // namespace colltune::test
