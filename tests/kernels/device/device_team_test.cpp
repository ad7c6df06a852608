// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Signals that are looked at without waiting: two ranks, a block of one thread each, by turns.

#include "device_code/team.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "device_code/host_context.h"
#include "device_code/staging.h"

namespace colltune::test {
namespace {

using device::Channel;
using device::HostContext;
using Team = device::Team<HostContext>;

constexpr std::uint64_t counted = 40;  // by calls before
constexpr std::uint64_t data_bytes = 48;

/// One of them.
struct Rank {
  explicit Rank(const device::HostNetwork* network)
      : scratch((device::signals_size + data_bytes) / sizeof(std::uint64_t)),
        block(0, 1, 1, {}, network),
        context(block, 0) {}
  [[nodiscard]] std::byte* bytes() { return reinterpret_cast<std::byte*>(scratch.data()); }

  std::vector<std::uint64_t> scratch;
  std::uint64_t counter = counted;
  device::PeerMemory peers;
  device::DeviceCall call;
  device::HostBlock block;
  HostContext context;
};

/// Mapped peers, and such that are reached over a network alone.
class DeviceTeam : public testing::TestWithParam<bool> {
 protected:
  DeviceTeam() : first_(network()), second_(network()) {
    const std::array ranks{&first_, &second_};
    for (int rank = 0; rank < 2; ++rank) {
      Rank& own = *ranks[static_cast<std::size_t>(rank)];
      own.call.rank = rank;
      own.call.ranks = 2;
      own.call.counters = &own.counter;
      own.call.look_up_peers_in(own.peers);
      network_.scratch[static_cast<std::size_t>(rank)] = own.bytes();
      for (int peer = 0; peer < 2; ++peer)
        if (peer == rank || !GetParam())
          own.peers.scratch[peer] = ranks[static_cast<std::size_t>(peer)]->bytes();
    }
  }
  [[nodiscard]] const device::HostNetwork* network() const {
    return GetParam() ? &network_ : nullptr;
  }
  /// What the second rank finds in the data of its memory.
  [[nodiscard]] std::vector<std::byte> found() {
    const std::byte* const data = device::data_of(second_.call, 1);
    return {data, data + data_bytes};
  }

  device::HostNetwork network_;
  Rank first_;
  Rank second_;
};

TEST_P(DeviceTeam, APostHasComeWhenItIsThereAndNoSooner) {
  Team first(first_.context, first_.call);
  const Team second(second_.context, second_.call);
  EXPECT_FALSE(second.has_come(0, 1));
  first.post(1, 1);
  EXPECT_TRUE(second.has_come(0, 1));
  EXPECT_FALSE(second.has_come(0, 2)) << "a later step";
  EXPECT_FALSE(second.has_come(0, 1, Channel::credit)) << "another channel";
  EXPECT_FALSE(Team(first_.context, first_.call).has_come(1, 1)) << "the other way";
  first.post(1, 3);
  EXPECT_TRUE(second.has_come(0, 2));
  EXPECT_TRUE(second.has_come(0, 3));
  first.post(1, 2, Channel::credit);
  EXPECT_TRUE(second.has_come(0, 2, Channel::credit));
}

TEST_P(DeviceTeam, StepsOfTheCallBeforeHaveNotComeInTheNext) {
  {
    Team first(first_.context, first_.call);
    Team second(second_.context, second_.call);
    first.post(1, 2);
    second.finish(2);
  }
  const Team next(second_.context, second_.call);
  EXPECT_EQ(next.base(), counted + 2);
  EXPECT_FALSE(next.has_come(0, 1));
}

TEST_P(DeviceTeam, WhatWasPutBeforeThePostIsThereWithIt) {
  const std::vector<std::byte> sent(data_bytes, std::byte{0x5A});
  Team first(first_.context, first_.call);
  const Team second(second_.context, second_.call);
  first.put(first.scratch_of(1, 0), sent.data(), data_bytes);
  EXPECT_FALSE(second.has_come(0, 1));
  // Of a network it is known that nothing came: else nobody may look before the post.
  if (GetParam()) {
    EXPECT_EQ(found(), std::vector<std::byte>(data_bytes));
  }
  first.post(1, 1);
  ASSERT_TRUE(second.has_come(0, 1));
  EXPECT_EQ(found(), sent);
}

TEST_P(DeviceTeam, APutWithSignalIsOne) {
  const std::vector<std::byte> sent(data_bytes, std::byte{0x3C});
  Team first(first_.context, first_.call);
  const Team second(second_.context, second_.call);
  EXPECT_FALSE(second.has_come(0, 7));
  first.put_with_signal(1, first.scratch_of(1, 0), sent.data(), data_bytes, 7);
  EXPECT_TRUE(second.has_come(0, 7));
  EXPECT_EQ(found(), sent);
}

INSTANTIATE_TEST_SUITE_P(Peers, DeviceTeam, testing::Bool(),
                         [](const auto& of) { return of.param ? "OverANetwork" : "Mapped"; });

}  // namespace
}  // namespace colltune::test
