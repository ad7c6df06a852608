// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// NCCL's calls that change from one to the next, over a library that stands for it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>
#include <vector>

#include "kernels/random_calls.h"
#include "nccl_calls/known_calls.h"
#include "nccl_fixture.h"
#include "support/full_run.h"
#include "support/sanitizer.h"

namespace colltune::test {
namespace {

using nccl::Algorithm;
using nccl::Protocol;
using testing::HasSubstr;

constexpr std::uint64_t capacity = 1 << 20;

/// A call of `collective` that is bound to other ones; buffers and counts are those of each rank.
class ReboundCall {
 public:
  ReboundCall(Communicator& communicator, const Implementations& entries,
              const std::string& variant, Problem first, std::uint64_t most = capacity)
      : communicator_(communicator),
        send_(*communicator.device(), {2 * capacity}),
        receive_(*communicator.device(), {2 * capacity}) {
    const Variant parsed = parse_variant(variant);
    const Implementation& entry = *find_implementation(entries, parsed.implementation);
    first.collective = entry.collective();
    Call call = call_of(first, 0);
    call.capacity = {most};
    operation_ = entry.prepare(communicator, call, parsed, soon_enough());
  }
  [[nodiscard]] Call call_of(const Problem& problem, int root) const {
    const int ranks = communicator_.size();
    const bool is_root = communicator_.rank() == root;
    const auto sends = send_size(problem, ranks, is_root).value;
    const auto receives = receive_size(problem, ranks, is_root).value;
    const auto receive = problem.in_place ? send_.bytes() : receive_.bytes();
    return {.problem = problem,
            .root = root,
            .buffers = {send_.bytes().first(sends), receive.first(receives)}};
  }
  [[nodiscard]] Operation& operation() { return *operation_; }
  void run(const Problem& problem, int root = 0) {
    operation_->rebind(call_of(problem, root));
    operation_->start();
    operation_->wait(soon_enough());
  }
  [[nodiscard]] std::string refusal(const Problem& problem, int root, StatusCode expected) {
    try {
      operation_->rebind(call_of(problem, root));
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), expected) << error.what();
      return error.what();
    }
    return "was not refused";
  }

 private:
  Communicator& communicator_;
  DeviceMemory send_;
  DeviceMemory receive_;
  std::unique_ptr<Operation> operation_;
};

Problem problem_of(Collective collective, std::uint64_t bytes, DataType type = DataType::f32,
                   ReduceOp op = ReduceOp::sum) {
  return {.collective = collective,
          .data_type = type,
          .reduce_op = shape_of(collective).reduces ? op : ReduceOp::none,
          .message_size = {bytes}};
}

class NcclRebound : public testing::Test {
 protected:
  FakeNccl nccl_;
  Implementations entries_ = nccl_.entries();
};

TEST_F(NcclRebound, RandomCallsAreRight) {
  constexpr int calls_of_a_set = 250;
  const int calls = is_full_run() ? 10'000 : 500;
  // Two ranks share nothing else than three do, and one shares nothing.
  for (const int ranks : has_thread_sanitizer ? std::vector{3} : std::vector{1, 2, 3})
    for (int made = 0; made < calls; made += calls_of_a_set) {
      const PretendedGpus gpus(ranks);
      gpus.run([&](Communicator& communicator) {
        EXPECT_EQ(find_fault_in_random_calls(
                      communicator, entries_,
                      {.calls = calls_of_a_set,
                       .seed = static_cast<std::uint64_t>(ranks * 1'000'000 + made)}),
                  "");
      });
    }
  EXPECT_GT(nccl_.counts().calls, calls);
  EXPECT_EQ(nccl_.counts().aborted, 0);
  EXPECT_EQ(nccl_.counts().operators, 0) << "all were destroyed";
}

TEST_F(NcclRebound, SharesOfAnAverageAreThoseOfTheType) {
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    EXPECT_EQ(
        find_fault_in_random_calls(communicator, entries_,
                                   {.calls = 100,
                                    .operations = 3,
                                    .seed = 5,
                                    .takes =
                                        [](const Implementation& implementation, const Variant&) {
                                          return implementation.name().ends_with("_premultiplied");
                                        }}),
        "");
    ReboundCall call(communicator, entries_, "nccl.all_reduce_premultiplied",
                     problem_of(Collective::all_reduce, 64, DataType::f32, ReduceOp::avg));
    const auto refusal = [&](DataType type, ReduceOp op) {
      return call.refusal(problem_of(Collective::all_reduce, 64, type, op), 0,
                          StatusCode::invalid_argument);
    };
    EXPECT_THAT(refusal(DataType::f32, ReduceOp::sum), HasSubstr("it averages"));
    EXPECT_THAT(refusal(DataType::i32, ReduceOp::avg), HasSubstr("integers have no shares"));
    EXPECT_THAT(refusal(DataType::f8e4m3, ReduceOp::avg), HasSubstr("fp8 has too few digits"));
  });
}

TEST_F(NcclRebound, WhatTheCallWasNotPreparedForIsRefused) {
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    const Problem first = problem_of(Collective::reduce, 64);
    ReboundCall without(communicator, entries_, "nccl.reduce", first, 0);
    EXPECT_THAT(without.refusal(first, 1, StatusCode::failed_precondition),
                HasSubstr("no capacity was given"));
    ReboundCall call(communicator, entries_, "nccl.reduce", first, 512);
    const auto refusal = [&](const Problem& problem, int root = 0) {
      return call.refusal(problem, root, StatusCode::invalid_argument);
    };
    EXPECT_THAT(refusal(problem_of(Collective::reduce, 516)), HasSubstr("messages of up to 512"));
    EXPECT_THAT(refusal(first, 2), HasSubstr("the root is rank 2 of 2"));
    EXPECT_THAT(refusal(problem_of(Collective::all_reduce, 64)),
                HasSubstr("the call was prepared for reduce"));
    Problem registered = first;
    registered.registered = true;
    EXPECT_THAT(refusal(registered), HasSubstr("registered and graph_capture must be as"));
    call.run(problem_of(Collective::reduce, 512, DataType::f64, ReduceOp::max), 1);

    ReboundCall exchange(communicator, entries_, "nccl.all_to_all",
                         problem_of(Collective::all_to_all, 64));
    Problem in_place = problem_of(Collective::all_to_all, 64);
    in_place.in_place = true;
    EXPECT_THAT(exchange.refusal(in_place, 0, StatusCode::invalid_argument),
                HasSubstr("does not work in place"));
  });
}

TEST_F(NcclRebound, WhatIsRegisteredOrCapturedStaysWhatItWas) {
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    for (const bool is_captured : {false, true}) {
      Problem problem = problem_of(Collective::all_reduce, 64);
      problem.registered = !is_captured;
      problem.graph_capture = is_captured;
      const Implementation& entry = *find_implementation(entries_, "nccl.all_reduce");
      const CallTraits traits = entry.traits(problem, {}, {"nccl.all_reduce", {}});
      EXPECT_NE(traits.why_not_rebound, "");
      EXPECT_EQ(traits.why_not_rebound, traits.why_not_bound);
      ReboundCall call(communicator, entries_, "nccl.all_reduce", problem);
      EXPECT_EQ(call.refusal(problem, 0, StatusCode::failed_precondition), traits.why_not_rebound);
    }
  });
}

// NCCL may connect the ranks before a call for which it makes another choice.
TEST_F(NcclRebound, CallsOfANewFormAreMadeByTheHelpersThread) {
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    const auto is_made_here = [&] { return nccl_.caller(communicator.rank()) == ::gettid(); };
    const Problem first = problem_of(Collective::broadcast, 64);
    ReboundCall call(communicator, entries_, "nccl.broadcast", first);
    const std::array<std::pair<Problem, int>, 4> forms{
        {{first, 0},
         {problem_of(Collective::broadcast, capacity), 0},
         {first, 1},
         {problem_of(Collective::broadcast, 64, DataType::i8), 0}}};
    for (int turn = 0; turn < 2; ++turn)
      for (const auto& [problem, root] : forms) {
        call.run(problem, root);
        EXPECT_EQ(is_made_here(), turn > 0) << describe(problem) << ", root " << root;
      }
    // Bound, not started: it stays new.
    call.operation().rebind(call.call_of(problem_of(Collective::broadcast, 128), 0));
    call.run(first);
    EXPECT_TRUE(is_made_here());
    call.run(problem_of(Collective::broadcast, 128));
    EXPECT_FALSE(is_made_here());
  });
}

TEST_F(NcclRebound, WhatRanIsToldAnewForEachForm) {
  FakeNcclSettings settings;
  settings.unavailable_for_long = entry_bit(Algorithm::ring, Protocol::ll);
  settings.long_bytes = capacity;
  nccl_.configure(settings);
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    const Problem first = problem_of(Collective::all_reduce, 64 << 10);
    {
      ReboundCall call(communicator, entries_, forced("ring", "ll", 2), first);
      call.run(first);
      EXPECT_EQ(call.operation().executed()->choice, "algorithm=ring,channels=2,protocol=ll");
      call.run(problem_of(Collective::all_reduce, 64, DataType::bf16, ReduceOp::max));
      EXPECT_THAT(call.operation().executed()->choice, HasSubstr("algorithm=ring,channels="));
      EXPECT_TRUE(call.operation().executed()->is_what_was_named);
      // NCCL is not asked about calls without elements, nor does its last answer mean them.
      call.run(problem_of(Collective::all_reduce, 0));
      try {
        call.run(problem_of(Collective::all_reduce, capacity));
        ADD_FAILURE() << "it ran something else";
      } catch (const UnavailableHere& error) {
        EXPECT_THAT(error.what(), HasSubstr("calls of 1MiB, though not for a small one"));
      }
    }
    ReboundCall call(communicator, entries_, forced("ring", "ll", 2), first);
    try {
      call.run(problem_of(Collective::all_reduce, capacity, DataType::f16, ReduceOp::min));
      ADD_FAILURE() << "it ran something else";
    } catch (const UnavailableHere& error) {
      EXPECT_THAT(error.what(), HasSubstr("of 1MiB with the type f16 and the operator min"));
    }
    // What the ranks did instead left them in step.
    SumCall next(communicator, entries_, forced("ring", "simple", 4));
    next.run();
  });
  EXPECT_EQ(nccl_.counts().aborted, 0);
}

TEST(NcclKnownCalls, AreNewOnce) {
  nccl::KnownCalls known;
  const nccl::CallForm form{.count = 16, .root = 1, .type = DataType::f32, .op = ReduceOp::sum};
  EXPECT_TRUE(known.note(form));
  EXPECT_FALSE(known.note(form));
  nccl::CallForm other = form;
  other.root = 2;
  EXPECT_TRUE(known.note(other));
  // More forms than places: each that was pushed out is new again.
  int kept = 0;
  for (std::size_t count = 1; count <= 4 * nccl::KnownCalls::places; ++count)
    EXPECT_TRUE(known.note({.count = 1000 + count}));
  for (std::size_t count = 1; count <= 4 * nccl::KnownCalls::places; ++count)
    kept += known.note({.count = 1000 + count}) ? 0 : 1;
  EXPECT_LE(kept, static_cast<int>(nccl::KnownCalls::places));
}

}  // namespace
}  // namespace colltune::test
