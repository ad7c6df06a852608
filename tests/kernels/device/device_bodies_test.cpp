// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The bodies of the GPU algorithms as host threads: every one of them, with the same orders of
// memory as on a GPU.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "device_launch.h"
#include "support/full_run.h"
#include "support/sanitizer.h"

namespace colltune {

void PrintTo(const DeviceAlgorithm& algorithm, std::ostream* out) { *out << algorithm.name; }

namespace test {
namespace {

using namespace std::chrono_literals;

// ThreadSanitizer sees whoever meets whom in a few cases.
constexpr bool is_thorough = !has_thread_sanitizer;

class DeviceBodies : public testing::TestWithParam<DeviceAlgorithm> {
 protected:
  [[nodiscard]] static Problem problem(int ranks, std::size_t elements,
                                       DataType type = DataType::f32, ReduceOp op = ReduceOp::sum) {
    const BlockLayout shape = shape_of(GetParam().collective);
    const std::size_t blocks = shape.has_block_per_rank() ? static_cast<std::size_t>(ranks) : 1;
    return {.collective = GetParam().collective,
            .data_type = type,
            .reduce_op = shape.reduces ? op : ReduceOp::none,
            .message_size = {elements * blocks * size_of(type)}};
  }
  [[nodiscard]] static int root_of(int ranks) {
    return shape_of(GetParam().collective).has_root ? ranks - 1 : 0;
  }
  static void expect_right(const DeviceLaunch& launch) {
    const DeviceOutcome outcome = run_on_host(GetParam(), launch);
    EXPECT_EQ(outcome.fault, "") << describe(launch.problem) << ", " << launch.ranks << " ranks of "
                                 << launch.blocks << " x " << launch.threads << ", chunk "
                                 << launch.chunk << ", " << launch.slots << " slots";
    EXPECT_EQ(outcome.missing, -1);
  }
  /// Whether its ranks wait for words that tell by themselves that they have come.
  [[nodiscard]] static bool waits_for_words() {
    return GetParam().scratch_fill != 0 || GetParam().needs_whole_lines ||
           GetParam().name.ends_with("low_latency");
  }
  /// Calls of three ranks, one of which begins late in each: what the others do not wait for is not
  /// there yet.
  [[nodiscard]] static DeviceLaunch with_late_ranks(device::HostFaults faults) {
    return {.problem = problem(3, 700),
            .ranks = 3,
            .root = root_of(3),
            .blocks = 1,
            .chunk = 112,
            .calls = 9,
            .has_late_rank = true,
            .faults = faults};
  }
  /// Whether what `launch` leaves out makes a result wrong. On a machine that does much else the
  /// others get no core while a rank is late: once more, then, with ranks that are later.
  [[nodiscard]] static bool is_noticed(DeviceLaunch launch, int* left_out = nullptr) {
    for (; launch.late_by < 1s; launch.late_by *= 2) {
      const DeviceOutcome outcome = run_on_host(GetParam(), launch);
      if (!outcome.fault.empty()) return true;
      if (left_out != nullptr && (*left_out = outcome.left_out) == 0) return false;
      // Who comes late to what a barrier has announced is overtaken where the next one is missing.
      launch.slow_rank = (launch.slow_rank + 2) % (launch.ranks + 1) - 1;
    }
    return false;
  }
  /// Plain and registered, in place and not.
  [[nodiscard]] static std::vector<DeviceLaunch> ways_of(DeviceLaunch launch) {
    std::vector<DeviceLaunch> ways;
    for (const bool registered : {false, true})
      for (const bool in_place : {false, true}) {
        launch.problem.registered = registered;
        launch.problem.in_place = in_place;
        if ((registered || GetParam().list_copies == nullptr) &&
            (!in_place || GetParam().works_in_place))
          ways.push_back(launch);
      }
    return ways;
  }
  template <class Act>
  static void for_each_way(const DeviceLaunch& launch, Act act) {
    for (const DeviceLaunch& way : ways_of(launch)) act(way);
  }
  /// The same for one of many launches of a test: but in a full run the ways take turns over them.
  template <class Act>
  void for_each_way_in_turn(const DeviceLaunch& launch, Act act) {
    if (is_full_run()) return for_each_way(launch, act);
    // Shifted by one each time round, so that every value of an inner loop meets every way.
    const std::vector<DeviceLaunch> ways = ways_of(launch);
    act(ways[(turn_ + turn_ / ways.size()) % ways.size()]);
    ++turn_;
  }

 private:
  std::size_t turn_ = 0;
};

TEST_P(DeviceBodies, AreRightForAnySizeAndNumberOfRanks) {
  const std::vector<std::size_t> sizes{0, 1, 17, 1003};
  // Three ranks take all sizes. But in a full run the others take the longest and one more, in an
  // order in which the longest meets every way.
  const std::vector<std::vector<std::size_t>> sizes_of_ranks{
      {1003, 1}, {1003, 17}, sizes, {1, 1003}, {17, 1003}};
  for (const int ranks : is_thorough ? std::vector{1, 2, 3, 4, 5} : std::vector{3})
    for (const std::size_t elements : !is_thorough ? std::vector{1UL, 103UL}
                                      : is_full_run()
                                          ? sizes
                                          : sizes_of_ranks[static_cast<std::size_t>(ranks) - 1])
      for_each_way_in_turn(
          {.problem = problem(ranks, elements), .ranks = ranks, .root = root_of(ranks)},
          expect_right);
}

TEST_P(DeviceBodies, AreRightOnAsManyRanksAsThereMayBe) {
  if (!is_thorough) GTEST_SKIP();
  DeviceLaunch launch{.problem = problem(device::most_ranks, 129),
                      .ranks = device::most_ranks,
                      .root = root_of(device::most_ranks),
                      .blocks = 1,
                      .threads = 1};
  for_each_way_in_turn(launch, expect_right);
}

TEST_P(DeviceBodies, AreRightForEveryTypeAndOperator) {
  if (!is_thorough) GTEST_SKIP();
  const bool reduces = shape_of(GetParam().collective).reduces;
  for (const auto& type : enum_names(DataType{}))
    for (const auto& op : enum_names(ReduceOp{})) {
      if (op.value == ReduceOp::none || (!reduces && op.value != ReduceOp::sum)) continue;
      // A pair of type and operator is compiled once for all ways.
      for_each_way_in_turn(
          {.problem = problem(3, 33, type.value, op.value), .ranks = 3, .calls = 2}, expect_right);
    }
}

TEST_P(DeviceBodies, AreRightForAnyGridAndChunk) {
  for (const int blocks : is_thorough ? std::vector{1, 3} : std::vector{2})
    for (const int threads : is_thorough ? std::vector{1, 3} : std::vector{2}) {
      // A single thread and the largest grid show a sanitizer nothing more.
      if (has_sanitizer && blocks == threads && blocks != 2) continue;
      for (const std::uint64_t chunk : {0UL, 48UL, 1024UL})
        for (const int slots : {2, 5})
          if ((chunk == 0 && slots == 2) || GetParam().has_chunks)
            for_each_way_in_turn({.problem = problem(3, 700),
                                  .ranks = 3,
                                  .root = root_of(3),
                                  .blocks = blocks,
                                  .threads = threads,
                                  .chunk = chunk,
                                  .slots = slots},
                                 expect_right);
    }
}

// In six calls each rank is late in an even and in an odd one.
TEST_P(DeviceBodies, ALateRankSpoilsNothing) {
  for_each_way({.problem = problem(3, 100),
                .ranks = 3,
                .root = root_of(3),
                .calls = is_full_run() ? 9 : 6,
                .has_late_rank = true},
               expect_right);
}

// Signals are compared as 64 bits, flags as 32 of them: both go on where 32 bits are full.
TEST_P(DeviceBodies, CountsGoOnPast32Bits) {
  for_each_way(
      {.problem = problem(2, 40), .calls = 12, .first_counter = (std::uint64_t{1} << 32) - 6},
      expect_right);
}

// What stands for "nothing has come yet" somewhere may be what is sent.
TEST_P(DeviceBodies, AnyWordMayBeSent) {
  for (const std::uint64_t word : {0xA9A9A9A9A9A9A9A9U, 0xA9A9A9A9A9A9A9AAU, std::uint64_t{0},
                                   ~std::uint64_t{0}, std::uint64_t{1} << 32})
    for_each_way_in_turn({.problem = problem(3, 35, DataType::u64, ReduceOp::max),
                          .ranks = 3,
                          .calls = 8,
                          .word = word},
                         expect_right);
}

TEST_P(DeviceBodies, AMissingRankEndsTheCallWithItsName) {
  for (const int missing : {0, 2}) {
    DeviceLaunch launch{.problem = problem(3, 100),
                        .ranks = 3,
                        .root = root_of(3),
                        .calls = 1,
                        .missing_rank = missing};
    launch.problem.registered = GetParam().list_copies != nullptr;
    // Along a chain the neighbours of who is missing may be given up first.
    const auto is_named = [&](const DeviceOutcome& outcome) {
      return GetParam().has_chunks ? outcome.missing >= 0 : outcome.missing == missing;
    };
    // So may a rank whose thread got no core for as long as a wait lasts, and, where a thread has
    // nothing to do in a first step, a rank that itself waits there for who is missing: both waits
    // are as long, and every second time it is that one. Several times, then, and with more
    // patience.
    DeviceOutcome outcome;
    for (launch.limit = 20ms; !is_named(outcome) && launch.limit < 20s; launch.limit *= 2)
      for (int attempt = 0; !is_named(outcome) && attempt < 4; ++attempt)
        outcome = run_on_host(GetParam(), launch);
    EXPECT_TRUE(is_named(outcome)) << "rank " << outcome.missing << ", not " << missing;
  }
}

TEST_P(DeviceBodies, SeveralPacketsAtOnceAreTheSame) {
  if (!GetParam().moves_packets) GTEST_SKIP() << "it moves words, or nothing";
  // Fewer packets than threads hold at once, as many, some more, and a part of one behind them.
  for (const std::size_t elements : {1U, 64U, 67U, 257U, 1031U}) {
    const DeviceLaunch launch{.problem = problem(3, elements),
                              .ranks = 3,
                              .root = root_of(3),
                              .chunk = 1040,
                              .packets = device::most_packets};
    for_each_way_in_turn(launch, expect_right);
  }
}

TEST_P(DeviceBodies, PutsAndPostsAloneReachPeersThatAreNotMapped) {
  if (!GetParam().reaches_by_puts) GTEST_SKIP() << "it reads or writes its peers' memory";
  for (const int packets : {1, device::most_packets}) {
    const DeviceLaunch launch{.problem = problem(3, 1031),
                              .ranks = 3,
                              .root = root_of(3),
                              .chunk = 1040,
                              .packets = packets,
                              .is_networked = true};
    for_each_way(launch, [](const DeviceLaunch& way) { expect_right(way); });
  }
}

// None where nothing is left, and one for what is left, however short it is.
TEST_P(DeviceBodies, AMessageTakesNoMoreWindowsThanItFills) {
  if (!GetParam().has_chunks) GTEST_SKIP() << "it does not cut the message";
  constexpr int ranks = 4;
  constexpr std::uint64_t chunk = 64;
  const auto steps_of = [](std::uint64_t bytes) {
    return run_on_host(GetParam(), {.problem = problem(ranks, bytes / sizeof(float)),
                                    .ranks = ranks,
                                    .blocks = 1,
                                    .chunk = chunk,
                                    .calls = 1})
        .steps;
  };
  const std::uint64_t of_none = steps_of(0);
  const std::uint64_t of_window = steps_of(device::packet_bytes) - of_none;
  ASSERT_GT(of_window, 0U);
  const std::uint64_t window = GetParam().does_shares ? ranks * chunk : chunk;
  // Steps are counted: to a sanitizer one number of windows is as good as another.
  for (const std::uint64_t windows :
       has_sanitizer ? std::vector{2UL} : std::vector{1UL, 2UL, 3UL, 8UL}) {
    const std::uint64_t whole = windows * window;
    EXPECT_EQ(steps_of(whole), of_none + windows * of_window) << whole << " bytes";
    for (const std::uint64_t rest : has_sanitizer
                                        ? std::vector{4UL, window - 4}
                                        : std::vector{4UL, device::packet_bytes, window / 2,
                                                      window - device::packet_bytes, window - 4})
      EXPECT_EQ(steps_of(whole + rest), of_none + (windows + 1) * of_window)
          << whole << " and " << rest << " bytes";
  }
}

// A rank that is a call ahead, in a longer or a shorter one, leaves alone what others still read.
TEST_P(DeviceBodies, CallsOfUnlikeSizesFollowEachOther) {
  if (GetParam().clears_words) GTEST_SKIP() << "its calls are of one size";
  if (GetParam().list_copies != nullptr) GTEST_SKIP() << "its copies are of one size";
  DeviceLaunch launch{.problem = problem(3, 720), .ranks = 3, .blocks = 2, .chunk = 64};
  const auto bytes = [](std::size_t elements) { return problem(3, elements).message_size.value; };
  launch.sizes = {bytes(3),   bytes(720), bytes(5), bytes(24),  bytes(650),
                  bytes(100), bytes(1),   bytes(2), bytes(400), bytes(399)};
  launch.calls = static_cast<int>(launch.sizes.size());
  for (const std::uint64_t chunk : {64, 4096}) {
    if (chunk > 64 && !GetParam().has_chunks) break;
    launch.chunk = chunk;
    launch.has_late_rank = true;
    launch.late_by = 1ms;
    launch.slow_rank = -1;
    expect_right(launch);
    launch.has_late_rank = false;
    // Each load of the slow rank takes a moment. Where there is one window a call, as under a
    // sanitizer, one rank is slow but in a full run.
    const bool is_each_slow = is_full_run() || (chunk == 64 && !has_sanitizer);
    for (launch.slow_rank = 0; launch.slow_rank < launch.ranks; ++launch.slow_rank)
      if (is_each_slow || launch.slow_rank == (chunk == 64 ? 1 : 0)) expect_right(launch);
  }
}

// Windows are many more than slots, and one rank is slower than the others.
TEST_P(DeviceBodies, SlotsAreNotWrittenBeforeTheyWereRead) {
  if (!GetParam().has_chunks) GTEST_SKIP() << "it does not cut the message";
  DeviceLaunch launch{.problem = problem(3, 700),
                      .ranks = 3,
                      .blocks = 1,
                      .chunk = 112,
                      .calls = is_thorough ? 3 : 1,
                      .slow_rank = 1};
  expect_right(launch);
  // Round a ring a window's last part follows from what the slow rank gave of it, so nobody comes
  // as far ahead as there are slots.
  if (GetParam().name.find("ring") != std::string::npos) return;
  launch.faults.ignores_credit = true;
  if (has_sanitizer) return;
  EXPECT_NE(run_on_host(GetParam(), launch).fault, "") << "nobody noticed that credit is missing";
}

// That faults are noticed is a property of these tests: a sanitizer sees nothing more of it.
#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST_P(DeviceBodies, LinesThatAreNotSeenWholeAreNoticed) {
  if (!GetParam().needs_whole_lines) GTEST_SKIP() << "it has no lines";
  const DeviceLaunch launch{.problem = problem(2, 700), .faults = {.breaks_lines = true}};
  EXPECT_NE(run_on_host(GetParam(), launch).fault, "");
}

TEST_P(DeviceBodies, SignalsThatOvertakeWhatWasPutAreNoticed) {
  if (!GetParam().reaches_by_puts) GTEST_SKIP() << "it reads or writes its peers' memory";
  const DeviceLaunch launch{.problem = problem(3, 700),
                            .ranks = 3,
                            .is_networked = true,
                            .faults = {.forgets_puts = true}};
  EXPECT_NE(run_on_host(GetParam(), launch).fault, "");
}

// On one side of a barrier alone, too.
TEST_P(DeviceBodies, MissingFencesBetweenAliasesAreNoticed) {
  if (!GetParam().needs_multicast) GTEST_SKIP() << "its memory has one name";
  DeviceLaunch launch{.problem = problem(2, 700), .faults = {.skips_alias_release = true}};
  EXPECT_NE(run_on_host(GetParam(), launch).fault, "") << "behind the stores";
  launch.faults = {.skips_alias_acquire = true};
  EXPECT_NE(run_on_host(GetParam(), launch).fault, "") << "before the loads";
}

TEST_P(DeviceBodies, MissingWaitsForOthersAreNoticed) {
  if (waits_for_words()) GTEST_SKIP() << "it waits for words";
  for_each_way(with_late_ranks({.ignores_progress = true}), [](const DeviceLaunch& launch) {
    EXPECT_TRUE(is_noticed(launch)) << describe(launch.problem);
  });
}

// Each barrier alone, of those that have few.
TEST_P(DeviceBodies, AMissingBarrierIsNoticed) {
  if (waits_for_words()) GTEST_SKIP() << "it waits for words";
  if (GetParam().has_chunks) GTEST_SKIP() << "its steps are as many as its windows";
  int barriers = 0;
  for (const std::uint64_t step : {1U, 2U, 3U})
    for_each_way(with_late_ranks({.ignored_step = step}), [&](const DeviceLaunch& launch) {
      int left_out = 0;
      const bool is_wrong = is_noticed(launch, &left_out);
      if (!is_wrong && left_out == 0) return;  // it has no such step
      ++barriers;
      EXPECT_TRUE(is_wrong) << "step " << step << ", " << describe(launch.problem);
    });
  EXPECT_GT(barriers, 0);
}

TEST_P(DeviceBodies, FlagsThatAreNotComparedAreNoticed) {
  if (!waits_for_words()) GTEST_SKIP() << "it waits for signals";
  EXPECT_TRUE(is_noticed(with_late_ranks({.ignores_flags = true})));
}

TEST_P(DeviceBodies, WordsThatAreNotClearedAreNoticed) {
  if (GetParam().scratch_fill == 0) GTEST_SKIP() << "it clears nothing";
  EXPECT_TRUE(is_noticed(with_late_ranks({.keeps_words = true})));
}

TEST_P(DeviceBodies, MissingBlockBarriersAreNoticed) {
  if (waits_for_words()) GTEST_SKIP() << "its threads wait for their own words";
  if (GetParam().list_copies != nullptr) GTEST_SKIP() << "its threads share nothing";
  DeviceLaunch launch{
      .problem = problem(2, 700), .faults = {.skips_block_barriers = true}, .limit = 50ms};
  const DeviceOutcome outcome = run_on_host(GetParam(), launch);
  EXPECT_TRUE(!outcome.fault.empty() || outcome.missing >= 0);
}
#endif

/// The names of the algorithms of which `property` is true.
std::set<std::string> names_with(bool DeviceAlgorithm::*property) {
  std::set<std::string> names;
  for (const DeviceAlgorithm& algorithm : make_device_algorithms())
    if (algorithm.*property) names.insert(algorithm.name);
  return names;
}

// Who does not say so is not tried over a network.
TEST(DeviceAlgorithmsOfTheCatalogue, ReachTheirPeersByPuts) {
  EXPECT_EQ(names_with(&DeviceAlgorithm::reaches_by_puts),
            (std::set<std::string>{"cuda.all_gather_push", "cuda.all_reduce_pipeline",
                                   "cuda.all_reduce_ring", "cuda.all_reduce_ring_both_ways",
                                   "cuda.all_to_all_push", "cuda.broadcast_chain"}));
}

// Who does not say so has more threads planned than find something to do.
TEST(DeviceAlgorithmsOfTheCatalogue, DoTheMessageShareByShare) {
  EXPECT_EQ(names_with(&DeviceAlgorithm::does_shares),
            (std::set<std::string>{
                "cuda.all_reduce_pipeline", "cuda.all_reduce_ring",
                "cuda.all_reduce_ring_both_ways", "cuda.all_reduce_two_shot_low_latency",
                "cuda.all_reduce_two_shot_low_latency_128", "cuda.all_reduce_two_shot_multicast",
                "cuda.all_reduce_two_shot_poison", "cuda.all_reduce_two_shot_pull",
                "cuda.all_reduce_two_shot_push", "cuda.reduce_two_shot"}));
}

INSTANTIATE_TEST_SUITE_P(Cuda, DeviceBodies, testing::ValuesIn(make_device_algorithms()),
                         [](const auto& of) {
                           std::string name = of.param.name;
                           std::ranges::replace(name, '.', '_');
                           return name;
                         });

}  // namespace
}  // namespace test
}  // namespace colltune
