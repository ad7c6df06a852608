// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Calls of NCCL's that the caller captures: captured once, replayed, and gone before their
// communicator ends.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "nccl_fixture.h"
#include "support/pretended_graph.h"

namespace colltune::test {
namespace {

using namespace std::chrono_literals;
using nccl::Algorithm;
using nccl::Protocol;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::SizeIs;

constexpr std::uint64_t bytes = 64 << 10;

/// A queue whose work is done at once.
struct InlineQueue : PretendedStream {
  InlineQueue()
      : PretendedStream{
            [](PretendedStream*, void (*work)(void*), void* argument) { work(argument); }} {}
  void* queue() { return static_cast<PretendedStream*>(this); }
};

class NcclCaptured : public testing::Test {
 protected:
  ~NcclCaptured() override {
    EXPECT_EQ(nccl_.counts().overdue, 0) << "a communicator ended before graphs with its calls";
    EXPECT_EQ(nccl_.counts().captured, 0) << "graphs are left";
  }
  std::unique_ptr<SumCall> prepare(Communicator& communicator, const std::string& variant,
                                   Deadline deadline = soon_enough()) const {
    return std::make_unique<SumCall>(communicator, entries_, variant, bytes, deadline, captured);
  }
  /// Keeps what `act` throws.
  void note(const std::function<void()>& act) {
    try {
      act();
    } catch (const Error& error) {
      const std::lock_guard lock(mutex_);
      codes_.push_back(error.code());
      errors_.emplace_back(error.what());
    }
  }

  static constexpr bool captured = true;
  FakeNccl nccl_;
  Implementations entries_ = nccl_.entries();
  std::mutex mutex_;
  std::vector<StatusCode> codes_;    ///< guarded by mutex_
  std::vector<std::string> errors_;  ///< the same
};

TEST_F(NcclCaptured, IsAskedForOnceAndReplaysLookAtTheirInputs) {
  const PretendedGpus gpus(3);
  gpus.run([&](Communicator& communicator) {
    const auto call = prepare(communicator, own_choice);
    ASSERT_TRUE(call->operation().executed()) << "NCCL chooses when the call is captured";
    EXPECT_EQ(call->operation().executed()->choice, "algorithm=tree,protocol=ll");
    EXPECT_TRUE(call->operation().executed()->is_what_was_named);
    communicator.barrier(soon_enough());
    EXPECT_EQ(nccl_.counts().captured, 3);
    // What NCCL could choose from now on does not matter to what is captured.
    if (communicator.rank() == 0) {
      FakeNcclSettings settings;
      settings.unavailable_for_long = entry_bit(Algorithm::tree, Protocol::ll);
      settings.long_bytes = 0;
      nccl_.configure_later(settings);
    }
    communicator.barrier(soon_enough());
    for (int replay = 1; replay <= 4; ++replay) {
      call->fill(static_cast<float>(replay * (communicator.rank() + 1)));
      call->run(soon_enough(), static_cast<float>(replay));
      EXPECT_EQ(nccl_.last(communicator.rank()).entry, entry_number(Algorithm::tree, Protocol::ll));
      EXPECT_TRUE(call->operation().device_time());
    }
    // One that is not captured is asked for in each call, between the replays of the other.
    SumCall plain(communicator, entries_, own_choice, bytes);
    plain.run();
    EXPECT_NE(plain.operation().executed()->choice, "algorithm=tree,protocol=ll");
    call->fill(static_cast<float>(communicator.rank() + 1));
    call->run();
  });
  EXPECT_EQ(nccl_.counts().aborted, 0);
}

TEST_F(NcclCaptured, WhatIsForcedWhileItIsCapturedIsWhatReplaysRun) {
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    const auto ring = prepare(communicator, forced("ring", "simple", 2));
    const auto tree = prepare(communicator, forced("tree", "ll128", 4));
    EXPECT_EQ(nccl_.last(communicator.rank()).entry,
              entry_number(Algorithm::tree, Protocol::ll128));
    EXPECT_EQ(nccl_.last(communicator.rank()).channels, 4);
    EXPECT_EQ(ring->operation().executed()->choice, "algorithm=ring,channels=2,protocol=simple");
    EXPECT_TRUE(ring->operation().executed()->is_what_was_named);
    EXPECT_EQ(tree->operation().executed()->choice, "algorithm=tree,channels=4,protocol=ll128");
    for (int replay = 0; replay < 2; ++replay) {
      ring->run();
      tree->run();
    }
  });
}

TEST_F(NcclCaptured, WhatCannotBeForcedForTheVeryCallIsUnavailableOnAllRanks) {
  FakeNcclSettings settings;
  settings.unavailable_for_long = entry_bit(Algorithm::ring, Protocol::ll);
  settings.long_bytes = bytes;
  nccl_.configure(settings);
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    EXPECT_THROW((void)prepare(communicator, forced("ring", "ll", 0)), UnavailableHere);
    // The communicator stays.
    prepare(communicator, own_choice)->run();
  });
  EXPECT_EQ(nccl_.counts().aborted, 0);
  EXPECT_EQ(nccl_.counts().joined, 2);
}

TEST_F(NcclCaptured, AGraphThatHangsGoesBeforeItsCommunicatorIsAborted) {
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    const auto idle = prepare(communicator, forced("tree", "simple", 0));
    {
      const auto call = prepare(communicator, forced("ring", "simple", 0));
      call->run();
      communicator.barrier(soon_enough());
      EXPECT_EQ(nccl_.counts().captured, 4);
      // Rank 1 leaves a replay out.
      if (communicator.rank() == 0)
        note([&] { call->run(std::chrono::steady_clock::now() + 50ms); });
      communicator.barrier(soon_enough());
    }
    if (communicator.rank() == 0) {
      note([&] { idle->operation().start(); });
      EXPECT_TRUE(idle->operation().is_lost());
    }
    communicator.barrier(soon_enough());
    // On a communicator of its own, though operations of the old one are still there.
    const auto anew = prepare(communicator, forced("ring", "simple", 0));
    EXPECT_TRUE(anew->operation().executed()->is_what_was_named);
    anew->run();
    EXPECT_TRUE(idle->operation().is_lost());
    communicator.barrier(soon_enough());
    EXPECT_EQ(nccl_.counts().captured, 2) << "those of the old one are gone";
    communicator.barrier(soon_enough());
  });
  EXPECT_THAT(codes_, testing::ElementsAre(StatusCode::deadline_exceeded, StatusCode::unavailable));
  EXPECT_THAT(errors_[0], HasSubstr("the call of NCCL's all_reduce of rank 1"));
  EXPECT_EQ(nccl_.counts().aborted, 2);
  EXPECT_EQ(nccl_.counts().joined, 4);
}

TEST_F(NcclCaptured, AnOperationThatIsGivenUpTakesItsGraphWithIt) {
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    const auto call = prepare(communicator, own_choice);
    call->operation().give_up();
    note([&] { call->operation().start(); });
    communicator.barrier(soon_enough());
    EXPECT_EQ(nccl_.counts().captured, 0) << "before the operation ends";
    communicator.barrier(soon_enough());
  });
  EXPECT_THAT(codes_, AllOf(SizeIs(2), Each(StatusCode::unavailable)));
  EXPECT_EQ(nccl_.counts().aborted, 2);
}

TEST_F(NcclCaptured, ARankThatNcclRefusesFailsAllAndTheNextIsPreparedAnew) {
  FakeNcclSettings settings;
  settings.rank_refused_in_capture = 1;
  nccl_.configure(settings);
  const PretendedGpus gpus(3);
  gpus.run([&](Communicator& communicator) {
    note([&] { (void)prepare(communicator, own_choice); });
    communicator.barrier(soon_enough());
    if (communicator.rank() == 0) nccl_.configure_later({});
    communicator.barrier(soon_enough());
    prepare(communicator, own_choice)->run();
  });
  EXPECT_THAT(errors_, SizeIs(3));
  EXPECT_THAT(errors_, testing::Contains(HasSubstr("unhandled system error")));
  EXPECT_THAT(errors_,
              testing::Contains(HasSubstr("rank 1 could not capture a call of NCCL's")).Times(2));
  EXPECT_EQ(nccl_.counts().aborted, 3);
  EXPECT_EQ(nccl_.counts().joined, 6);
}

TEST_F(NcclCaptured, ADeviceThatCapturesNothingFailsAll) {
  PretendedDevice able("able");
  PretendedDevice unable("unable");
  for (PretendedDevice* const device : {&able, &unable}) device->pretend_cuda();
  unable.refuse_captures();
  const std::vector<Device*> devices{&able, &unable};
  run_ranks(
      2,
      [&](Communicator& communicator) {
        note([&] { (void)prepare(communicator, forced("ring", "simple", 0)); });
        // What is not captured runs.
        SumCall(communicator, entries_, own_choice, bytes).run();
      },
      {}, devices);
  EXPECT_THAT(codes_, AllOf(SizeIs(2), Each(StatusCode::failed_precondition)));
  EXPECT_THAT(errors_, testing::Contains("the pretended device captures nothing"));
  EXPECT_THAT(errors_, testing::Contains("rank 1 could not capture a call of NCCL's"));
}

TEST_F(NcclCaptured, ACaptureThatNcclNeverEndsIsGivenUpAtTheDeadline) {
  FakeNcclSettings settings;
  settings.rank_stuck_in_capture = 0;
  nccl_.configure(settings);
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    // The communicator is there, and only the capture is late.
    SumCall(communicator, entries_, own_choice, bytes).run();
    note(
        [&] { (void)prepare(communicator, own_choice, std::chrono::steady_clock::now() + 100ms); });
  });
  EXPECT_THAT(errors_, SizeIs(2));
  EXPECT_THAT(errors_,
              testing::Contains(HasSubstr("the capture of NCCL's all_reduce did not end in time")));
  EXPECT_EQ(nccl_.counts().aborted, 2);
}

TEST_F(NcclCaptured, TheCallerCapturesItIntoAGraphOfItsOwn) {
  const PretendedGpus gpus(3);
  gpus.run([&](Communicator& communicator) {
    const auto call = prepare(communicator, forced("ring", "ll", 0));
    // In between NCCL was led to something else.
    const auto other = prepare(communicator, forced("tree", "simple", 0));
    PretendedCapture capture;
    call->operation().submit(capture.queue());
    EXPECT_EQ(nccl_.last(communicator.rank()).entry, entry_number(Algorithm::ring, Protocol::ll));
    EXPECT_TRUE(call->operation().executed()->is_what_was_named);
    const auto graph = capture.end();
    InlineQueue queue;
    for (int replay = 1; replay <= 3; ++replay) {
      call->fill(static_cast<float>(replay * (communicator.rank() + 1)));
      graph->replay(queue.queue());
      call->expect_sum(static_cast<float>(replay));
      EXPECT_NO_THROW(call->operation().check_submitted());
    }
    communicator.barrier(soon_enough());
  });
  EXPECT_EQ(nccl_.counts().aborted, 0);
  EXPECT_EQ(nccl_.counts().destroyed, 3);
}

TEST_F(NcclCaptured, TheCallerMayAlsoJustUseAQueue) {
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    const auto call = prepare(communicator, own_choice);
    const SumCall plain(communicator, entries_, own_choice, bytes);
    InlineQueue queue;
    call->operation().submit(queue.queue());
    EXPECT_NO_THROW(call->operation().check_submitted());
    call->expect_sum(1);
    communicator.barrier(soon_enough());
  });
}

TEST_F(NcclCaptured, WhatIsNotCapturedIsNotSubmitted) {
  const PretendedGpus gpus(1);
  gpus.run([&](Communicator& communicator) {
    SumCall plain(communicator, entries_, own_choice, bytes);
    PretendedCapture capture;
    note([&] { plain.operation().submit(capture.queue()); });
  });
  EXPECT_THAT(errors_, testing::ElementsAre("this call cannot be captured into a graph"));
}

TEST_F(NcclCaptured, AReplayThatARankLeavesOutEndsWithEndSubmitted) {
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    const auto call = prepare(communicator, own_choice);
    PretendedCapture capture;
    call->operation().submit(capture.queue());
    auto graph = capture.end();
    communicator.barrier(soon_enough());
    if (communicator.rank() == 0) nccl_.hold(0);
    communicator.barrier(soon_enough());
    if (communicator.rank() == 0) {
      std::jthread caller([&] {
        nccl_.await_held();  // the replay runs, and rank 1 does not come
        call->operation().end_submitted();
      });
      InlineQueue queue;
      graph->replay(queue.queue());
      note([&] { call->operation().check_submitted(); });
      // NCCL's abort still waits for the graph, on nobody's time.
      nccl_.await_end();
      EXPECT_EQ(nccl_.counts().aborted, 0);
      graph.reset();
    }
    communicator.barrier(soon_enough());
  });
  EXPECT_THAT(errors_, testing::ElementsAre(HasSubstr("what was submitted was ended")));
  EXPECT_EQ(nccl_.counts().aborted, 1);
}

TEST_F(NcclCaptured, AnAbortDoesNotWaitForGraphsOfTheCallers) {
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    auto call = prepare(communicator, own_choice);
    PretendedCapture capture;
    call->operation().submit(capture.queue());
    auto graph = capture.end();
    call->operation().give_up();
    communicator.barrier(soon_enough());
    EXPECT_EQ(nccl_.counts().captured, 2) << "the callers'; ours are gone";
    EXPECT_EQ(nccl_.counts().aborted, 0);
    communicator.barrier(soon_enough());
    // A new communicator while the old one's end waits.
    prepare(communicator, own_choice)->run();
    communicator.barrier(soon_enough());
    graph.reset();
  });
  EXPECT_EQ(nccl_.counts().aborted, 2);
}

TEST(NcclGraphs, AWrongOrderIsAnErrorOfTheLibraryThatStandsForIt) {
  // What the tests above rely on.
  const FakeNccl nccl;
  FakeNcclSettings settings;
  settings.longest_wait_ms = 10;
  nccl.configure(settings);
  const Implementations entries = nccl.entries();
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    auto call =
        std::make_unique<SumCall>(communicator, entries, own_choice, bytes, soon_enough(), true);
    PretendedCapture capture;
    call->operation().submit(capture.queue());
    const auto graph = capture.end();
    call->operation().give_up();
    EXPECT_TRUE(nccl.await_overdue(2));
  });
  EXPECT_EQ(nccl.counts().overdue, 2);
}

}  // namespace
}  // namespace colltune::test
