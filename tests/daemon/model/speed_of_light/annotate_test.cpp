// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/speed_of_light/annotate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "colltune/vocabulary/error.h"

namespace colltune::speed_of_light {
namespace {

using ::testing::HasSubstr;

// The numbers of the rows are those of the list of rules that this mirrors: what the text of
// ROCm/xla's PR 888 states, and what its review asked for.
Device h100(bool has_multimem = false, std::optional<double> memory = {}) {
  return resolve_device({.name = "NVIDIA H100 80GB HBM3",
                         .platform = "cuda",
                         .architecture = "sm_90",
                         .memory_gb_per_s = memory,
                         .multimem = has_multimem});
}

CollectiveEntry entry(std::uint64_t bytes, bool asynchronous = false) {
  return {.name = "ar",
          .kind = EntryKind::all_reduce,
          .bytes = Bytes{bytes},
          .data_type = DataType::f32,
          .asynchronous = asynchronous};
}

constexpr std::uint64_t KiB = 1024, MiB = 1 << 20;

TEST(Annotate, SizesChooseTheStrategy) {  // rows 1 to 5
  const auto strategy = [](std::uint64_t bytes) {
    return annotate(entry(bytes), 1, h100()).strategy;
  };
  EXPECT_EQ(strategy(128 * KiB), Strategy::one_shot);
  EXPECT_EQ(strategy(MiB), Strategy::two_shot);
  EXPECT_EQ(strategy(8 * MiB), Strategy::standard);
  EXPECT_EQ(strategy(256 * KiB), Strategy::one_shot);
  EXPECT_EQ(strategy(256 * KiB + 4), Strategy::two_shot);
  EXPECT_EQ(strategy(4 * MiB), Strategy::two_shot);
  EXPECT_EQ(strategy(4 * MiB + 4), Strategy::standard);
}

TEST(Annotate, WhatIsNotEligibleIsDefaultWhateverItsSize) {  // row 6
  const auto expect_default = [](const CollectiveEntry& one, const Device& device,
                                 std::string_view why) {
    for (const std::uint64_t bytes : {4 * KiB, MiB, 8 * MiB}) {
      CollectiveEntry sized = one;
      sized.bytes = Bytes{bytes};
      const Annotation answer = annotate(sized, 1, device);
      EXPECT_EQ(answer.strategy, Strategy::standard);
      EXPECT_EQ(answer.source, ChosenBy::eligibility);
      if (bytes <= MiB) {
        EXPECT_THAT(answer.why, HasSubstr(std::string(why)));
      }
    }
  };
  CollectiveEntry type = entry(0);
  type.data_type = DataType::f16;
  expect_default(type, h100(), "f16");
  CollectiveEntry op = entry(0);
  op.reduce_op = ReduceOp::avg;
  expect_default(op, h100(), "avg");
  CollectiveEntry ranks = entry(0);
  ranks.replica_groups = {{0, 1, 2}};
  expect_default(ranks, h100(), "power of two");
  CollectiveEntry unequal = entry(0);
  unequal.replica_groups = {{0, 1}, {2, 3, 4, 5}};
  expect_default(unequal, h100(), "equally large");
  CollectiveEntry kind = entry(0);
  kind.kind = EntryKind::all_gather;
  expect_default(kind, h100(), "all_gather");
  expect_default(
      entry(0),
      resolve_device({.name = "A100", .platform = "cuda", .architecture = "sm_80", .links = 12}),
      "sm_90");
  expect_default(entry(0),
                 resolve_device({.name = "NVIDIA H100 80GB HBM3",
                                 .platform = "cuda",
                                 .architecture = "sm_90",
                                 .gpus_per_node = 16}),
                 "at most 8 ranks");
}

TEST(Annotate, WithoutKernelsTheLibrarysPathIsUnchanged) {  // row 7
  for (const bool asynchronous : {false, true}) {
    CollectiveEntry off = entry(128 * KiB, asynchronous);
    off.kernels = false;
    CollectiveEntry standard = entry(128 * KiB, asynchronous);
    standard.strategy = Strategy::standard;
    const Annotation without = annotate(off, 1, h100());
    const Annotation plain = annotate(standard, 1, h100());
    EXPECT_EQ(without.strategy, Strategy::standard);
    EXPECT_EQ(without.total, plain.total);
    EXPECT_EQ(without.on_node, plain.on_node);
    EXPECT_EQ(without.between, plain.between);
    EXPECT_EQ(without.model, plain.model);
    off.strategy = Strategy::one_shot;
    EXPECT_EQ(annotate(off, 1, h100()).total, plain.total);
  }
}

TEST(Annotate, TheEligibilityIsTheOneOfTheStrategy) {  // row 9
  for (const std::uint64_t bytes : {KiB, 256 * KiB, 256 * KiB + 4, 4 * MiB, 4 * MiB + 4}) {
    const Call call{.message = Bytes{bytes}, .ranks = 8};
    const Strategy by_size = strategy_of_size(call.message, false);
    EXPECT_EQ(annotate(entry(bytes), 1, h100()).strategy == Strategy::standard,
              !why_not_eligible(by_size, call, h100()).empty());
  }
}

TEST(Annotate, LatenciesOfKernels) {  // rows 10 to 12
  EXPECT_NEAR(annotate(entry(128 * KiB), 1, h100()).total.count(), 5.049, 1e-3);
  EXPECT_NEAR(annotate(entry(256 * KiB), 1, h100()).total.count(), 7.597, 1e-3);
  EXPECT_NEAR(annotate(entry(MiB), 1, h100()).total.count(), 9.097, 1e-3);
  EXPECT_NEAR(annotate(entry(4 * MiB), 1, h100()).total.count(), 24.389, 1e-3);
  const Device mi300 =
      resolve_device({.name = "AMD Instinct MI300X", .platform = "rocm", .architecture = "gfx942"});
  EXPECT_NEAR(annotate(entry(128 * KiB), 1, mi300).total.count(), 2.5 + 7 * 131072.0 / 784e3, 1e-6);
}

TEST(Annotate, AsynchronousKernelsHaveTheirTimeBetween) {  // row 13
  CollectiveEntry one = entry(128 * KiB, true);
  one.bytes_accessed = Bytes{256 * KiB};
  const Annotation answer = annotate(one, 1, h100(false, 3350.0));
  const double kernel = 1 + 7 * 131072.0 / 360000 + 1.5;
  const double memory = 262144.0 / 3350e3;
  EXPECT_NEAR(answer.memory.count(), memory, 1e-9);
  EXPECT_NEAR(answer.between.count(), kernel + memory, 1e-9);
  EXPECT_EQ(answer.on_node, low_cost);
  one.strategy = Strategy::standard;
  EXPECT_NE(annotate(one, 1, h100(false, 3350.0)).between, answer.between);
}

TEST(Annotate, DefaultCostsLittleOnItsNode) {  // rows 14 and 17
  for (const bool asynchronous : {false, true}) {
    const Annotation answer = annotate(entry(8 * MiB, asynchronous), 1, h100());
    EXPECT_EQ(answer.strategy, Strategy::standard);
    EXPECT_EQ(answer.on_node, low_cost);
    EXPECT_EQ(answer.between, answer.total);
  }
}

TEST(Annotate, TheTimeIsCountedOnce) {  // rows 15, 16 and 19
  for (const std::uint64_t bytes : {128 * KiB, MiB}) {
    const Annotation sync = annotate(entry(bytes, false), 1, h100());
    const Annotation async = annotate(entry(bytes, true), 1, h100());
    EXPECT_GT(sync.on_node, low_cost);
    EXPECT_EQ(sync.on_node, sync.total);
    EXPECT_EQ(sync.between, low_cost);
    EXPECT_EQ(async.on_node, low_cost);
    EXPECT_EQ(async.between, async.total);
    EXPECT_EQ(sync.total, async.total);
  }
}

TEST(Annotate, AcrossHostsAChoiceIsIgnored) {  // row 18
  CollectiveEntry one = entry(128 * KiB);
  const Annotation without = annotate(one, 2, h100());
  one.strategy = Strategy::one_shot;
  const Annotation answer = annotate(one, 2, h100());
  EXPECT_EQ(answer.strategy, Strategy::standard);
  EXPECT_EQ(answer.model, "xla.ring");
  EXPECT_EQ(answer.total, without.total);
  EXPECT_THAT(answer.why, HasSubstr("no effect across hosts"));
}

TEST(Annotate, AChosenStrategyIsUsedWhateverTheSize) {  // row 20
  CollectiveEntry large = entry(8 * MiB);
  large.strategy = Strategy::one_shot;
  const Annotation answer = annotate(large, 1, h100());
  EXPECT_EQ(answer.strategy, Strategy::one_shot);
  EXPECT_EQ(answer.source, ChosenBy::caller);
  EXPECT_EQ(answer.total, kernel_latency(Strategy::one_shot, large.bytes, 8, h100()));
  CollectiveEntry small = entry(4 * KiB);
  small.strategy = Strategy::standard;
  EXPECT_EQ(annotate(small, 1, h100()).strategy, Strategy::standard);
}

TEST(Annotate, AChoiceThatCannotRunIsRefusedOrNamedAFallback) {
  CollectiveEntry one = entry(4 * KiB);
  one.data_type = DataType::f16;
  one.strategy = Strategy::one_shot;
  try {
    static_cast<void>(annotate(one, 1, h100()));
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::failed_precondition);
    EXPECT_THAT(error.what(), HasSubstr("collective 'ar': one_shot cannot run: does not take f16"));
  }
  one.fallback = true;
  const Annotation answer = annotate(one, 1, h100());
  EXPECT_EQ(answer.strategy, Strategy::standard);
  EXPECT_EQ(answer.source, ChosenBy::fallback);
  EXPECT_THAT(answer.why, HasSubstr("f16"));
}

TEST(Annotate, DevicesWithoutLinksAreDefaultOrAnError) {  // row 21; more in SpeedOfLight
  Device device = h100();
  device.links = 0;
  EXPECT_THROW(static_cast<void>(annotate(entry(128 * KiB), 1, device)), Error);
  device = h100();
  device.lane = 0;
  EXPECT_THROW(static_cast<void>(annotate(entry(128 * KiB), 1, device)), Error);
}

TEST(Annotate, MultimemIsMoreThanItsLaunch) {  // row 22
  const Annotation answer = annotate(entry(128 * KiB), 1, h100(true));
  EXPECT_EQ(answer.strategy, Strategy::multimem);
  EXPECT_EQ(answer.model, "xla.multimem (estimate)");
  EXPECT_GT(answer.total, kernel_latency(Strategy::two_shot, Bytes{128 * KiB}, 8, h100()));
  EXPECT_EQ(annotate(entry(MiB), 1, h100(true)).strategy, Strategy::two_shot);
}

TEST(Annotate, SizesAreChecked) {  // row 23
  EXPECT_GT(annotate(entry((std::uint64_t{1} << 63) - 1), 1, h100()).total.count(), 0);
  EXPECT_THROW(static_cast<void>(annotate(entry(std::uint64_t{1} << 63), 1, h100())), Error);
}

TEST(Annotate, ATimeIsFiniteOrAnError) {
  const Device slow = resolve_device({.name = "NVIDIA H100 80GB HBM3",
                                      .platform = "cuda",
                                      .architecture = "sm_90",
                                      .lane_gb_per_s = 1e-308});
  CollectiveEntry chosen = entry((std::uint64_t{1} << 63) - 1);
  chosen.strategy = Strategy::one_shot;
  try {
    static_cast<void>(annotate(chosen, 1, slow));
    ADD_FAILURE() << "an infinite time";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::out_of_range);
    EXPECT_THAT(error.what(), HasSubstr("xla.one_shot gives no finite time"));
  }
}

TEST(Annotate, GroupsAreChecked) {
  const auto error_of = [](std::vector<std::vector<int>> groups, int nodes) {
    CollectiveEntry one = entry(KiB);
    one.replica_groups = std::move(groups);
    try {
      static_cast<void>(annotate(one, nodes, h100()));
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  EXPECT_THAT(error_of({{0, 8}}, 1), HasSubstr("rank 8 of a replica group; ranks are 0 to 7"));
  EXPECT_THAT(error_of({{0, 1}, {1, 2}}, 1), HasSubstr("rank 1 is in the replica groups twice"));
  EXPECT_THAT(error_of({{}}, 1), HasSubstr("an empty replica group"));
  EXPECT_THAT(error_of({{0, 1, 8}}, 2), HasSubstr("more ranks on one node"));
}

// A group for each device of a node is as many communicators as devices: each gets its NIC alone.
TEST(Annotate, GroupsAcrossHostsAreTheModelsCommunicators) {
  CollectiveEntry rails = entry(8 * MiB);
  rails.replica_groups.emplace();
  for (int i = 0; i < 8; ++i) rails.replica_groups->push_back({i, i + 8});
  EXPECT_EQ(annotate(rails, 2, h100()).total,
            network_latency(EntryKind::all_reduce, rails.bytes, {.nodes = 2, .ranks = 2}, h100()));
}

}  // namespace
}  // namespace colltune::speed_of_light
