// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "colltune/kernels/communicator.h"
#include "support/run_ranks.h"

namespace colltune::test {

/// Tells every rank where each rank's `own` bytes lie: in turns, by words. Collective.
inline std::vector<SymmetricAddress> exchange_addresses(Communicator& communicator,
                                                        const SymmetricAddress& own) {
  std::vector<SymmetricAddress> addresses;
  for (int rank = 0; rank < communicator.size(); ++rank) {
    const auto from_rank = [&](std::int64_t value) {
      return communicator.all_reduce_max(rank == communicator.rank() ? value : 0, soon_enough());
    };
    SymmetricAddress address{{from_rank(own.allocation.process), from_rank(own.allocation.number)},
                             0};
    address.offset = static_cast<std::uint64_t>(from_rank(static_cast<std::int64_t>(own.offset)));
    addresses.push_back(address);
  }
  return addresses;
}

/// What Communicator::symmetric_address_of and `find` promise, over any communicator. Collective.
inline void check_places(Communicator& communicator) {
  const int rank = communicator.rank();
  const int ranks = communicator.size();
  auto memory = communicator.allocate({4096}, soon_enough());
  const auto mark_of = [](int r) { return static_cast<std::byte>(r + 1); };
  // Each rank's bytes lie elsewhere in its part.
  const auto offset_of = [](int r) { return static_cast<std::size_t>(16 * (r + 1)); };
  const auto own = memory->part(rank).subspan(offset_of(rank), 16);
  own.back() = mark_of(rank);
  communicator.barrier(soon_enough());

  const auto check = [&](Communicator& other, int (*world_rank)(int rank, int ranks)) {
    const auto address = other.symmetric_address_of(own);
    ASSERT_TRUE(address);
    EXPECT_EQ(address->offset, offset_of(rank));
    const auto addresses = exchange_addresses(other, *address);
    for (int r = 0; r < other.size(); ++r) {
      std::byte* const peer = other.find(addresses[static_cast<std::size_t>(r)], r);
      ASSERT_NE(peer, nullptr);
      EXPECT_EQ(peer[15], mark_of(world_rank(r, ranks)));
    }
    EXPECT_EQ(other.find(*address, other.rank()), own.data());
  };
  const auto same = [](int r, int) { return r; };
  const auto backwards = [](int r, int n) { return n - 1 - r; };
  check(communicator, same);
  check(*communicator.duplicate(soon_enough()), same);
  check(*communicator.split(0, -rank, soon_enough()), backwards);

  // Private memory has no such address, nor has what ends beyond the part.
  const std::vector<std::byte> plain(16);
  EXPECT_FALSE(communicator.symmetric_address_of(plain));
  EXPECT_FALSE(communicator.symmetric_address_of({own.data(), 4096}));
  // Nor what was given back; its name is not used again.
  const SymmetricAddress gone = *communicator.symmetric_address_of(own);
  const std::span<const std::byte> bytes = own;
  communicator.barrier(soon_enough());
  memory.reset();
  communicator.barrier(soon_enough());
  EXPECT_FALSE(communicator.symmetric_address_of(bytes));
  communicator.barrier(soon_enough());
  const auto next = communicator.allocate({4096}, soon_enough());
  EXPECT_EQ(communicator.find(gone, rank), nullptr);
  EXPECT_NE(communicator.symmetric_address_of(next->part(rank))->allocation, gone.allocation);
  communicator.barrier(soon_enough());
}

/// Symmetric memory is that of each node.
inline void check_memory_of_nodes(Communicator& communicator) {
  const int rank = communicator.rank();
  const auto memory = communicator.allocate({4096}, soon_enough());
  memory->part(rank)[0] = std::byte(rank + 1);
  communicator.barrier(soon_enough());
  const auto addresses =
      exchange_addresses(communicator, *communicator.symmetric_address_of(memory->part(rank)));
  const auto nodes = communicator.nodes();
  for (std::size_t r = 0; r < addresses.size(); ++r) {
    const std::span<std::byte> part = memory->part(static_cast<int>(r));
    EXPECT_EQ(communicator.find(addresses[r], static_cast<int>(r)), part.data());
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
