// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The library as NCCL's profiler, loaded and told of events as NCCL does.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>
#include <vector>

#include "colltune/nccl/choice.h"
#include "colltune/nccl/profiler_control.h"
#include "loaded_profiler.h"

namespace colltune::test {
namespace {

using nccl::Algorithm;
using nccl::Protocol;

constexpr int other_events = 1 << 5;
constexpr int wanted_events = nccl::profile_collective | nccl::profile_transfer;

class ProfilerTest : public testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    ASSERT_EQ(profiler.init(&context, 0xABCD, &mask, 8, 3), nccl::result_success);
    ASSERT_NE(context, nullptr);
  }
  void TearDown() override {
    EXPECT_EQ(profiler.finalize(context), nccl::result_success);
    std::uint64_t watch = 0;
    EXPECT_EQ(begin(&mask, &mask, &watch), 9) << "no communicator has a profiler any more";
  }
  [[nodiscard]] int events() { return std::atomic_ref(mask).load(); }
  [[nodiscard]] nccl::ProfiledCollective ring(int channels = 8) {
    return {.function = "AllReduce",
            .send = buffers.data(),
            .receive = buffers.data() + 1,
            .channels = static_cast<std::uint8_t>(channels),
            .warps = 17,
            .algorithm = "RING",
            .protocol = "LL128"};
  }
  void tell(const nccl::ProfiledCollective& collective) { profiler.tell(context, 3, collective); }

  LoadedProfiler profiler{COLLTUNE_NCCL_TUNER, GetParam()};
  decltype(colltune_nccl_profiler_watch)* begin =
      profiler.control<decltype(colltune_nccl_profiler_watch)>("colltune_nccl_profiler_watch");
  decltype(colltune_nccl_profiler_end_watch)* end =
      profiler.control<decltype(colltune_nccl_profiler_end_watch)>(
          "colltune_nccl_profiler_end_watch");
  int mask = other_events;
  void* context = nullptr;
  std::array<std::byte, 2> buffers{};
};

TEST_P(ProfilerTest, TellsWhatAWatchedCallRanAs) {
  EXPECT_EQ(profiler.name(), "colltune");
  EXPECT_EQ(profiler.control<decltype(colltune_nccl_profiler_interface)>(
                "colltune_nccl_profiler_interface")(),
            COLLTUNE_NCCL_PROFILER_INTERFACE);
  EXPECT_EQ(events(), other_events) << "nothing is told until somebody watches";
  std::uint64_t watch = 0;
  ASSERT_EQ(begin(buffers.data(), buffers.data() + 1, &watch), 0);
  EXPECT_EQ(events(), other_events | wanted_events);
  for (const int type :
       {nccl::profile_group, nccl::profile_group_call, nccl::profile_collective_call})
    profiler.tell(context, type, 3);
  nccl::ProfiledCollective other = ring(2);
  other.receive = buffers.data();
  tell(other);
  other = ring(3);
  other.send = nullptr;
  tell(other);
  tell(ring(8));
  tell(ring(9));  // the next one on these buffers
  colltune_nccl_run ran{};
  ASSERT_EQ(end(watch, &ran), 0);
  EXPECT_EQ(ran.kind, colltune_nccl_ran_entry);
  EXPECT_EQ(ran.algorithm, static_cast<int>(Algorithm::ring));
  EXPECT_EQ(ran.protocol, static_cast<int>(Protocol::ll128));
  EXPECT_EQ(ran.channels, 8);
  EXPECT_EQ(ran.warps, 17);
  EXPECT_EQ(events(), other_events);
  EXPECT_EQ(end(watch, &ran), 5) << "it has ended";
}

TEST_P(ProfilerTest, KnowsNcclsWordsAndNoOthers) {
  const std::array<const char*, nccl::algorithm_count> words{
      "TREE", "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS", "NVLS_TREE", "PAT"};
  colltune_nccl_run ran{};
  std::uint64_t watch = 0;
  for (int algorithm = 0; algorithm < nccl::algorithm_count; ++algorithm) {
    ASSERT_EQ(begin(buffers.data(), buffers.data() + 1, &watch), 0);
    nccl::ProfiledCollective told = ring();
    told.algorithm = words[static_cast<std::size_t>(algorithm)];
    told.protocol = "SIMPLE";
    tell(told);
    ASSERT_EQ(end(watch, &ran), 0) << told.algorithm;
    EXPECT_EQ(ran.algorithm, algorithm);
    EXPECT_EQ(ran.protocol, static_cast<int>(Protocol::simple));
  }
  const auto kind_of = [&](const char* told_algorithm, const char* told_protocol, int channels) {
    EXPECT_EQ(begin(buffers.data(), buffers.data() + 1, &watch), 0);
    nccl::ProfiledCollective told = ring(channels);
    told.algorithm = told_algorithm;
    told.protocol = told_protocol;
    tell(told);
    colltune_nccl_run kind{.kind = -1};
    EXPECT_EQ(end(watch, &kind), 0);
    return kind.kind;
  };
  EXPECT_EQ(kind_of("RING", "LL", 64), colltune_nccl_ran_entry);
  EXPECT_EQ(kind_of("RING", "LL", 0), colltune_nccl_ran_kernel) << "of symmetric windows";
  EXPECT_EQ(kind_of("AGxLL_R", "", 8), colltune_nccl_ran_kernel) << "the same of newer versions";
  EXPECT_EQ(kind_of("RIN", "LL", 8), colltune_nccl_ran_kernel);
  EXPECT_EQ(kind_of("RINGS", "LL", 8), colltune_nccl_ran_kernel);
  EXPECT_EQ(kind_of("RING", "Unknown", 8), colltune_nccl_ran_kernel);
  EXPECT_EQ(kind_of(nullptr, "LL", 8), colltune_nccl_ran_kernel);
}

TEST_P(ProfilerTest, TellsOfSendsAndReceivesOnItsBuffers) {
  const auto told_of = [&](void* buffer) {
    std::uint64_t watch = 0;
    EXPECT_EQ(begin(buffers.data(), buffers.data() + 1, &watch), 0);
    profiler.tell(context, 3, nccl::ProfiledTransfer{.function = "Send", .buffer = buffer});
    colltune_nccl_run ran{};
    return end(watch, &ran) == 0 ? ran.kind : -1;
  };
  EXPECT_EQ(told_of(buffers.data()), colltune_nccl_ran_transfers);
  EXPECT_EQ(told_of(buffers.data() + 1), colltune_nccl_ran_transfers);
  EXPECT_EQ(told_of(buffers.data() + 2), -1) << "of somebody else's";
  EXPECT_EQ(told_of(nullptr), -1);
}

TEST_P(ProfilerTest, WatchesAreManyButNotWithoutEnd) {
  std::vector<std::uint64_t> watches;
  std::uint64_t watch = 0;
  while (begin(buffers.data(), buffers.data() + 1, &watch) == 0) watches.push_back(watch);
  EXPECT_EQ(watches.size(), 64U);
  EXPECT_EQ(begin(buffers.data(), buffers.data() + 1, &watch), 8);
  EXPECT_EQ(begin(buffers.data(), buffers.data() + 1, nullptr), 3);
  for (const std::uint64_t one : watches) EXPECT_EQ(end(one, nullptr), 9) << "nothing was told";
  EXPECT_EQ(end(0, nullptr), 5);
  EXPECT_EQ(end(~std::uint64_t{0}, nullptr), 5);
  EXPECT_EQ(events(), other_events);
}

TEST_P(ProfilerTest, ALibraryThatComesLaterTellsTooAndOneWithoutAMaskIsLeftAlone) {
  std::uint64_t watch = 0;
  ASSERT_EQ(begin(buffers.data(), buffers.data() + 1, &watch), 0);
  int later = 0;
  void* of_later = nullptr;
  ASSERT_EQ(profiler.init(&of_later, 1, &later, 2, 0), nccl::result_success);
  EXPECT_EQ(later, wanted_events);
  void* again = nullptr;
  ASSERT_EQ(profiler.init(&again, 2, &later, 2, 0), nccl::result_success);
  void* without = &later;
  EXPECT_EQ(profiler.init(&without, 3, nullptr, 2, 0), nccl::result_success);
  EXPECT_EQ(without, nullptr);
  EXPECT_EQ(profiler.init(nullptr, 3, &later, 2, 0), nccl::result_success);
  profiler.finalize(again);
  EXPECT_EQ(end(watch, nullptr), 9);
  EXPECT_EQ(later, 0);
  profiler.finalize(of_later);
  EXPECT_EQ(profiler.finalize(nullptr), nccl::result_success);
}

TEST_P(ProfilerTest, ThreadsAreToldOfTheirOwnCalls) {
  constexpr int threads = 32;
  constexpr int calls = 500;
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> all;
    for (int thread = 0; thread < threads; ++thread)
      all.emplace_back([&, thread] {
        std::array<std::byte, 2> own{};
        nccl::ProfiledCollective told = ring();
        told.send = own.data();
        told.receive = own.data() + 1;
        for (int call = 0; call < calls; ++call) {
          told.channels = static_cast<std::uint8_t>(1 + (thread + call) % 64);
          std::uint64_t watch = 0;
          if (begin(told.send, told.receive, &watch) != 0) ++wrong;
          if ((events() & wanted_events) != wanted_events) ++wrong;
          tell(told);
          colltune_nccl_run ran{};
          if (end(watch, &ran) != 0 || ran.channels != told.channels) ++wrong;
          tell(told);  // nobody watches it
        }
      });
  }
  EXPECT_EQ(wrong, 0);
}

INSTANTIATE_TEST_SUITE_P(ProfilerInterfaces, ProfilerTest, testing::Values(4, 5, 6),
                         testing::PrintToStringParamName());

TEST(Profiler, OlderInterfacesFindNone) {
  EXPECT_THROW(LoadedProfiler(COLLTUNE_NCCL_TUNER, 3), std::runtime_error);
}

}  // namespace
}  // namespace colltune::test
