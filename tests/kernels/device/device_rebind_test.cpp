// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Calls of our kernels that change from one to the next, with host threads in the place of GPUs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "device_fixture.h"
#include "kernels/random_calls.h"
#include "support/full_run.h"
#include "support/pretended_device.h"

namespace colltune::test {
namespace {

using testing::HasSubstr;

constexpr int calls_of_a_set = 250;

/// A call on a pretended device starts threads for all ranks' blocks.
int number_of_calls() {
  if (is_full_run()) return 10'000;
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
  return calls_of_a_set;
#else
  return 2 * calls_of_a_set;
#endif
}

void make_random_calls(const std::vector<Device*>& devices, RandomCalls calls) {
  const Implementations catalogue = make_device_implementations();
  const auto ranks = static_cast<int>(devices.size());
  calls.calls = calls_of_a_set;
  for (int made = 0; made < number_of_calls(); made += calls_of_a_set) {
    calls.seed = static_cast<std::uint64_t>(ranks * 1'000'000 + made);
    run_ranks(
        ranks,
        [&](Communicator& communicator) {
          EXPECT_EQ(find_fault_in_random_calls(communicator, catalogue, calls), "");
        },
        {}, devices);
  }
}

RandomCalls few_of(const std::function<bool(const std::string& name)>& takes) {
  return {.operations = 2, .takes = [takes](const Implementation& implementation, const Variant&) {
            return takes(implementation.name());
          }};
}

class RandomCallsOnDevices : public testing::TestWithParam<int> {};

TEST_P(RandomCallsOnDevices, AreRightOnASharedOne) {
  // Two blocks of the most threads for each rank.
  PretendedDevice device("shared", 2 * GetParam());
  make_random_calls(std::vector<Device*>(static_cast<std::size_t>(GetParam()), &device), {});
}

INSTANTIATE_TEST_SUITE_P(Ranks, RandomCallsOnDevices, testing::Values(1, 2, 3));

TEST(RandomCallsOnSeveralDevices, AreRight) {
  PretendedDevice first("first", 4);
  PretendedDevice second("second", 4);
  make_random_calls({&first, &second, &first, &second}, {});
}

/// Ranks on devices of their own may be a call apart.
class RandomCallsOnOwnDevices : public testing::Test {
 protected:
  RandomCallsOnOwnDevices() {
    for (const char* const name : {"first", "second", "third"})
      devices_.push_back(&own_.emplace_back(name, 2));
  }
  void make_calls(const std::function<bool(const std::string& name)>& takes) {
    make_random_calls(devices_, few_of(takes));
  }

 private:
  std::deque<PretendedDevice> own_;
  std::vector<Device*> devices_;
};

TEST_F(RandomCallsOnOwnDevices, AreRightByMulticast) {
  make_calls([](const std::string& name) { return name.ends_with("_multicast"); });
}

// A rank may be in a call of another size when its peers still read words of the one before.
TEST_F(RandomCallsOnOwnDevices, AreRightByWordsWithFlags) {
  make_calls([](const std::string& name) { return name.find("low_latency") != std::string::npos; });
}

// The results of a call may still be read when the inputs of the next one come.
TEST_F(RandomCallsOnOwnDevices, AreRightInAPipeline) {
  make_calls([](const std::string& name) { return name == "cuda.all_reduce_pipeline"; });
}

TEST_F(RandomCallsOnOwnDevices, AreRightInTwoSlots) {
  make_calls([](const std::string& name) {
    return name == one_shot || name.find("two_shot_pu") != std::string::npos ||
           name == "cuda.reduce_two_shot" || name.ends_with("_pull") || name.ends_with("_push");
  });
}

/// A call on `communicator`'s device that is bound to other ones.
class ReboundCall {
 public:
  ReboundCall(Communicator& communicator, const Implementation& implementation,
              const Variant& variant, const Problem& first, Bytes capacity)
      : communicator_(communicator),
        send_(*communicator.device(), {memory_size}),
        receive_(*communicator.device(), {memory_size}) {
    Call call = call_of(first);
    call.capacity = capacity;
    operation_ = implementation.prepare(communicator, call, variant, soon_enough());
  }
  [[nodiscard]] Call call_of(const Problem& problem, int root = 0) const {
    const int ranks = communicator_.size();
    const bool is_root = communicator_.rank() == root;
    return {.problem = problem,
            .root = root,
            .buffers = {send_.bytes().first(send_size(problem, ranks, is_root).value),
                        receive_.bytes().first(receive_size(problem, ranks, is_root).value)}};
  }
  [[nodiscard]] Operation& operation() { return *operation_; }
  void begin(const Problem& problem) {
    operation_->rebind(call_of(problem));
    operation_->start();
  }
  /// A sum of ones.
  void run_sum(std::size_t floats) {
    Problem problem = small_sum();
    problem.message_size = {floats * sizeof(float)};
    const std::vector<float> ones(floats, 1);
    communicator_.device()->write(send_.bytes().data(), std::as_bytes(std::span(ones)));
    begin(problem);
    operation_->wait(soon_enough());
    std::vector<float> sums(floats);
    communicator_.device()->read(std::as_writable_bytes(std::span(sums)), receive_.bytes().data());
    EXPECT_EQ(std::ranges::count(sums, static_cast<float>(communicator_.size())),
              static_cast<std::ptrdiff_t>(floats));
  }
  [[nodiscard]] std::string refusal(const Problem& problem, StatusCode expected, int root = 0) {
    try {
      operation_->rebind(call_of(problem, root));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), expected) << error.what();
      return error.what();
    }
    return "was not refused";
  }

 private:
  static constexpr std::uint64_t memory_size = 64 << 10;
  Communicator& communicator_;
  DeviceMemory send_;
  DeviceMemory receive_;
  std::unique_ptr<Operation> operation_;
};

class DeviceRebound : public DeviceImplementations {
 protected:
  void run(int ranks, const std::function<void(Communicator&)>& body) {
    PretendedDevice device("shared", 16);
    run_ranks(ranks, body, {}, std::vector<Device*>(static_cast<std::size_t>(ranks), &device));
  }
};

TEST_F(DeviceRebound, WhatTheCallWasNotPreparedForIsRefused) {
  run(2, [&](Communicator& communicator) {
    ReboundCall without(communicator, find(one_shot), variant_of(one_shot), small_sum(), {});
    EXPECT_THAT(without.refusal(small_sum(), StatusCode::failed_precondition),
                HasSubstr("no capacity was given"));
    ReboundCall call(communicator, find(one_shot), variant_of(one_shot), small_sum(), {4096});
    Problem other = small_sum();
    other.message_size = {4100};
    EXPECT_THAT(call.refusal(other, StatusCode::invalid_argument),
                HasSubstr("messages of up to 4KiB"));
    EXPECT_THAT(call.refusal(small_sum(), StatusCode::invalid_argument, 2),
                HasSubstr("the root is rank 2 of 2"));
    other = small_sum();
    other.registered = true;
    EXPECT_THAT(call.refusal(other, StatusCode::invalid_argument),
                HasSubstr("registered and graph_capture must be as"));
    // What was refused changed nothing.
    call.run_sum(1024);
    EXPECT_THROW(call.operation().bind(call.call_of(small_sum()).buffers), Error);
    call.operation().bind(call.call_of({.message_size = {4096}}).buffers);
    call.run_sum(3);
  });
}

TEST_F(DeviceRebound, WhatKeepsItsCallSaysWhy) {
  struct Kept {
    std::string variant;
    bool registered;
    bool captured;
    const char* why;
  };
  const std::string settings = "{blocks=1,launch=stream,scratch=device,threads=32,vector=16}";
  const std::array<Kept, 5> all{{
      {one_shot + settings, true, false, "since they were registered"},
      {one_shot + settings, false, true, "a captured graph keeps"},
      {one_shot + "{blocks=1,launch=graph,scratch=device,threads=32,vector=16}", true, false,
       "its graph keeps the buffers"},
      {"cuda.all_reduce_one_shot_poison{blocks=1,launch=stream,scratch=device,threads=32}", false,
       false, "clears the words of the call before"},
      {"cuda.all_gather_copy_pull{blocks=1,launch=stream,queues=1,scratch=device,threads=32}", true,
       false, "since they were registered"},
  }};
  for (const Kept& kept : all)
    run(1, [&](Communicator& communicator) {
      const Variant variant = parse_variant(kept.variant);
      const Implementation& implementation = find(variant.implementation);
      Problem problem = small_sum();
      problem.collective = implementation.collective();
      if (!shape_of(problem.collective).reduces) problem.reduce_op = ReduceOp::none;
      problem.registered = kept.registered;
      problem.graph_capture = kept.captured;
      const std::string why = implementation.traits(problem, {.ranks = 1}, variant).why_not_rebound;
      EXPECT_THAT(why, HasSubstr(kept.why));
      ReboundCall call(communicator, implementation, variant, problem, {4096});
      EXPECT_EQ(call.refusal(problem, StatusCode::failed_precondition), why);
    });
}

TEST_F(DeviceRebound, MulticastTakesWhatTheSwitchesAddUp) {
  run(1, [&](Communicator& communicator) {
    const std::string name = "cuda.all_reduce_one_shot_multicast";
    ReboundCall call(communicator, find(name), variant_of(name), small_sum(), {4096});
    Problem problem = small_sum();
    problem.data_type = DataType::f64;
    EXPECT_THAT(call.refusal(problem, StatusCode::invalid_argument),
                HasSubstr("the switches add up f32, f16 and bf16 alone"));
    problem.data_type = DataType::bf16;
    EXPECT_NO_THROW(call.operation().rebind(call.call_of(problem)));
    call.run_sum(100);
  });
}

TEST_F(DeviceRebound, ACallWithoutBytesLaunchesNothing) {
  const std::string flagged = "cuda.all_reduce_one_shot_low_latency";
  run(2, [&](Communicator& communicator) {
    ReboundCall call(communicator, find(flagged),
                     parse_variant(flagged + "{blocks=1,launch=stream,scratch=device,threads=32}"),
                     small_sum(), {16 << 10});
    for (int turn = 0; turn < 20; ++turn) {
      call.run_sum(4096);
      EXPECT_TRUE(call.operation().device_time());
      call.run_sum(0);
      EXPECT_FALSE(call.operation().device_time());
      call.run_sum(turn + 1);
    }
  });
}

TEST_F(DeviceRebound, UnlikeCallsOnOneDeviceAreAnErrorOfAll) {
  run(3, [&](Communicator& communicator) {
    ReboundCall call(communicator, find(one_shot), variant_of(one_shot), small_sum(), {4096});
    call.run_sum(16);
    Problem problem = small_sum();
    if (communicator.rank() == 2) problem.data_type = DataType::i32;
    call.begin(problem);
    try {
      call.operation().wait(soon_enough());
      ADD_FAILURE() << "it was launched";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::invalid_argument);
      EXPECT_THAT(error.what(), HasSubstr("ranks 0 and 2, which share a device, make unlike"));
    }
  });
}

TEST_F(DeviceRebound, MoreScratchMemoryThanIsAllowedIsRefused) {
  run(2, [&](Communicator& communicator) {
    try {
      const ReboundCall call(communicator, find(one_shot), variant_of(one_shot), small_sum(),
                             {std::uint64_t{3} << 30});
      ADD_FAILURE() << "it was prepared";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::resource_exhausted);
      EXPECT_THAT(error.what(), HasSubstr("6GiB of scratch memory for messages of up to 3GiB"));
    }
  });
}

}  // namespace
}  // namespace colltune::test
