// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Communicators as programs have them: NCCL's functions return when they are done, and what does
// not return is ended at its deadline by another thread.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <iterator>
#include <mutex>
#include <string>
#include <vector>

#include "nccl_fixture.h"

namespace colltune::test {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::HasSubstr;
using testing::SizeIs;

// A communicator's before any of a test: each rank finds its context in the tuner by one.
constexpr int calls_of_its_own = 1;

std::ptrdiff_t count_threads() {
  return std::distance(std::filesystem::directory_iterator("/proc/self/task"),
                       std::filesystem::directory_iterator{});
}

class NcclBlocking : public testing::Test {
 protected:
  /// Two ranks; the second one's calls do not return behind `sound` ones. What the ranks throw in
  /// their next call, which has `limit`; then they make another one on a new communicator.
  std::vector<std::string> run_stuck(FakeNccl& nccl, FakeNcclSettings settings, int sound) const {
    constexpr auto limit = 400ms;
    settings.rank_stuck_inside = 1;
    settings.sound_calls = calls_of_its_own + sound;
    nccl.configure(settings);
    const Implementations entries = nccl.entries();
    const PretendedGpus gpus(2);
    std::mutex mutex;
    std::vector<std::string> errors;
    gpus.run([&](Communicator& communicator) {
      SumCall call(communicator, entries, own_choice, 64);
      for (int number = 0; number < sound; ++number)
        call.run(std::chrono::steady_clock::now() + (number == 0 ? limit : 60s));
      communicator.barrier(soon_enough());
      const auto begin = std::chrono::steady_clock::now();
      try {
        call.run(begin + limit);
        ADD_FAILURE() << "rank 1's call did not return";
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), StatusCode::deadline_exceeded) << error.what();
        EXPECT_GE(std::chrono::steady_clock::now() - begin, limit);
        EXPECT_TRUE(call.operation().is_lost());
        const std::lock_guard lock(mutex);
        errors.push_back("rank " + std::to_string(communicator.rank()) + ": " + error.what());
      }
      communicator.barrier(soon_enough());
      if (communicator.rank() == 0) nccl.configure_later({.version = settings.version});
      communicator.barrier(soon_enough());
      SumCall next(communicator, entries, own_choice, 64);
      next.run();
    });
    return errors;
  }
};

TEST_F(NcclBlocking, IsWhatEveryCommunicatorIsMadeAs) {
  FakeNccl nccl;
  const Implementations entries = nccl.entries();
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    SumCall(communicator, entries, own_choice).run();
    SumCall(communicator, entries, "nccl.all_reduce_configured{ctas=32,policy=default}").run();
  });
  for (const int rank : {0, 1}) {
    EXPECT_THAT(nccl.made(rank), SizeIs(2));
    for (const FakeNcclMade& made : nccl.made(rank)) EXPECT_EQ(made.blocking, 1);
  }
}

TEST_F(NcclBlocking, OnlyTheFirstCallIsMadeByAnotherThreadAndNoneMakesOne) {
  FakeNccl nccl;
  const Implementations entries = nccl.entries();
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    SumCall call(communicator, entries, forced("ring", "ll", 2), 64);
    call.run();
    EXPECT_NE(nccl.caller(communicator.rank()), ::gettid()) << "the ranks may have to be connected";
    communicator.barrier(soon_enough());
    const auto threads = count_threads();
    communicator.barrier(soon_enough());
    for (int number = 0; number < 50; ++number) {
      call.operation().start();
      EXPECT_EQ(nccl.caller(communicator.rank()), ::gettid());
      EXPECT_EQ(count_threads(), threads);
      call.operation().wait(soon_enough());
    }
    communicator.barrier(soon_enough());
  });
}

TEST_F(NcclBlocking, AFirstCallThatDoesNotReturnEndsAtItsDeadline) {
  FakeNccl nccl;
  const auto errors = run_stuck(nccl, {}, 0);
  EXPECT_THAT(errors, SizeIs(2));
  EXPECT_THAT(errors, Each(HasSubstr("NCCL's all_reduce did not end in time; all ranks of this "
                                     "node had begun it")));
  EXPECT_EQ(nccl.counts().aborted, 2);
  EXPECT_EQ(nccl.counts().revoked, 1) << "so that nobody is inside when it is aborted";
  EXPECT_EQ(nccl.counts().aborted_inside, 0);
}

TEST_F(NcclBlocking, ALaterCallThatDoesNotReturnIsEndedByTheThreadThatWatches) {
  FakeNccl nccl;
  const auto errors = run_stuck(nccl, {}, 5);
  EXPECT_THAT(errors, SizeIs(2));
  EXPECT_THAT(errors, Each(HasSubstr("NCCL's all_reduce")));
  EXPECT_EQ(nccl.counts().aborted, 2);
  EXPECT_EQ(nccl.counts().revoked, 1);
  EXPECT_EQ(nccl.counts().aborted_inside, 0);
}

TEST_F(NcclBlocking, ALibraryThatCannotRevokeIsAbortedWhereItIs) {
  for (const int sound : {0, 3}) {
    FakeNccl nccl(COLLTUNE_OLD_FAKE_NCCL);
    EXPECT_THAT(run_stuck(nccl, {.version = 22603}, sound), SizeIs(2));
    EXPECT_EQ(nccl.counts().aborted, 2);
    EXPECT_EQ(nccl.counts().aborted_inside, 1);
  }
}

TEST_F(NcclBlocking, WhatTheEnvironmentMakesNonblockingRunsToo) {
  FakeNccl nccl;
  FakeNcclSettings settings;
  settings.is_nonblocking = true;
  nccl.configure(settings);
  const Implementations entries = nccl.entries();
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    SumCall call(communicator, entries, forced("ring", "simple", 2));
    for (int number = 0; number < 20; ++number) call.run();
    EXPECT_EQ(call.operation().executed()->choice, "algorithm=ring,channels=2,protocol=simple");
  });
  EXPECT_EQ(nccl.counts().aborted, 0);
}

}  // namespace
}  // namespace colltune::test
