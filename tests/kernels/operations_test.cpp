// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What operations take of the machine, give back, and leave to others while they wait.

#include <gtest/gtest.h>

#include <cstring>
#include <ctime>
#include <thread>

#include "colltune/kernels/communication/bounded_wait.h"
#include "operation_checks.h"

namespace colltune::test {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(Operations, GiveBackWhatTheyHold) {
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "a sanitizer keeps what is freed";
#endif
  const Implementations catalogue = make_catalogue();
  run_ranks(3, [&](Communicator& communicator) {
    check_operations_give_back_what_they_hold(communicator, catalogue);
  });
}

TEST(Operations, TakeTurnsOnOneCommunicator) {
  const Implementations catalogue = make_catalogue();
  const auto check = [&](Communicator& communicator) {
    check_live_operations_take_turns(communicator, catalogue);
  };
  run_ranks(3, check);
  run_ranks(4, check, {.node = {0, 0, 1, 1}});
}

TEST(Operations, AreRefusedOnAllRanksWhereTheyWouldTakeMoreThanIsStated) {
  const Implementations catalogue = make_catalogue();
  const Implementation* one_shot = find_implementation(catalogue, "cpu.all_reduce_one_shot");
  run_ranks(2, [&](Communicator& communicator) {
    const auto prepare = [&](std::uint64_t size, const std::string& chunk) {
      Problem problem;
      problem.message_size = {size};
      // It is refused before anybody looks at a buffer.
      return one_shot->prepare(communicator, {.problem = problem},
                               parse_variant("cpu.all_reduce_one_shot{access=staged,chunk=" +
                                             chunk + ",slots=4,stores=cached}"),
                               soon_enough());
    };
    // Four slots of each.
    for (const auto& [size, chunk] :
         {std::pair{257U << 20, "0"}, std::pair{1U << 30, "536870912"}}) {
      try {
        (void)prepare(size, chunk);
        ADD_FAILURE() << "more than 1 GiB of symmetric memory was taken";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), StatusCode::resource_exhausted);
        EXPECT_NE(std::string(error.what()).find("more than 1GiB; take a smaller chunk"),
                  std::string::npos)
            << error.what();
      }
    }
    EXPECT_NE(prepare(1U << 30, "65536"), nullptr);
  });
}

TEST(Operations, RebindRefusesWhatTheCallWasNotPreparedFor) {
  const Implementations catalogue = make_catalogue();
  run_ranks(2, [&](Communicator& communicator) {
    std::vector<std::byte> memory(4096);
    for (const char* const text :
         {"cpu.reduce_flat{access=staged,chunk=16384,slots=4,stores=cached}",
          "cpu.reduce_low_latency{format=line,slots=4,stores=cached,taken_back=fetched}"}) {
      const Variant variant = parse_variant(text);
      const auto* const implementation = find_implementation(catalogue, variant.implementation);
      const auto call_of = [&](std::size_t size, int root) {
        const bool is_root = communicator.rank() == root;
        return Call{.problem = {.collective = Collective::reduce, .message_size = {size}},
                    .root = root,
                    .buffers = {std::span(memory).first(size),
                                std::span(memory).subspan(2048, is_root ? size : 0)}};
      };
      Call first = call_of(256, 0);
      const auto without = implementation->prepare(communicator, first, variant, soon_enough());
      first.capacity = {512};
      const auto operation = implementation->prepare(communicator, first, variant, soon_enough());
      const auto refusal = [](Operation& one, const Call& call) {
        try {
          one.rebind(call);
        } catch (const Error& error) {
          return std::string(error.what());
        }
        return std::string();
      };
      const auto expect = [&](Operation& one, const Call& call, const char* why) {
        EXPECT_NE(refusal(one, call).find(why), std::string::npos) << refusal(one, call);
      };
      expect(*without, call_of(8, 1), "no capacity was given");
      expect(*operation, call_of(516, 0), "messages of up to 512");
      expect(*operation, call_of(8, 2), "the root is rank 2 of 2");
      Call other = call_of(8, 0);
      other.problem.collective = Collective::all_reduce;
      expect(*operation, other, "the call was prepared for reduce");
      other = call_of(8, 0);
      other.problem.reduce_op = ReduceOp::none;
      expect(*operation, other, "it needs an operator");
      other = call_of(8, 0);
      other.problem.registered = true;
      expect(*operation, other, "registered and graph_capture must be as");
      other = call_of(8, 0);
      other.buffers.send = std::span(memory).first(12);
      expect(*operation, other, "it needs 8 bytes to send, not 12");
      // What was refused changed nothing.
      EXPECT_EQ(refusal(*operation, call_of(512, 1)), "");
      const float one = 1;
      for (std::size_t at = 0; at < 512; at += sizeof one)
        std::memcpy(memory.data() + at, &one, sizeof one);
      operation->start();
      operation->wait(soon_enough());
      float sum = 0;
      std::memcpy(&sum, memory.data() + 2048 + 508, sizeof sum);
      EXPECT_EQ(sum, communicator.rank() == 1 ? 2 : 0);
      communicator.barrier(soon_enough());
    }
  });
}

TEST(Operations, BindRefusesOtherSizesAndWhatLiesElsewhere) {
  const Implementations catalogue = make_catalogue();
  const auto refusal = [](Operation& operation, const CallBuffers& buffers) {
    try {
      operation.bind(buffers);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::invalid_argument) << error.what();
      return std::string(error.what());
    }
    return std::string();
  };
  run_ranks(2, [&](Communicator& communicator) {
    const auto memory = communicator.allocate({4096}, soon_enough());
    const auto elsewhere = communicator.allocate({4096}, soon_enough());
    const std::span<std::byte> own = memory->part(communicator.rank());
    const std::span<std::byte> other = elsewhere->part(communicator.rank());
    for (const std::string access : {"staged", "direct"}) {
      Problem problem{.message_size = {256}};
      problem.registered = access == "direct";
      const auto operation =
          find_implementation(catalogue, "cpu.all_reduce_one_shot")
              ->prepare(communicator,
                        {.problem = problem, .buffers = {own.first(256), own.subspan(256, 256)}},
                        parse_variant("cpu.all_reduce_one_shot{access=" + access +
                                      ",chunk=16384,slots=4,stores=cached}"),
                        soon_enough());
      EXPECT_NE(refusal(*operation, {own.first(128), own.subspan(256, 256)})
                    .find("prepared for 256 bytes to send"),
                std::string::npos);
      std::vector<std::byte> plain(256);
      const std::string why = refusal(*operation, {plain, own.subspan(256, 256)});
      EXPECT_EQ(why.find("does not lie in symmetric memory") != std::string::npos,
                problem.registered)
          << why;
      EXPECT_EQ(refusal(*operation, {other.first(256), other.subspan(256, 256)}), "");
      // What was refused changed nothing.
      EXPECT_EQ(refusal(*operation, {own.subspan(1024, 256), own.subspan(2048, 256)}), "");
      const float one = 1;
      for (std::size_t at = 1024; at < 1280; at += sizeof one)
        std::memcpy(own.data() + at, &one, sizeof one);
      operation->start();
      operation->wait(soon_enough());
      float sum = 0;
      std::memcpy(&sum, own.data() + 2048, sizeof sum);
      EXPECT_EQ(sum, 2);
      communicator.barrier(soon_enough());
    }
  });
}

nanoseconds time_of_this_thread() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

// Long after it has begun, whoever waits sleeps between looks, whether it may spin at first or not.
TEST(BoundedWaits, LeaveTheCoreToOthers) {
  for (const bool yields_at_once : {true, false}) {
    AbortFlag abort_flag;
    std::atomic<bool> has_come{false};
    const auto began = std::chrono::steady_clock::now();
    const nanoseconds used_before = time_of_this_thread();
    {
      const std::jthread other([&] {
        std::this_thread::sleep_for(milliseconds(600));
        has_come = true;
      });
      BoundedWait wait(soon_enough(), abort_flag, yields_at_once);
      while (!has_come) wait.step(1, "the event");
    }
    const nanoseconds took = std::chrono::steady_clock::now() - began;
    EXPECT_GE(took, milliseconds(600));
    EXPECT_LT(time_of_this_thread() - used_before, took / 3) << yields_at_once;
  }
}

}  // namespace
}  // namespace colltune::test
