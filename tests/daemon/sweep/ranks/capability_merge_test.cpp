// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/ranks/capability_merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <functional>
#include <random>
#include <span>

#include "colltune/sweep/control/control_tree.h"
#include "colltune/sweep/plan/sweep_plan.h"
#include "colltune/sweep/ranks/availability.h"
#include "fakes.h"
#include "support/sanitizer.h"

namespace colltune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using namespace std::chrono_literals;

/// Why a case is not for ThreadSanitizer.
constexpr const char* alone = "it has one thread";

Capability able(int kind) {
  Capability capability{.architecture = "arch" + std::to_string(kind / 2), .features = {}};
  capability.features["cpu.cores"] = std::to_string(8 << kind % 3);
  for (int feature = 0; feature < 12; ++feature)
    if ((kind >> feature % 4 & 1) == 0 || feature > 8)
      capability.features["library.feature." + std::to_string(feature)] = "";
  capability.features["kind"] = std::to_string(kind);
  return capability;
}

CapabilityKinds one(const Capability& capability) {
  return {.kinds = {capability}, .kind_of_rank = {0}};
}

CapabilityKinds merge_all(std::span<const CapabilityKinds> ranges) {
  if (ranges.size() == 1) return ranges.front();
  const std::size_t half = ranges.size() / 2;
  return merge(merge_all(ranges.first(half)), merge_all(ranges.subspan(half)));
}

TEST(CapabilityMerge, NumbersKindsByValueWhateverTheRanges) {
  if (test::has_thread_sanitizer) GTEST_SKIP() << alone;
  std::mt19937 random(1);
  for (int trial = 0; trial < (test::has_sanitizer ? 200 : 1000); ++trial) {
    const int ranks = std::uniform_int_distribution(1, 40)(random);
    const int kinds = std::uniform_int_distribution(1, 9)(random);
    std::vector<CapabilityKinds> ranges;
    std::vector<Capability> ranks_can;
    for (int rank = 0; rank < ranks; ++rank) {
      ranks_can.push_back(able(std::uniform_int_distribution(0, kinds - 1)(random)));
      ranges.push_back(one(ranks_can.back()));
    }
    const CapabilityKinds merged = merge_all(ranges);
    ASSERT_EQ(merged.kind_of_rank.size(), ranks_can.size());
    for (std::size_t rank = 0; rank < ranks_can.size(); ++rank)
      ASSERT_EQ(merged.kinds.at(static_cast<std::size_t>(merged.kind_of_rank[rank])),
                ranks_can[rank]);
    EXPECT_TRUE(std::ranges::is_sorted(merged.kinds));
    EXPECT_EQ(std::ranges::adjacent_find(merged.kinds), merged.kinds.end());
    CapabilityKinds in_sequence = ranges.front();
    for (std::size_t rank = 1; rank < ranges.size(); ++rank)
      in_sequence = merge(in_sequence, ranges[rank]);
    EXPECT_EQ(in_sequence, merged);
    EXPECT_EQ(decode_kinds(encode(merged)), merged);
  }
}

TEST(CapabilityMerge, ARankTakesMoreBytesOnlyWithMoreKinds) {
  if (test::has_thread_sanitizer) GTEST_SKIP() << alone;
  for (const std::size_t kinds : {1U, 256U, 257U, 70'000U}) {
    CapabilityKinds ranks;
    for (std::size_t kind = 0; kind < kinds; ++kind)
      ranks.kinds.push_back({.architecture = std::to_string(1'000'000 + kind), .features = {}});
    for (std::size_t rank = 0; rank < 3 * kinds; ++rank)
      ranks.kind_of_rank.push_back(static_cast<int>(rank % kinds));
    EXPECT_EQ(decode_kinds(encode(ranks)), ranks) << kinds;
  }
  CapabilityKinds alike = one(able(1));
  const std::size_t of_one = encode(alike).size();
  alike.kind_of_rank.resize(10'001, 0);
  EXPECT_LT(encode(alike).size(), of_one + 10'000 + 8);
}

TEST(CapabilityMerge, WhatCannotBeReadIsAnErrorAndStaysOne) {
  if (test::has_thread_sanitizer) GTEST_SKIP() << alone;
  const Payload good = encode(one(able(1)));
  const auto error_of = [](const Payload& payload) {
    try {
      (void)decode_kinds(payload);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::data_loss);
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_EQ(error_of(good), "no error");
  for (std::size_t size = 0; size + 1 < good.size(); ++size)
    EXPECT_NE(error_of(Payload(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size))),
              "no error");
  // What another build wrote, by the first element of what says the kinds.
  Payload other = good;
  other.at(5) = 9;
  const std::string why = error_of(other);
  EXPECT_THAT(why, HasSubstr("format 9"));
  EXPECT_THAT(why, HasSubstr("reads 1"));
  EXPECT_THAT(error_of(merge_payloads(merge_payloads(good, other), good)), HasSubstr("format 9"));
  EXPECT_THAT(error_of(merge_payloads(good, {})), HasSubstr("cannot be read"));
  std::mt19937 random(2);
  for (int trial = 0; trial < 3000; ++trial) {
    Payload spoilt = encode(merge(one(able(trial % 7)), one(able(3))));
    spoilt[random() % spoilt.size()] = static_cast<std::uint8_t>(random());
    (void)error_of(spoilt);  // read or refused, never anything else
    (void)merge_payloads(spoilt, good);
  }
}

TEST(CapabilityMerge, APlaneOfThreadsGivesTheSameOnAllRanks) {
  for (const int ranks : {1, 2, 3, 7, 8}) {
    std::vector<CapabilityKinds> got(static_cast<std::size_t>(ranks));
    fakes::on_ranks(ranks, 20s, [&](ControlPlane& control, Communicator&) {
      got[static_cast<std::size_t>(control.rank())] =
          decode_kinds(control.merge(encode(one(able(control.rank() % 3))), merge_payloads));
    });
    for (const auto& other : got) EXPECT_EQ(other, got.front());
    for (int rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(got.front().kinds.at(static_cast<std::size_t>(
                    got.front().kind_of_rank.at(static_cast<std::size_t>(rank)))),
                able(rank % 3));
  }
}

TEST(ControlTree, IsOneTreeWhoseChildrenFollowEachOther) {
  for (const int ranks : {1, 2, 3, 5, 8, 13, 1000}) {
    std::vector<int> below(static_cast<std::size_t>(ranks), 1);
    for (int rank = ranks - 1; rank >= 0; --rank) {
      const TreePlace place = place_in_tree(rank, ranks);
      int next = rank + 1;
      for (const int child : place.children) {
        EXPECT_EQ(child, next);
        EXPECT_EQ(place_in_tree(child, ranks).parent, rank);
        EXPECT_EQ(place_in_tree(child, ranks).depth, place.depth + 1);
        EXPECT_LT(place_in_tree(child, ranks).height, place.height);
        next += below[static_cast<std::size_t>(child)];
      }
      below[static_cast<std::size_t>(rank)] = next - rank;
      EXPECT_LE(place.height + place.depth, std::bit_width(static_cast<unsigned>(ranks)));
    }
    EXPECT_EQ(below[0], ranks);
    EXPECT_EQ(place_in_tree(0, ranks).parent, -1);
  }
}

/// The exchange of a launch of any size: the payloads and the joins of MpiControlPlane::merge, rank
/// by rank, with what each one sends and takes.
struct SimulatedExchange {
  struct Rank {
    std::size_t most_bytes_in_a_round = 0;
    std::chrono::nanoseconds busy{};
  };

  /// `payload_of`: what a rank brings.
  SimulatedExchange(const std::function<Payload(int)>& payload_of, int ranks)
      : by_rank(static_cast<std::size_t>(ranks)) {
    std::vector<Payload> sent(static_cast<std::size_t>(ranks));
    std::vector<int> round_of(static_cast<std::size_t>(ranks));  // in which it has been sent up
    for (int rank = ranks - 1; rank >= 0; --rank) {
      const TreePlace place = place_in_tree(rank, ranks);
      Rank& own = by_rank[static_cast<std::size_t>(rank)];
      Payload payload = payload_of(rank);
      const auto begin = std::chrono::steady_clock::now();
      int round = 0;
      for (const int child : place.children) {
        Payload& part = sent[static_cast<std::size_t>(child)];
        round = std::max(round, round_of[static_cast<std::size_t>(child)]) + 1;
        own.most_bytes_in_a_round = std::max(own.most_bytes_in_a_round, part.size());
        payload = merge_payloads(payload, part);
        part = {};
      }
      own.busy = std::chrono::steady_clock::now() - begin;
      round_of[static_cast<std::size_t>(rank)] = round;
      if (rank != 0) ++messages;
      own.most_bytes_in_a_round = std::max(own.most_bytes_in_a_round, payload.size());
      sent[static_cast<std::size_t>(rank)] = std::move(payload);
    }
    result = sent.front();
    rounds = round_of.front();
    // Down again: a rank sends to one child after the other, the largest subtree first.
    std::vector<int> has_it(static_cast<std::size_t>(ranks));
    has_it[0] = rounds;
    for (int rank = 0; rank < ranks; ++rank) {
      const TreePlace place = place_in_tree(rank, ranks);
      int round = has_it[static_cast<std::size_t>(rank)];
      for (auto child = place.children.rbegin(); child != place.children.rend(); ++child) {
        has_it[static_cast<std::size_t>(*child)] = ++round;
        ++messages;
      }
      Rank& own = by_rank[static_cast<std::size_t>(rank)];
      own.most_bytes_in_a_round = std::max(own.most_bytes_in_a_round, result.size());
    }
    rounds = std::ranges::max(has_it);
  }

  std::vector<Rank> by_rank;
  Payload result;
  int messages = 0;
  int rounds = 0;
};

/// The ranks of a node are alike.
std::size_t kind_of(int rank) { return static_cast<std::size_t>(rank / 8 * 5 % 8); }

/// Eight kinds of rank: two architectures, and 500 variants whose support is a feature each.
Capability one_of_eight(int kind) {
  Capability capability{.architecture = kind < 4 ? "sm_80" : "sm_90", .features = {}};
  for (int variant = 0; variant < 500; ++variant)
    if (variant % 8 != kind)
      capability.features["nccl.all_reduce.ring.simple.channels" + std::to_string(variant)] = "";
  for (int feature = 0; feature < 60; ++feature)
    capability.features["hardware.fact." + std::to_string(feature)] =
        "some value that all nodes of a cluster share " + std::to_string(feature % 7);
  capability.features["driver"] = "580." + std::to_string(kind);
  return capability;
}

TEST(SimulatedExchange, SixteenThousandRanksOfEightKindsStayWithinTheirBounds) {
  if (test::has_thread_sanitizer) GTEST_SKIP() << alone;
  constexpr int ranks = test::has_sanitizer ? 2'048 : 16'384;
  std::vector<Capability> kinds;
  std::vector<Payload> payloads;
  const auto begin = std::chrono::steady_clock::now();
  for (int kind = 0; kind < 8; ++kind) {
    kinds.push_back(one_of_eight(kind));
    payloads.push_back(encode(one(kinds.back())));
  }
  const auto to_write_its_own = (std::chrono::steady_clock::now() - begin) / 8;
  const SimulatedExchange exchange([&](int rank) { return payloads[kind_of(rank)]; }, ranks);
  const CapabilityKinds merged = decode_kinds(exchange.result);
  ASSERT_EQ(merged.kinds.size(), 8U);
  ASSERT_EQ(merged.kind_of_rank.size(), static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; rank += 37)
    ASSERT_TRUE(merged.kinds[static_cast<std::size_t>(
                    merged.kind_of_rank[static_cast<std::size_t>(rank)])] == kinds[kind_of(rank)]);
  EXPECT_EQ(exchange.messages, 2 * (ranks - 1));
  EXPECT_LE(exchange.rounds, 2 * std::bit_width(static_cast<unsigned>(ranks)));
  std::size_t most_bytes = 0;
  std::chrono::nanoseconds busiest{};
  for (const auto& rank : exchange.by_rank) {
    most_bytes = std::max(most_bytes, rank.most_bytes_in_a_round);
    busiest = std::max(busiest, rank.busy + to_write_its_own);
  }
  EXPECT_LE(most_bytes, 32U << 10);
  RecordProperty("most_bytes_in_a_round", static_cast<int>(most_bytes));
  RecordProperty("rounds", exchange.rounds);
  RecordProperty("busiest_rank_us", static_cast<int>(busiest / 1us));
}

}  // namespace
}  // namespace colltune
