// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// As many threads as a node may have ranks in one process, each with a communicator of its own.

#include <atomic>
#include <barrier>
#include <deque>
#include <latch>
#include <thread>

#include "tuner_fixture.h"

namespace colltune::test {
namespace {

using nccl::Algorithm;
using nccl::Choice;
using nccl::Function;
using nccl::Protocol;

constexpr int threads = 64;
constexpr int calls = 2000;

class ThreadsTest : public TunerTest {};

/// What a force with this number asks for.
Choice choice_of(std::uint64_t id) {
  return {static_cast<Algorithm>(4 + id % 3), static_cast<Protocol>(id % 3),
          1 + static_cast<int>(id % 64)};
}

TEST_F(ThreadsTest, CommunicatorsDoNotDisturbEachOther) {
  publish({{.function = Function::all_reduce,
            .ranks = 8,
            .nodes = 1,
            .max_message = {100},
            .choice = {Algorithm::ring, Protocol::ll, 5},
            .time_us = 3}});
  std::atomic<int> wrong = 0;
  std::barrier begin(threads);
  {
    std::deque<std::jthread> all;
    for (int thread = 0; thread < threads; ++thread)
      all.emplace_back([&, thread] {
        begin.arrive_and_wait();  // NCCL's init threads are concurrent too
        const std::size_t ranks = thread % 2 == 0 ? 8 : 4;
        const TunedCommunicator communicator(tuner, ranks, 1);
        for (int call = 0; call < calls; ++call) {
          Costs costs = Costs::of(5);
          int channels = 0;
          communicator.ask({Function::all_reduce, static_cast<std::size_t>(call % 200)}, costs,
                           channels);
          const bool is_ruled = ranks == 8 && call % 200 <= 100;
          const bool is_right =
              is_ruled ? costs == only({Algorithm::ring, Protocol::ll}, 3) && channels == 5
                       : costs == Costs::of(5) && channels == 0;
          if (!is_right) ++wrong;
        }
      });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(control.list(nullptr, 0), 0U);
}

TEST_F(ThreadsTest, ForcesChangeWhileCallsAreMade) {
  std::deque<TunedCommunicator> communicators;
  std::vector<std::uint64_t> numbers;
  for (int thread = 0; thread < threads; ++thread) {
    communicators.emplace_back(tuner, 8, 1);
    numbers.push_back(newest().number);
    ASSERT_EQ(control.observe(numbers.back(), 1), 0);
    const colltune_nccl_force force = force_of(choice_of(1), 1, 1);
    ASSERT_EQ(control.force(numbers.back(), &force), 0);
  }
  std::atomic<int> wrong = 0;
  std::atomic<int> read_back = 0;
  std::latch done(threads);
  {
    std::deque<std::jthread> all;
    for (int thread = 0; thread < threads; ++thread)
      all.emplace_back([&, thread] {
        for (int call = 0; call < calls; ++call) {
          Costs costs = Costs::of(5);
          int channels = 0;
          communicators[static_cast<std::size_t>(thread)].ask({Function::all_reduce, 64}, costs,
                                                              channels);
          // The cost is the force's number: all of one force, never parts of two.
          const float id = *std::ranges::min_element(costs.entries);
          const Choice choice = choice_of(static_cast<std::uint64_t>(id));
          if (costs != only(choice, id) || channels != choice.channels) ++wrong;
        }
        done.count_down();
      });
    all.emplace_back([&] {
      // Once more behind the last call: then all can be read back for certain.
      bool is_last = false;
      for (std::uint64_t id = 2; !is_last; ++id) {
        is_last = done.try_wait();
        for (const std::uint64_t number : numbers) {
          const std::uint64_t bounded = 1 + id % 1000;
          const colltune_nccl_force force =
              force_of(choice_of(bounded), static_cast<float>(bounded), bounded);
          if (control.force(number, &force) != 0) ++wrong;
          colltune_nccl_call seen{};
          if (control.last_call(number, &seen) != 0) continue;  // not yet, or just being written
          const Choice choice = choice_of(seen.force_id);
          if (seen.outcome != colltune_nccl_forced || seen.channels != choice.channels ||
              seen.algorithm != static_cast<int>(choice.algorithm) ||
              seen.protocol != static_cast<int>(choice.protocol))
            ++wrong;
          ++read_back;
        }
      }
    });
  }
  EXPECT_EQ(wrong, 0);
  EXPECT_GT(read_back, 0);
  for (const std::uint64_t number : numbers) {
    colltune_nccl_call seen{};
    ASSERT_EQ(control.last_call(number, &seen), 0);
    EXPECT_EQ(seen.count, static_cast<std::uint64_t>(calls));
  }
}

}  // namespace
}  // namespace colltune::test
