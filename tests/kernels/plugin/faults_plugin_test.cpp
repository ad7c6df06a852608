// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Each planted fault must be the one that was planted: who uses them to test a defence must know
// what it was tested against. Those that never come back are not run here.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <string>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/verification/oracle.h"
#include "colltune/plugin/load_plugin.h"
#include "kernels/conformance.h"
#include "plugin_files.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr int ranks = 3;
constexpr std::size_t elements = 17;
constexpr std::size_t none = ~std::size_t{0};  ///< no element
constexpr std::size_t guard_size = 64;
constexpr std::byte guard{0xC5};

/// What one rank saw of a number of calls.
struct Observed {
  std::vector<std::size_t> wrong;  ///< the first wrong element of each call, or none
  std::size_t written_before = 0;  ///< guard bytes
  std::size_t written_past = 0;
  int changed_inputs = 0;  ///< calls
};

Observed observe(Communicator& communicator, const Implementation& implementation,
                 const Variant& variant, DataType type, int calls) {
  const Problem problem{.data_type = type, .message_size = {elements * size_of(type)}};
  const std::size_t size = problem.message_size.value;
  std::vector<std::byte> send(size);
  std::vector<std::byte> guarded(size + 2 * guard_size, guard);
  const std::span receive = std::span(guarded).subspan(guard_size, size);
  const auto operation = implementation.prepare(
      communicator, {.problem = problem, .buffers = {send, receive}}, variant, soon_enough());
  Observed observed;
  for (int call = 0; call < calls; ++call) {
    const VerifiedCall verified{
        .problem = problem, .ranks = ranks, .seed = static_cast<std::uint64_t>(call)};
    fill_send(verified, communicator.rank(), send);
    const std::vector<std::byte> input = send;
    operation->start();
    operation->wait(soon_enough());
    if (send != input) ++observed.changed_inputs;
    const auto mismatch = find_mismatch(
        verified, communicator.rank(), implementation.numerics(problem, variant).rounding, receive);
    observed.wrong.push_back(mismatch ? mismatch->element : none);
  }
  const auto is_written = [](std::byte byte) { return byte != guard; };
  observed.written_before = static_cast<std::size_t>(
      std::count_if(guarded.begin(), guarded.begin() + guard_size, is_written));
  observed.written_past = static_cast<std::size_t>(
      std::count_if(guarded.end() - guard_size, guarded.end(), is_written));
  return observed;
}

class FaultsPlugin : public testing::Test {
 protected:
  const Implementation& find(const Variant& variant) const {
    const Implementation* const found = find_implementation(plugin_, variant.implementation);
    if (found == nullptr) throw Error(StatusCode::not_found, variant.implementation);
    return *found;
  }

  /// What each rank saw.
  std::vector<Observed> observe_all(const std::string& name, int calls = 3,
                                    DataType type = DataType::f32) {
    const Variant variant = parse_variant(name);
    std::vector<Observed> observed(ranks);
    run_ranks(ranks, [&](Communicator& communicator) {
      observed[static_cast<std::size_t>(communicator.rank())] =
          observe(communicator, find(variant), variant, type, calls);
    });
    return observed;
  }

  /// Expects that exactly `element` was the first wrong one in every call on every rank.
  void expect_wrong_everywhere(const std::string& name, std::size_t element,
                               DataType type = DataType::f32) {
    for (const Observed& observed : observe_all(name, 3, type)) {
      EXPECT_THAT(observed.wrong, Each(element)) << name;
      expect_clean_beside(observed);
    }
  }
  void expect_right_everywhere(const std::string& name, DataType type = DataType::f32) {
    for (const Observed& observed : observe_all(name, 3, type)) {
      EXPECT_THAT(observed.wrong, Each(none)) << name;
      expect_clean_beside(observed);
    }
  }
  static void expect_clean_beside(const Observed& observed) {
    EXPECT_EQ(observed.written_before, 0U);
    EXPECT_EQ(observed.written_past, 0U);
    EXPECT_EQ(observed.changed_inputs, 0);
  }

  const Implementations plugin_ = load_plugin(faults_plugin);
};

TEST_F(FaultsPlugin, OffersOneVariantAtLeastOfEachFaultOnTwoRanks) {
  run_ranks(2, [&](Communicator& communicator) {
    const Capability capability = detect_capability(plugin_, communicator);
    const Topology topology = topology_of(communicator, capability);
    const Problem problem{.message_size = {1024}};
    for (const auto& implementation : plugin_)
      for (const Variant& variant : implementation->variants(problem, topology, capability))
        EXPECT_EQ(implementation->supports(problem, topology, capability, variant).reason(), "")
            << to_string(variant);
  });
}

TEST_F(FaultsPlugin, SaysWhatItCannotDo) {
  run_ranks(1, [&](Communicator& communicator) {
    const Capability capability = detect_capability(plugin_, communicator);
    const Topology topology = topology_of(communicator, capability);
    const auto reason = [&](const Problem& problem, const char* name) {
      const Variant variant = parse_variant(name);
      return find(variant).supports(problem, topology, capability, variant).reason();
    };
    const Problem problem{.message_size = {64}};
    const Problem in_place{.message_size = {64}, .in_place = true};
    EXPECT_EQ(reason(problem, "fault.spins{after=0,at=wait,peers=signals,rank=1}"),
              "there is no rank 1");
    EXPECT_EQ(reason(problem, "fault.spins{after=0,at=sea,peers=signals,rank=0}"),
              "at must be prepare, start or wait");
    EXPECT_EQ(reason(problem, "fault.wrong_sometimes{element=0,n=0,seed=1}"),
              "n must be at least 1");
    EXPECT_EQ(reason(problem, "fault.slow{factor=0}"), "factor must be at least 1");
    EXPECT_EQ(reason(problem, "fault.writes_past{after=0,bytes=-1}"),
              "bytes and element must not be negative");
    EXPECT_EQ(reason(in_place, "fault.changes_input{after=0}"),
              "in place, the input is overwritten anyway");
    EXPECT_EQ(reason({.data_type = DataType::f16, .message_size = {64}}, "fault.correct"),
              "does not take f16");
  });
}

// The good one passes the same test as the catalogue's own.
TEST_F(FaultsPlugin, CorrectConforms) {
  Implementations good;
  for (auto& implementation : load_plugin(faults_plugin))
    if (implementation->name() == "fault.correct") good.push_back(std::move(implementation));
  ASSERT_EQ(good.size(), 1U);
  for (const int size : {1, 2, 4}) {
    std::atomic<int> run = 0;
    run_ranks(size,
              [&](Communicator& communicator) { run += run_conformance(communicator, good); });
    EXPECT_GT(run, 0);
  }
}

TEST_F(FaultsPlugin, SlowIsRight) { expect_right_everywhere("fault.slow{factor=10}"); }

TEST_F(FaultsPlugin, SlowTakesItsTime) {
  const Variant variant = parse_variant("fault.slow{factor=1000000000}");
  run_ranks(1, [&](Communicator& communicator) {
    const auto operation = find(variant).prepare(communicator, {}, variant, soon_enough());
    operation->start();
    const Deadline deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(5);
    operation->wait(deadline);  // a thousand million times as long is longer than that
    EXPECT_GE(std::chrono::steady_clock::now(), deadline);
  });
}

TEST_F(FaultsPlugin, SpoilsTheElementThatWasAskedFor) {
  for (const DataType type : {DataType::f32, DataType::f64, DataType::i32}) {
    expect_wrong_everywhere("fault.wrong_element{after=0,element=5}", 5, type);
    expect_wrong_everywhere("fault.wrong_last{after=0}", elements - 1, type);
  }
}

TEST_F(FaultsPlugin, SpoilsNothingWhereThereIsNoSuchElement) {
  expect_right_everywhere("fault.wrong_element{after=0,element=17}");
}

TEST_F(FaultsPlugin, SpoilsOneRank) {
  const auto observed = observe_all("fault.wrong_rank{after=0,element=2,rank=1}");
  EXPECT_THAT(observed[0].wrong, Each(none));
  EXPECT_THAT(observed[1].wrong, Each(std::size_t{2}));
  EXPECT_THAT(observed[2].wrong, Each(none));
}

TEST_F(FaultsPlugin, SpoilsOneDataType) {
  expect_wrong_everywhere("fault.wrong_type{element=3,type=f64}", 3, DataType::f64);
  expect_right_everywhere("fault.wrong_type{element=3,type=f64}", DataType::f32);
  expect_right_everywhere("fault.wrong_type{element=3,type=f64}", DataType::i32);
}

TEST_F(FaultsPlugin, BeginsAfterSoManyGoodCalls) {
  for (const Observed& observed : observe_all("fault.wrong_element{after=2,element=1}", 4))
    EXPECT_THAT(observed.wrong, ElementsAre(none, none, 1U, 1U));
}

TEST_F(FaultsPlugin, SpoilsSomeOfManyCalls) {
  const auto observed = observe_all("fault.wrong_sometimes{element=4,n=10,seed=1}", 400);
  const auto wrong = std::ranges::count(observed[0].wrong, std::size_t{4});
  EXPECT_GT(wrong, 20);  // 40 are expected; the seed makes it the same number in every run
  EXPECT_LT(wrong, 60);
  EXPECT_EQ(std::ranges::count(observed[0].wrong, none), 400 - wrong);
  for (const Observed& other : observed) EXPECT_EQ(other.wrong, observed[0].wrong);
  EXPECT_NE(observe_all("fault.wrong_sometimes{element=4,n=10,seed=2}", 400)[0].wrong,
            observed[0].wrong);
  expect_wrong_everywhere("fault.wrong_sometimes{element=4,n=1,seed=1}", 4);
}

TEST_F(FaultsPlugin, ReturnsTheResultOfTheCallBefore) {
  for (const Observed& observed : observe_all("fault.stale{after=0}", 4)) {
    EXPECT_EQ(observed.wrong[0], none);
    for (std::size_t call = 1; call < observed.wrong.size(); ++call)
      EXPECT_NE(observed.wrong[call], none) << call;
    expect_clean_beside(observed);
  }
}

TEST_F(FaultsPlugin, KeepsBuffersIsFoundWhereCallsComeWithOthers) {
  const Variant variant{"fault.keeps_buffers", {}};
  run_ranks(2, [&](Communicator& communicator) {
    const ConformanceCase test{.problem = {.message_size = {64}}};
    EXPECT_THAT(find_fault(communicator, find(variant), variant, test), HasSubstr("(call 1)"));
  });
}

TEST_F(FaultsPlugin, WritesOutsideOfTheReceiveBuffer) {
  for (const Observed& observed : observe_all("fault.writes_before{after=0,bytes=1}", 1)) {
    EXPECT_THAT(observed.wrong, Each(none));
    EXPECT_EQ(observed.written_before, 1U);
    EXPECT_EQ(observed.written_past, 0U);
  }
  for (const Observed& observed : observe_all("fault.writes_past{after=0,bytes=9}", 1)) {
    EXPECT_THAT(observed.wrong, Each(none));
    EXPECT_EQ(observed.written_before, 0U);
    EXPECT_EQ(observed.written_past, 9U);
  }
}

TEST_F(FaultsPlugin, ChangesTheInput) {
  for (const Observed& observed : observe_all("fault.changes_input{after=1}", 3)) {
    EXPECT_THAT(observed.wrong, Each(none));
    EXPECT_EQ(observed.changed_inputs, 2);
    EXPECT_EQ(observed.written_before + observed.written_past, 0U);
  }
}

TEST_F(FaultsPlugin, LeavesTheOthersWaitingForTheRankThatLeft) {
  const Variant variant = parse_variant("fault.leaves_one_waiting{after=0,peers=signals,rank=1}");
  std::vector<int> missing(ranks, -1);
  run_ranks(ranks, [&](Communicator& communicator) {
    std::vector<std::byte> send(4);
    std::vector<std::byte> receive(4);
    const auto operation = find(variant).prepare(
        communicator, {.problem = {.message_size = {4}}, .buffers = {send, receive}}, variant,
        soon_enough());
    operation->start();
    communicator.barrier(soon_enough());  // all have signalled who will
    try {
      operation->wait(std::chrono::steady_clock::now() + std::chrono::milliseconds(10));
    } catch (const RankMissing& thrown) {
      missing[static_cast<std::size_t>(communicator.rank())] = thrown.rank();
    }
  });
  EXPECT_THAT(missing, ElementsAre(1, -1, 1));
}

TEST_F(FaultsPlugin, FailsWithTheStatusThatWasAskedFor) {
  const Variant variant = parse_variant("fault.fails{after=0,rank=0,status=14}");
  try {
    run_ranks(1, [&](Communicator& communicator) {
      const auto operation = find(variant).prepare(communicator, {}, variant, soon_enough());
      operation->start();
      operation->wait(soon_enough());
    });
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::unavailable);
    EXPECT_STREQ(error.what(),
                 "plug-in fault.fails{after=0,rank=0,status=14}: wait failed with status 14: "
                 "planted failure");
  }
}

}  // namespace
}  // namespace colltune::test
