// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The example that users copy must be as right as the catalogue's own, and as bounded.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <thread>
#include <vector>

#include "colltune/kernels/verification/oracle.h"
#include "colltune/plugin/load_plugin.h"
#include "kernels/conformance.h"
#include "kernels/random_calls.h"
#include "plugin_files.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

Problem broadcast_of(std::uint64_t bytes) {
  return {.collective = Collective::broadcast,
          .data_type = DataType::u8,
          .reduce_op = ReduceOp::none,
          .message_size = {bytes}};
}
const Variant small_chunks{"example.broadcast_staged", {{"chunk", std::int64_t{64}}}};

class ExamplePlugin : public testing::TestWithParam<int> {};

TEST_P(ExamplePlugin, Conforms) {
  const Implementations plugin = load_plugin(example_plugin);
  ChosenVariants chosen;
  std::atomic<int> run = 0;
  run_ranks(GetParam(), [&](Communicator& communicator) {
    run += run_conformance(communicator, plugin, chosen);
  });
  EXPECT_EQ(run > 0, GetParam() >= 2) << "it is limited to 2 ranks and more";
}

// Chunks much smaller than the message: the slots are used again and again.
TEST_P(ExamplePlugin, TurnsItsSlots) {
  const Implementations plugin = load_plugin(example_plugin);
  run_ranks(GetParam(), [&](Communicator& communicator) {
    for (const std::uint64_t bytes : {63, 64, 65, 128, 1000, 5000})
      for (int root = 0; root < communicator.size(); ++root)
        for (const bool has_late_rank : {false, true}) {
          // Who waits for the late one does so in the same way at any size: all sizes from one
          // root, one size from all of them.
          if (has_late_rank && root != 0 && bytes != 1000) continue;
          ConformanceCase test{.problem = broadcast_of(bytes), .root = root};
          test.has_late_rank = has_late_rank;
          EXPECT_EQ(find_fault(communicator, *plugin.front(), small_chunks, test), "")
              << bytes << " bytes from " << root << " at " << communicator.rank();
        }
  });
}

// Sizes and roots from call to call, with chunks of which many fit into a message, and with one.
TEST_P(ExamplePlugin, TakesRandomCalls) {
  if (GetParam() < 2) GTEST_SKIP() << "it is limited to 2 ranks and more";
  const Implementations plugin = load_plugin(example_plugin);
  run_ranks(GetParam(), [&](Communicator& communicator) {
    EXPECT_EQ(find_fault_in_random_calls(
                  communicator, plugin,
                  {.calls = 400, .operations = 4, .seed = static_cast<std::uint64_t>(GetParam())}),
              "");
  });
}

TEST_P(ExamplePlugin, KeepsItsSlotsApartWhereRootsChange) {
  if (GetParam() < 2) GTEST_SKIP() << "it is limited to 2 ranks and more";
  const Implementations plugin = load_plugin(example_plugin);
  run_ranks(GetParam(), [&](Communicator& communicator) {
    std::vector<std::byte> memory(1000);
    const auto call_of = [&](std::uint64_t bytes, int root) {
      const std::span<std::byte> all = std::span(memory).first(bytes);
      Problem problem = broadcast_of(bytes);
      problem.in_place = true;
      return Call{.problem = problem,
                  .root = root,
                  .buffers = {communicator.rank() == root ? all : all.first(0), all}};
    };
    Call first = call_of(10, 0);
    first.capacity = {memory.size()};
    const auto operation =
        plugin.front()->prepare(communicator, first, small_chunks, soon_enough());
    for (int number = 0; number < 300; ++number) {
      const int root = number * 7 % communicator.size();
      const auto bytes = static_cast<std::size_t>(number * 37 % 1001);
      const std::byte sent{static_cast<unsigned char>(number + 1)};
      std::ranges::fill(memory, communicator.rank() == root ? sent : std::byte{0});
      operation->rebind(call_of(bytes, root));
      operation->start();
      operation->wait(soon_enough());
      EXPECT_EQ(std::ranges::count(std::span(memory).first(bytes), sent),
                static_cast<std::ptrdiff_t>(bytes))
          << number;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, ExamplePlugin, testing::Values(1, 2, 3, 4, 5, 6, 7, 8));

/// Two ranks as threads of one test, each with a buffer and an operation.
class ExamplePluginPair : public testing::Test {
 protected:
  /// Rank 0 is the root.
  void prepare(std::uint64_t bytes) {
    buffers_.assign(2, std::vector<std::byte>(bytes));
    operations_.resize(2);
    std::vector<std::jthread> threads;
    for (std::size_t r = 0; r < 2; ++r)
      threads.emplace_back([this, r, bytes] {
        Problem problem = broadcast_of(bytes);
        problem.in_place = true;
        const Call call{.problem = problem,
                        .root = 0,
                        .buffers = {r == 0 ? std::span<const std::byte>(buffers_[r])
                                           : std::span<const std::byte>(),
                                    buffers_[r]}};
        operations_[r] = plugin_.front()->prepare(*world_[r], call, small_chunks, soon_enough());
      });
  }

  const Implementations plugin_ = load_plugin(example_plugin);
  AbortFlag abort_flag_;
  std::vector<std::unique_ptr<Communicator>> world_ = make_thread_world(2, abort_flag_);
  std::vector<std::vector<std::byte>> buffers_;
  std::vector<std::unique_ptr<Operation>> operations_;
};

Deadline very_soon() { return std::chrono::steady_clock::now() + std::chrono::milliseconds(10); }

TEST_F(ExamplePluginPair, NamesARootThatNeverComes) {
  prepare(64);
  operations_[1]->start();
  try {
    operations_[1]->wait(very_soon());
    FAIL() << "nothing was thrown";
  } catch (const RankMissing& missing) {
    EXPECT_EQ(missing.rank(), 0);
    EXPECT_EQ(missing.code(), StatusCode::deadline_exceeded);
    EXPECT_STREQ(missing.what(), "timed out waiting for the staged chunk of rank 0");
  }
}

// Messages of up to two chunks fit into the slots: the root needs nobody for them.
TEST_F(ExamplePluginPair, NamesAReceiverThatNeverComes) {
  prepare(3 * 64);
  operations_[0]->start();
  try {
    operations_[0]->wait(very_soon());
    FAIL() << "nothing was thrown";
  } catch (const RankMissing& missing) {
    EXPECT_EQ(missing.rank(), 1);
    EXPECT_EQ(missing.code(), StatusCode::deadline_exceeded);
  }
}

TEST_F(ExamplePluginPair, GivesUpOnTheAbortFlag) {
  prepare(64);
  operations_[1]->start();
  abort_flag_.raise();
  try {
    operations_[1]->wait(soon_enough());
    FAIL() << "nothing was thrown";
  } catch (const RankMissing& missing) {
    EXPECT_EQ(missing.rank(), 0);
    EXPECT_EQ(missing.code(), StatusCode::aborted);
  }
}

// A root whose slots are full returns from start all the same: its receiver starts only then.
TEST_F(ExamplePluginPair, NeverWaitsInStart) {
  prepare(5 * 64);
  std::ranges::fill(buffers_[0], std::byte{7});
  operations_[0]->start();
  operations_[1]->start();
  std::jthread receiver([this] { operations_[1]->wait(soon_enough()); });
  operations_[0]->wait(soon_enough());
  receiver.join();
  EXPECT_EQ(buffers_[1], buffers_[0]);
}

}  // namespace
}  // namespace colltune::test
