// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Calls that the caller captures, replayed.

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "colltune/kernels/verification/oracle.h"
#include "device_fixture.h"
#include "guarded_buffers.h"
#include "support/pretended_device.h"
#include "support/pretended_stream.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

using namespace std::chrono_literals;

/// A queue that a caller captures: what is put on it is kept, and run with each replay.
struct CapturingStream : PretendedStream {
  CapturingStream() : PretendedStream{&CapturingStream::keep} {}
  static void keep(PretendedStream* stream, void (*work)(void*), void* argument) {
    static_cast<CapturingStream*>(stream)->captured.emplace_back(work, argument);
  }
  void replay() const {
    for (const auto& [work, argument] : captured) work(argument);
  }
  std::vector<std::pair<void (*)(void*), void*>> captured;
};

/// Four floats on each rank, in a call that the caller captures.
struct CapturedCall {
  CapturedCall(Communicator& communicator, const Implementation& implementation,
               std::chrono::nanoseconds longest_wait = usual_longest_wait)
      : send(*communicator.device(), {16}), receive(*communicator.device(), {16}) {
    Problem problem = small_sum();
    problem.graph_capture = true;
    operation = implementation.prepare(
        communicator, {problem, 0, {send.bytes(), receive.bytes()}, longest_wait},
        variant_of(std::string(implementation.name())), soon_enough());
  }
  DeviceMemory send;
  DeviceMemory receive;
  std::unique_ptr<Operation> operation;
};

TEST_F(DeviceImplementations, ACapturedCallCountsOnFromReplayToReplay) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  PretendedDevice third("third");
  const std::vector<Device*> devices{&first, &second, &third};
  for (const std::string name :
       {"cuda.all_reduce_one_shot", "cuda.all_reduce_one_shot_low_latency",
        "cuda.all_reduce_one_shot_low_latency_128", "cuda.all_reduce_two_shot_poison"})
    run_ranks(
        3,
        [&](Communicator& communicator) {
          const CapturedCall call(communicator, find(name));
          CapturingStream stream;
          call.operation->submit(static_cast<PretendedStream*>(&stream));
          EXPECT_EQ(stream.captured.size(), 1u);
          for (int replay = 0; replay < 6; ++replay) {
            const auto value = static_cast<float>(communicator.rank() + replay);
            const std::vector<float> input(4, value);
            communicator.device()->write(call.send.bytes().data(), std::as_bytes(std::span(input)));
            stream.replay();
            std::vector<float> sums(4);
            communicator.device()->read(std::as_writable_bytes(std::span(sums)),
                                        call.receive.bytes().data());
            EXPECT_EQ(sums, std::vector<float>(4, static_cast<float>(3 + 3 * replay)))
                << name << ", replay " << replay;
          }
          EXPECT_NO_THROW(call.operation->check_submitted());
          communicator.barrier(soon_enough());
        },
        {}, devices);
}

Problem problem_of(const Implementation& implementation, int ranks, bool is_registered) {
  const BlockLayout shape = shape_of(implementation.collective());
  const std::uint64_t blocks = shape.has_block_per_rank() ? static_cast<std::uint64_t>(ranks) : 1;
  return {.collective = implementation.collective(),
          .data_type = DataType::f32,
          .reduce_op = shape.reduces ? ReduceOp::sum : ReduceOp::none,
          .message_size = {103 * blocks * sizeof(float)},
          .registered = is_registered,
          .graph_capture = true};
}

/// Captures a call of `problem` and replays it with other inputs each time; what was wrong, empty
/// where nothing was. A pretended device's memory is the host's.
std::string replay_in_vain(Communicator& communicator, const Implementation& implementation,
                           const Problem& problem, const Variant& variant) {
  const int rank = communicator.rank();
  const int ranks = communicator.size();
  const int root = shape_of(problem.collective).has_root ? ranks - 1 : 0;
  const DeviceMemory memory(*communicator.device(), {guarded_size(problem, ranks)});
  const GuardedBuffers buffers(memory.bytes(), problem, rank, ranks, rank == root);
  const auto operation = implementation.prepare(
      communicator, {problem, root, {buffers.send, buffers.receive}}, variant, soon_enough());
  CapturingStream stream;
  operation->submit(static_cast<PretendedStream*>(&stream));
  std::string wrong;
  for (std::uint64_t replay = 0; replay < 4; ++replay) {
    const VerifiedCall call{problem, ranks, root, DataPattern::exact, replay + 1};
    std::ranges::fill(buffers.receive, std::byte{0xEE});
    fill_send(call, rank, buffers.send);
    stream.replay();
    const auto mismatch = find_mismatch(
        call, rank, implementation.numerics(problem, variant).rounding, buffers.receive);
    if (mismatch && wrong.empty())
      wrong = "replay " + std::to_string(replay) + ": element " +
              std::to_string(mismatch->element) + " is " + mismatch->got;
  }
  operation->check_submitted();
  communicator.barrier(soon_enough());
  return buffers.are_whole() ? wrong : "bytes beside a buffer were written";
}

TEST_F(DeviceImplementations, EveryCapturedCallIsRightInEachReplay) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  PretendedDevice third("third");
  const std::vector<Device*> devices{&first, &second, &third};
  run_ranks(
      3,
      [&](Communicator& communicator) {
        const Capability capability = detect_capability(all_, communicator);
        const Topology topology = topology_of(communicator, capability);
        for (const auto& one : all_) {
          int ways = 0;
          for (const bool is_registered : {false, true}) {
            const Problem problem = problem_of(*one, communicator.size(), is_registered);
            const std::vector<Variant> all = one->variants(problem, topology, capability);
            const auto variant = std::ranges::find_if(all, [&](const Variant& candidate) {
              return static_cast<bool>(one->supports(problem, topology, capability, candidate));
            });
            if (variant == all.end()) continue;
            ++ways;
            EXPECT_EQ(replay_in_vain(communicator, *one, problem, *variant), "")
                << to_string(*variant) << ", " << describe(problem);
          }
          EXPECT_GT(ways, 0) << one->name();
        }
      },
      {}, devices);
}

TEST_F(DeviceImplementations, ARankThatDoesNotReplayIsNamed) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  const std::vector<Device*> devices{&first, &second};
  run_ranks(
      2,
      [&](Communicator& communicator) {
        const CapturedCall call(communicator, find(one_shot));
        CapturingStream stream;
        call.operation->submit(static_cast<PretendedStream*>(&stream));
        if (communicator.rank() == 0) {
          // What the device's own limit does in the end, the host may do at once.
          std::jthread impatient([&] {
            std::this_thread::sleep_for(20ms);
            call.operation->end_submitted();
          });
          stream.replay();
          try {
            call.operation->check_submitted();
            ADD_FAILURE() << "the replay came to an end";
          } catch (const RankMissing& error) {
            EXPECT_EQ(error.rank(), 1);
          }
        }
        communicator.barrier(soon_enough());
      },
      {}, devices);
}

// Each way that kernels wait for each other: by signals, flags of lines, poison.
TEST_F(DeviceImplementations, AReplayWaitsForAPeerAsLongAsItsCallerSaid) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  const std::vector<Device*> devices{&first, &second};
  for (const std::string& name : {one_shot, std::string("cuda.all_reduce_one_shot_low_latency"),
                                  std::string("cuda.all_reduce_one_shot_low_latency_128"),
                                  std::string("cuda.all_reduce_two_shot_poison"),
                                  std::string("cuda.all_reduce_two_shot_pull")})
    run_ranks(
        2,
        [&](Communicator& communicator) {
          const CapturedCall call(communicator, find(name), 30ms);
          CapturingStream stream;
          call.operation->submit(static_cast<PretendedStream*>(&stream));
          if (communicator.rank() == 0) {
            const auto begin = std::chrono::steady_clock::now();
            stream.replay();
            const auto took = std::chrono::steady_clock::now() - begin;
            EXPECT_GE(took, 30ms) << name;
            EXPECT_LT(took, 30s) << name;
            try {
              call.operation->check_submitted();
              ADD_FAILURE() << name << ": the replay came to an end";
            } catch (const RankMissing& error) {
              EXPECT_EQ(error.rank(), 1) << name;
            }
          }
          communicator.barrier(soon_enough());
        },
        {}, devices);
}

TEST_F(DeviceImplementations, ALongestWaitIsAboveZero) {
  PretendedDevice first("first");
  PretendedDevice second("second");
  run_ranks(
      2,
      [&](Communicator& communicator) {
        try {
          const CapturedCall call(communicator, find(one_shot),
                                  communicator.rank() == 1 ? 0ns : usual_longest_wait);
          ADD_FAILURE() << "rank 1 would wait for nobody";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), StatusCode::invalid_argument);
          EXPECT_EQ(std::string(error.what()),
                    "rank 1: the longest wait of a kernel is 0 ns; allowed are values above 0");
        }
      },
      {}, std::vector<Device*>{&first, &second});
}

TEST_F(DeviceImplementations, WhatCannotBeCapturedSaysSo) {
  PretendedDevice device;
  run_ranks(
      2,
      [&](Communicator& communicator) {
        CapturingStream stream;
        const CapturedCall shared(communicator, find(one_shot));
        const SmallCall uncaptured(communicator, find(one_shot));
        EXPECT_THROW(shared.operation->submit(static_cast<PretendedStream*>(&stream)), Error);
        EXPECT_THROW(uncaptured.operation->submit(static_cast<PretendedStream*>(&stream)), Error);
        EXPECT_TRUE(stream.captured.empty());
        communicator.barrier(soon_enough());
      },
      {}, std::vector<Device*>{&device, &device});
}

}  // namespace
}  // namespace colltune::test
