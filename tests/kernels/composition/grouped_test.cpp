// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Collectives by groups, on ranks that are threads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <limits>
#include <ostream>

#include "colltune/kernels/communication/bounded_wait.h"
#include "conformance.h"
#include "grouped_checks.h"
#include "stub_implementation.h"
#include "support/fill_bytes.h"
#include "support/pretended_device.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

struct World {
  int ranks = 1;
  RankPlaces places{};
};
void PrintTo(const World& world, std::ostream* out) { *out << world.ranks << " ranks"; }

class GroupedOverThreads : public testing::TestWithParam<World> {};

TEST_P(GroupedOverThreads, IsRight) {
  const Implementations catalogue = make_catalogue();
  ChosenVariants known;
  GroupedRuns all;
  auto turn = static_cast<std::size_t>(GetParam().ranks);
  for (const std::vector<int>& groups : groupings_of(GetParam().ranks)) {
    run_ranks(
        GetParam().ranks,
        [&](Communicator& communicator) {
          const GroupedRuns runs = run_grouped(communicator, catalogue, known, groups, turn);
          if (communicator.rank() != 0) return;
          all.calls += runs.calls;
          all.unlike += runs.unlike;
        },
        GetParam().places);
    ++turn;
  }
  EXPECT_GT(all.calls, 50);
  EXPECT_GT(all.unlike, GetParam().ranks > 3 ? 20 : -1);
}

INSTANTIATE_TEST_SUITE_P(Worlds, GroupedOverThreads,
                         testing::Values(World{2}, World{3}, World{4}, World{5}, World{8},
                                         World{4, {.node = {0, 0, 1, 1}}}),
                         [](const auto& of) {
                           return std::to_string(of.param.ranks) +
                                  (of.param.places.node.empty() ? "" : "_on_nodes");
                         });

/// One rank's buffers for a call, and its operation.
class Caller {
 public:
  Caller(Communicator& communicator, const Problem& problem, int root, const Grouping& grouping,
         const Implementations& catalogue)
      : verified_{problem, communicator.size(), root, DataPattern::exact, 1},
        rank_(communicator.rank()),
        send_(send_size(problem, verified_.ranks, rank_ == root).value),
        receive_(receive_size(problem, verified_.ranks, rank_ == root).value),
        operation_(prepare_grouped(communicator, {problem, root, {send_, receive_}}, grouping,
                                   catalogue, soon_enough())) {}

  void fill() { fill_send(verified_, rank_, send_); }
  void fill_with_garbage() {
    fill_bytes(send_, garbage);
    fill_bytes(receive_, garbage);
  }
  [[nodiscard]] bool has_received_nothing() const {
    return std::ranges::all_of(receive_, [](std::byte one) { return one == garbage; });
  }
  [[nodiscard]] std::string find_fault() const {
    const auto wrong = find_mismatch(verified_, rank_, Rounding::exact, receive_);
    return wrong ? "element " + std::to_string(wrong->element) + " is " + wrong->got : "";
  }
  [[nodiscard]] Operation& operation() { return *operation_; }

 private:
  static constexpr std::byte garbage{0xEE};
  VerifiedCall verified_;
  int rank_;
  std::vector<std::byte> send_;
  std::vector<std::byte> receive_;
  std::unique_ptr<Operation> operation_;
};

void wait_until(const std::atomic<int>& counter, int value, const AbortFlag& abort_flag) {
  BoundedWait wait(soon_enough(), abort_flag, true);
  while (counter < value) wait.step(0, "the others");
}

// Where somebody read too early he would read garbage, and ThreadSanitizer would object; where
// start waited for a peer it would never return.
TEST(Grouped, NobodyTouchesTheBuffersOfARankBeforeItsStart) {
  const Implementations catalogue = make_catalogue();
  ChosenVariants known;
  std::size_t turn = 0;
  for (const auto& named : enum_names(Collective{}))
    for (const std::vector<int>& groups : {std::vector{0, 0, 1, 1}, std::vector{1, 0, 0, 0}})
      for (int late = 0; late < 4; ++late) {
        const Problem problem = problem_of(named.value, 4 * 4 * 50);
        const Grouping grouping =
            choose_grouping(problem, groups, alike(4), catalogue, known, ++turn);
        std::atomic<int> started = 0;
        run_ranks(4, [&](Communicator& communicator) {
          const int root = shape_of(named.value).has_root ? static_cast<int>(turn % 4) : 0;
          Caller caller(communicator, problem, root, grouping, catalogue);
          caller.fill_with_garbage();
          if (communicator.rank() == late) {
            wait_until(started, 3, communicator.abort_flag());
            for (int looks = 0; looks < 100; ++looks) ::sched_yield();
            EXPECT_TRUE(caller.has_received_nothing()) << named.name;
          }
          caller.fill();
          caller.operation().start();
          ++started;
          caller.operation().wait(soon_enough());
          EXPECT_EQ(caller.find_fault(), "") << named.name << ", late " << late;
        });
      }
}

TEST(Grouped, NamesTheRankThatDoesNotStart) {
  const Implementations catalogue = make_catalogue();
  const Problem problem = problem_of(Collective::all_reduce, 64);
  std::atomic<int> started = 0;
  // Rank 1 leads rank 3, rank 0 leads rank 2: each names the one that it waits for itself.
  const std::vector<int> awaited{1, 3, 0};
  run_ranks(4, [&](Communicator& communicator) {
    Caller caller(communicator, problem, 0, crossed_grouping(problem), catalogue);
    if (communicator.rank() != 3) {
      caller.operation().start();
      ++started;
      wait_until(started, 3, communicator.abort_flag());
      try {
        caller.operation().wait(std::chrono::steady_clock::now() + std::chrono::milliseconds(50));
        ADD_FAILURE() << "rank 3 never started";
      } catch (const RankMissing& missing) {
        EXPECT_EQ(missing.code(), StatusCode::deadline_exceeded);
        EXPECT_EQ(missing.rank(), awaited.at(static_cast<std::size_t>(communicator.rank())));
      }
      try {
        caller.operation().start();
        ADD_FAILURE() << "it started again after a call that failed";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), StatusCode::failed_precondition);
      }
    }
    communicator.barrier(soon_enough());
  });
}

TEST(Grouped, EndsAtTheAbortFlag) {
  const Implementations catalogue = make_catalogue();
  for (const auto& named : enum_names(Collective{})) {
    // What needs rank 3: it is the root, or everyone needs it.
    const Problem problem = problem_of(named.value, 64);
    std::atomic<int> started = 0;
    run_ranks(4, [&](Communicator& communicator) {
      Caller caller(communicator, problem, shape_of(named.value).has_root ? 3 : 0,
                    crossed_grouping(problem), catalogue);
      if (communicator.rank() == 3) {
        wait_until(started, 3, communicator.abort_flag());
        communicator.abort_flag().raise();
        return;
      }
      caller.operation().start();
      ++started;
      try {
        caller.operation().wait(soon_enough());
        // Who only gives may be done.
        EXPECT_TRUE(shape_of(named.value).only_root_receives) << named.name;
      } catch (const RankMissing& missing) {
        EXPECT_EQ(missing.code(), StatusCode::aborted) << named.name;
      }
    });
  }
}

TEST(Grouped, NamesTheRankThatDoesNotPrepare) {
  const Implementations catalogue = make_catalogue();
  const Problem problem = problem_of(Collective::all_reduce, 64);
  std::atomic<int> ready = 0;
  std::atomic<int> done = 0;
  run_ranks(4, [&](Communicator& communicator) {
    if (communicator.rank() == 3) return wait_until(done, 3, communicator.abort_flag());
    std::vector<std::byte> bytes(128);
    const Call call{problem, 0, {std::span(bytes).first(64), std::span(bytes).last(64)}};
    ++ready;
    wait_until(ready, 3, communicator.abort_flag());
    try {
      (void)prepare_grouped(communicator, call, crossed_grouping(problem), catalogue,
                            std::chrono::steady_clock::now() + std::chrono::milliseconds(200));
      ADD_FAILURE() << "rank 3 never came";
    } catch (const RankMissing& missing) {
      EXPECT_EQ(missing.rank(), 3);
    }
    ++done;
  });
}

/// Cannot prepare.
class Refusing final : public StubImplementation {
 public:
  Refusing() : StubImplementation(Collective::broadcast, "test.refusing") {}
  Support can_run(const Problem&, const Topology&, const Capability&,
                  const Variant&) const override {
    return Support::no("it refuses");
  }
  Limits limits(const Variant&) const override { return {.max_ranks = 2}; }
  std::unique_ptr<Operation> prepare(Communicator&, const Call&, const Variant&,
                                     Deadline) const override {
    throw Error(StatusCode::unavailable, "it refuses");
  }
};

Implementations catalogue_with_refusing() {
  Implementations catalogue = make_catalogue();
  catalogue.push_back(std::make_unique<Refusing>());
  std::ranges::sort(catalogue, {}, [](const auto& one) { return one->name(); });
  return catalogue;
}

TEST(Grouped, NoRankPreparesWhatOneCannot) {
  const Implementations catalogue = catalogue_with_refusing();
  const Problem problem = problem_of(Collective::all_reduce, 64);
  const Grouping right = crossed_grouping(problem);
  Grouping wrong = right;
  wrong.inside[0].after = Variant{"test.refusing", {}};
  EXPECT_EQ(supports_grouped(problem, wrong, alike(4), catalogue).reason(),
            "in group 0, test.refusing on rank 1: it refuses");
  run_ranks(4, [&](Communicator& communicator) {
    const bool refuses = communicator.rank() % 2 == 1;
    try {
      const Caller caller(communicator, problem, 0, wrong, catalogue);
      ADD_FAILURE() << "a group cannot";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::unavailable);
      EXPECT_EQ(
          error.what(),
          std::string(refuses ? "it refuses"
                              : "rank 3 could not prepare its part of a collective by groups"));
    }
    // Nobody was left behind in it.
    Caller caller(communicator, problem, 0, right, catalogue);
    caller.fill();
    caller.operation().start();
    caller.operation().wait(soon_enough());
    EXPECT_EQ(caller.find_fault(), "");
  });
}

TEST(Grouped, NoRankPreparesWhereOneHasWrongBuffers) {
  const Implementations catalogue = make_catalogue();
  const Problem problem = problem_of(Collective::all_reduce, 64);
  run_ranks(4, [&](Communicator& communicator) {
    std::vector<std::byte> bytes(128);
    Call call{problem, 0, {std::span(bytes).first(64), std::span(bytes).last(64)}};
    if (communicator.rank() == 2) call.buffers.receive = call.buffers.receive.first(60);
    try {
      (void)prepare_grouped(communicator, call, crossed_grouping(problem), catalogue,
                            soon_enough());
      ADD_FAILURE() << "a receive buffer was too short";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::invalid_argument);
      EXPECT_EQ(error.what(),
                std::string(communicator.rank() == 2
                                ? "rank 2 gives 60 to receive, not 64"
                                : "rank 2 could not prepare its part of a collective by groups"));
    }
  });
}

/// What takes buffers on devices.
Implementations device_catalogue() {
  Implementations all = make_catalogue();
  std::erase_if(all, [](const auto& one) { return !one->runs_on_device(); });
  return all;
}

TEST(Grouped, WhatLiesBetweenTheStepsIsOnTheDeviceWhereTheBuffersAre) {
  const Implementations catalogue = device_catalogue();
  ChosenVariants known;
  PretendedDevice device;
  const std::vector<Device*> devices(4, &device);
  for (const std::vector<int>& groups : {std::vector{0, 1, 0, 1}, std::vector{0, 1, 1, 1}})
    // The others need stages that copy engines do between registered buffers alone.
    for (const Collective collective :
         {Collective::all_reduce, Collective::broadcast, Collective::reduce})
      run_ranks(
          4,
          [&](Communicator& communicator) {
            const ConformanceCase test{.problem = problem_of(collective, 4 * 48), .calls = 2};
            EXPECT_EQ(find_grouped_fault(communicator, test, groups, catalogue, known), "");
          },
          {}, devices);
  EXPECT_EQ(device.count_allocations(), 0U);
}

constexpr std::array reducing{Collective::all_reduce, Collective::reduce,
                              Collective::reduce_scatter};

TEST(Grouped, AveragesOfEveryTypeAreThoseOfAllRanks) {
  const Implementations catalogue = make_catalogue();
  ChosenVariants known;
  for (const std::vector<int>& groups :
       {std::vector{0, 1, 1, 1}, std::vector{0, 1, 2, 1, 0, 1}, std::vector{2, 1, 0}})
    for (const Collective collective : reducing)
      run_ranks(static_cast<int>(groups.size()), [&](Communicator& communicator) {
        for (const auto& type : enum_names(DataType{}))
          for (const bool in_place : {false, true}) {
            ConformanceCase test{.problem = problem_of(collective, 0), .root = 1, .calls = 2};
            test.problem.data_type = type.value;
            test.problem.reduce_op = ReduceOp::avg;
            test.problem.in_place = in_place;
            test.problem.message_size = {groups.size() * 19 * size_of(type.value)};
            EXPECT_EQ(find_grouped_fault(communicator, test, groups, catalogue, known), "")
                << describe(test.problem);
          }
      });
}

TEST(Grouped, AnAverageOfIntegersIsTruncatedOnce) {
  const Implementations catalogue = make_catalogue();
  ChosenVariants known;
  Problem problem = problem_of(Collective::all_reduce, 4 * sizeof(std::int32_t));
  problem.reduce_op = ReduceOp::avg;
  const std::vector<int> groups{0, 1, 1, 1};
  const Grouping grouping = choose_grouping(problem, groups, alike(4), catalogue, known, 0);
  // By rank. The groups' own averages, truncated, make other numbers; so does one rounded down.
  // Sums wrap in the type before.
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  const std::array<std::array<std::int32_t, 4>, 4> values{
      {{-7, 5, 3, most}, {-1, 1, 2, 1}, {-1, 1, 2, 1}, {2, 1, 3, -1}}};
  const std::array<std::int32_t, 4> expected{-1, 2, 2,
                                             std::numeric_limits<std::int32_t>::min() / 4};
  run_ranks(4, [&](Communicator& communicator) {
    const auto& own = values.at(static_cast<std::size_t>(communicator.rank()));
    std::array<std::int32_t, 4> got{};
    const auto operation = prepare_grouped(
        communicator,
        {problem, 0, {std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(got))}},
        grouping, catalogue, soon_enough());
    for (int call = 0; call < 2; ++call) {
      operation->start();
      operation->wait(soon_enough());
      EXPECT_EQ(got, expected);
    }
  });
}

TEST(Grouped, AveragesOnDevicesAreDividedThere) {
  const Implementations catalogue = device_catalogue();
  ChosenVariants known;
  PretendedDevice device;
  const std::vector<Device*> devices(4, &device);
  for (const Collective collective : {Collective::all_reduce, Collective::reduce})
    for (const DataType type : {DataType::f32, DataType::bf16})
      run_ranks(
          4,
          [&](Communicator& communicator) {
            ConformanceCase test{.problem = problem_of(collective, 4 * 48), .calls = 2};
            test.problem.data_type = type;
            test.problem.reduce_op = ReduceOp::avg;
            EXPECT_EQ(find_grouped_fault(communicator, test, {0, 1, 1, 1}, catalogue, known), "")
                << describe(test.problem);
          },
          {}, devices);
  EXPECT_EQ(device.count_allocations(), 0U);
}

TEST(Grouped, NoRankPreparesWhereOneHasItsBuffersOnADevice) {
  const Implementations catalogue = make_catalogue();
  const Problem problem = problem_of(Collective::all_reduce, 64);
  PretendedDevice device;
  const std::vector<Device*> devices{nullptr, nullptr, &device, nullptr};
  run_ranks(
      4,
      [&](Communicator& communicator) {
        try {
          const Caller caller(communicator, problem, 0, crossed_grouping(problem), catalogue);
          ADD_FAILURE() << "rank 2 has a device";
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), StatusCode::invalid_argument);
        }
      },
      {}, devices);
}

/// What a rank is told that is alone: whatever waited for another would never return.
std::string refusal(const Problem& problem, const Grouping& grouping, int root = 0) {
  const Implementations catalogue = catalogue_with_refusing();
  AbortFlag abort_flag;
  const auto world = make_thread_world(4, abort_flag);
  std::vector<std::byte> bytes(128);
  try {
    (void)prepare_grouped(*world.front(),
                          {problem, root, {std::span(bytes).first(64), std::span(bytes).last(64)}},
                          grouping, catalogue, soon_enough());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::invalid_argument);
    return error.what();
  }
  return "";
}

TEST(Grouped, RefusesWhatNoRanksCouldDo) {
  using testing::HasSubstr;
  const Problem problem = problem_of(Collective::all_reduce, 64);
  const Grouping right = crossed_grouping(problem);
  const auto told = [&](auto change) {
    Grouping wrong = right;
    change(wrong);
    return refusal(problem, wrong);
  };
  EXPECT_THAT(told([](Grouping& one) { one.group_of_rank.pop_back(); }),
              HasSubstr("a group each for 3 ranks, not for the 4 of the communicator"));
  EXPECT_THAT(told([](Grouping& one) {
                one.group_of_rank = {0, 2, 2, 0};
              }),
              HasSubstr("group 1 has no rank; groups are numbered from 0 on, none left out"));
  EXPECT_THAT(told([](Grouping& one) { one.group_of_rank[0] = -1; }),
              HasSubstr("group -1 of 4 ranks"));
  EXPECT_THAT(told([](Grouping& one) { one.group_of_rank[0] = 4; }),
              HasSubstr("group 4 of 4 ranks"));
  EXPECT_THAT(told([](Grouping& one) {
                one.group_of_rank = {0, 0, 0, 0};
              }),
              HasSubstr("it needs at least 2 groups"));
  EXPECT_THAT(told([](Grouping& one) { one.inside.pop_back(); }),
              HasSubstr("variants for 1 groups, not for the 2 that the ranks are in"));
  EXPECT_THAT(told([](Grouping& one) { one.inside[1].before.reset(); }),
              HasSubstr("in group 1 before the bridge reduce among 2 ranks needs a variant of one "
                        "of cpu.reduce_chain, cpu.reduce_double_tree, cpu.reduce_flat"));
  EXPECT_THAT(
      told([](Grouping& one) {
        one.group_of_rank = {0, 1, 1, 1};
      }),
      HasSubstr("in group 0 before the bridge there is no stage for "
                "cpu.reduce_low_latency{format=line,slots=4,stores=cached,taken_back=one_line}"));
  EXPECT_THAT(told([](Grouping& one) { one.bridge.implementation = "cpu.nothing"; }),
              HasSubstr("; there is no cpu.nothing"));
  EXPECT_THAT(told([](Grouping& one) { one.bridge = *one.inside[0].before; }),
              HasSubstr("across the groups all_reduce among 2 ranks needs a variant of one of "));
  EXPECT_THAT(told([](Grouping& one) { one.bridge.implementation = "cuda.all_reduce_ring"; }),
              HasSubstr(", not of cuda.all_reduce_ring"));
  EXPECT_THAT(told([](Grouping& one) {
                one.group_of_rank = {0, 0, 0, 1};
                one.inside[0].after = Variant{"test.refusing", {}};
                one.inside[1] = {};
              }),
              HasSubstr("test.refusing for broadcast i32 64: "));
  EXPECT_THAT(refusal(problem_of(Collective::reduce, 64),
                      crossed_grouping(problem_of(Collective::reduce, 64)), 4),
              HasSubstr("the root is 4, not one of 0 to 3"));
}

/// An implementation that looks at the buffers that it is given: whether they are as operation.h
/// has them.
class Strict final : public Implementation {
 public:
  explicit Strict(const Implementation& right) : Implementation(right.facts()), right_(right) {}
  std::vector<Variant> variants(const Problem& problem, const Topology& topology,
                                const Capability& capability) const override {
    return right_.variants(problem, topology, capability);
  }
  Support can_run(const Problem& problem, const Topology& topology, const Capability& capability,
                  const Variant& variant) const override {
    return right_.supports(problem, topology, capability, variant);
  }
  Limits limits(const Variant& variant) const override { return right_.limits(variant); }
  std::string protocol(const Problem& problem, const Variant& variant) const override {
    return right_.protocol(problem, variant);
  }
  Cost cost(const Problem& problem, const Topology& topology,
            const Variant& variant) const override {
    return right_.cost(problem, topology, variant);
  }
  Numerics numerics(const Problem& problem, const Variant& variant) const override {
    return right_.numerics(problem, variant);
  }
  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call,
                                     const Variant& variant, Deadline deadline) const override {
    const int ranks = communicator.size();
    const bool is_root = communicator.rank() == call.root;
    const auto& [send, receive] = call.buffers;
    const std::string what = describe(call.problem) + (is_root ? ", root" : "");
    EXPECT_EQ(send.size(), send_size(call.problem, ranks, is_root).value) << what;
    EXPECT_EQ(receive.size(), receive_size(call.problem, ranks, is_root).value) << what;
    if (!send.empty() && !receive.empty()) {
      const auto& larger = send.size() > receive.size() ? send : receive;
      const auto& smaller =
          send.size() > receive.size() ? std::span<const std::byte>(receive) : send;
      const std::size_t place =
          send.size() == receive.size() ? 0 : static_cast<std::size_t>(communicator.rank());
      if (call.problem.in_place)
        EXPECT_EQ(smaller.data(), larger.data() + place * smaller.size()) << what;
      else
        EXPECT_TRUE(smaller.data() + smaller.size() <= larger.data() ||
                    larger.data() + larger.size() <= smaller.data())
            << what;
    }
    return right_.prepare(communicator, call, variant, deadline);
  }

 private:
  const Implementation& right_;
};

TEST(GroupedStages, AreGivenBuffersAsTheyAskForThem) {
  const Implementations right = make_catalogue();
  Implementations catalogue;
  ChosenVariants known;
  for (const auto& one : right)
    if (one->name().ends_with("_low_latency")) catalogue.push_back(std::make_unique<Strict>(*one));
  for (const auto& named : enum_names(Collective{}))
    for (const bool in_place : {false, true})
      for (int root = 0; root < (shape_of(named.value).has_root ? 4 : 1); ++root)
        for (const std::vector<int>& groups : {crossed, std::vector{0, 1, 1, 1}}) {
          ConformanceCase test{.problem = problem_of(named.value, 4 * 4 * 5), .root = root};
          test.problem.in_place = in_place;
          run_ranks(4, [&](Communicator& communicator) {
            EXPECT_EQ(find_grouped_fault(communicator, test, groups, catalogue, known), "");
          });
        }
}

}  // namespace
}  // namespace colltune::test
