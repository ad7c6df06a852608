// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// NCCL's choices, forced and read back, over a library that stands for it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "kernels/conformance.h"
#include "nccl_fixture.h"
#include "support/sanitizer.h"

namespace colltune::test {
namespace {

using nccl::Algorithm;
using nccl::Protocol;
using testing::HasSubstr;

class NcclForced : public testing::Test {
 protected:
  FakeNccl nccl_;
  Implementations entries_ = nccl_.entries();
};

TEST_F(NcclForced, EveryEntryIsRightInEveryCollective) {
  // Two ranks share nothing else than three do, and one shares nothing.
  for (const int ranks : has_thread_sanitizer ? std::vector{3} : std::vector{1, 2, 3}) {
    const PretendedGpus gpus(ranks);
    ChosenVariants chosen;
    std::atomic<int> run = 0;
    gpus.run([&](Communicator& communicator) {
      run += run_conformance(communicator, entries_, chosen, UnderSanitizer::each_variant,
                             Usually::covering_sample);
    });
    EXPECT_GT(run, 50 * ranks);
  }
  EXPECT_EQ(nccl_.counts().aborted, 0);
  EXPECT_EQ(nccl_.counts().registered, 0) << "all were taken back";
  EXPECT_EQ(nccl_.counts().operators, 0) << "all were destroyed";
  EXPECT_EQ(nccl_.counts().windows, 0);
  EXPECT_EQ(nccl_.counts().allocations, 0);
}

TEST_F(NcclForced, AChoiceIsForcedAndReadBack) {
  const PretendedGpus gpus(3);
  gpus.run([&](Communicator& communicator) {
    SumCall call(communicator, entries_, forced("ring", "ll128", 4));
    EXPECT_FALSE(call.operation().executed());
    call.run();
    EXPECT_EQ(nccl_.last(communicator.rank()).entry,
              entry_number(Algorithm::ring, Protocol::ll128));
    EXPECT_EQ(nccl_.last(communicator.rank()).channels, 4);
    const auto executed = call.operation().executed();
    ASSERT_TRUE(executed);
    EXPECT_EQ(executed->choice, "algorithm=ring,channels=4,protocol=ll128");
    EXPECT_TRUE(executed->is_what_was_named);
  });
}

TEST_F(NcclForced, VariantsTakeTurnsOnOneCommunicator) {
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    SumCall first(communicator, entries_, forced("tree", "simple", 2));
    SumCall second(communicator, entries_, forced("ring", "ll", 8));
    SumCall own(communicator, entries_, own_choice);
    for (int turn = 0; turn < 3; ++turn) {
      first.run();
      EXPECT_EQ(nccl_.last(communicator.rank()).entry,
                entry_number(Algorithm::tree, Protocol::simple));
      second.run();
      EXPECT_EQ(nccl_.last(communicator.rank()).entry, entry_number(Algorithm::ring, Protocol::ll));
      own.run();
      EXPECT_EQ(nccl_.last(communicator.rank()).entry, entry_number(Algorithm::tree, Protocol::ll))
          << "the cheapest of the library's model";
    }
    EXPECT_EQ(own.operation().executed()->choice, "algorithm=tree,protocol=ll");
    EXPECT_TRUE(own.operation().executed()->is_what_was_named);
  });
  EXPECT_EQ(nccl_.counts().joined, 2) << "one communicator for all of them";
  EXPECT_EQ(nccl_.counts().destroyed, 2);
}

TEST_F(NcclForced, EachRanksContextIsItsOwn) {
  // The others' are held back while a rank calls: what it reads back is about its own call.
  const PretendedGpus gpus(4);
  gpus.run([&](Communicator& communicator) {
    SumCall own(communicator, entries_, own_choice);
    own.run();
    const auto duplicate = communicator.duplicate(soon_enough());
    SumCall other(*duplicate, entries_, forced("ring", "simple", 1), 64 << 10);
    other.run();
    EXPECT_EQ(other.operation().executed()->choice, "algorithm=ring,channels=1,protocol=simple");
    own.run();
    EXPECT_EQ(nccl_.last(communicator.rank()).entry, entry_number(Algorithm::tree, Protocol::ll))
        << "what is forced on one communicator is not on the other";
  });
  EXPECT_EQ(nccl_.counts().joined, 8);
}

TEST_F(NcclForced, WhatNcclLacksForTheVeryCallIsSaidByAllRanks) {
  FakeNcclSettings settings;
  settings.unavailable_for_long = entry_bit(Algorithm::ring, Protocol::ll);
  settings.long_bytes = 1 << 20;
  nccl_.configure(settings);
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    SumCall call(communicator, entries_, forced("ring", "ll", 4));
    try {
      call.run();
      ADD_FAILURE() << "it ran something else";
    } catch (const UnavailableHere& error) {
      EXPECT_THAT(error.what(), HasSubstr("NCCL marks ring with ll as unavailable for calls of "
                                          "1MiB, though not for a small one"));
    }
    // What the ranks did instead left them in step.
    SumCall next(communicator, entries_, forced("ring", "simple", 4));
    next.run();
  });
  EXPECT_EQ(nccl_.counts().aborted, 0);
  EXPECT_EQ(nccl_.counts().joined, 2);
}

TEST_F(NcclForced, AnEntryThatOneRankLacksIsRefusedOnAll) {
  FakeNcclSettings settings;
  settings.unavailable[1] = entry_bit(Algorithm::nvls, Protocol::simple);
  nccl_.configure(settings);
  const PretendedGpus gpus(3);
  std::mutex mutex;
  std::vector<std::string> errors;
  gpus.run([&](Communicator& communicator) {
    try {
      const SumCall call(communicator, entries_, forced("nvls", "simple", 0));
    } catch (const UnavailableHere& error) {
      const std::lock_guard lock(mutex);
      EXPECT_EQ(error.code(), StatusCode::failed_precondition);
      errors.emplace_back(error.what());
    }
    // The communicator is as good as before.
    SumCall call(communicator, entries_, forced("ring", "simple", 0));
    call.run();
  });
  EXPECT_THAT(errors, testing::SizeIs(3));
  EXPECT_THAT(errors,
              testing::Each(HasSubstr("NCCL marks nvls with simple as unavailable for such calls "
                                      "on rank 1")));
  EXPECT_EQ(nccl_.counts().aborted, 0);
}

TEST_F(NcclForced, OtherVersionsAndInterfacesOfTheTunerServeAsWell) {
  for (const auto& [version, interface_version] :
       {std::pair(22403, 4), std::pair(23007, 6), std::pair(23102, 6), std::pair(23206, 7)}) {
    FakeNcclSettings settings;
    settings.version = version;
    settings.tuner_interface = interface_version;
    nccl_.configure(settings);
    const PretendedGpus gpus(2);
    gpus.run([&](Communicator& communicator) {
      SumCall call(communicator, entries_, forced("ring", "simple", 2));
      call.run();
      // From 2.31 on there may have been fewer.
      const bool is_limit = version >= nccl::first_channels_as_limit;
      EXPECT_EQ(call.operation().executed()->choice,
                is_limit ? "algorithm=ring,most_channels=2,protocol=simple"
                         : "algorithm=ring,channels=2,protocol=simple");
      EXPECT_EQ(call.operation().executed()->is_what_was_named, !is_limit);
      EXPECT_EQ(nccl_.last(communicator.rank()).entry,
                entry_number(Algorithm::ring, Protocol::simple))
          << version;
      SumCall own_channels(communicator, entries_, forced("ring", "simple", 0));
      own_channels.run();
      EXPECT_EQ(own_channels.operation().executed()->choice, "algorithm=ring,protocol=simple");
      EXPECT_TRUE(own_channels.operation().executed()->is_what_was_named);
    });
  }
}

TEST_F(NcclForced, CollectivesWithoutAChoiceSayNothing) {
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    DeviceMemory send(*communicator.device(), {64});
    DeviceMemory receive(*communicator.device(), {64});
    const auto call = find_implementation(entries_, "nccl.all_to_all")
                          ->prepare(communicator,
                                    {{.collective = Collective::all_to_all,
                                      .data_type = DataType::f32,
                                      .reduce_op = ReduceOp::none,
                                      .message_size = {64}},
                                     0,
                                     {send.bytes(), receive.bytes()}},
                                    {"nccl.all_to_all", {}}, soon_enough());
    call->start();
    call->wait(soon_enough());
    EXPECT_FALSE(call->executed());
    EXPECT_TRUE(call->device_time());
  });
}

}  // namespace
}  // namespace colltune::test
