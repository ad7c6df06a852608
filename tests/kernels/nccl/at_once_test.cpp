// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Several of NCCL's communicators of one size, made at once by threads of one process: each rank
// finds its own context in the tuner, and leaves the others' alone.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <mutex>
#include <string>
#include <vector>

#include "client/nccl_tuner/loaded_tuner.h"
#include "nccl_fixture.h"

namespace colltune::test {
namespace {

constexpr int groups = 3;
constexpr int ranks_of_group = 2;
constexpr int rounds = 8;

class NcclAtOnce : public testing::TestWithParam<int> {
 protected:
  NcclAtOnce() {
    FakeNcclSettings settings;
    settings.tuner_interface = GetParam();
    nccl_.configure(settings);
  }
  FakeNccl nccl_;
  Implementations entries_ = nccl_.entries();
  PretendedGpus gpus_{groups * ranks_of_group};
};

TEST_P(NcclAtOnce, EachGroupForcesAndReadsBackItsOwnChoice) {
  // Variants by group, and what it reads back of each.
  const std::array<std::string, groups> variants{forced("ring", "ll", 2),
                                                 forced("tree", "ll128", 4), "nccl.all_reduce"};
  const std::array<std::string, groups> choices{"algorithm=ring,channels=2,protocol=ll",
                                                "algorithm=tree,channels=4,protocol=ll128",
                                                "algorithm=tree,protocol=ll"};
  for (int round = 0; round < rounds; ++round)
    gpus_.run([&](Communicator& all) {
      const int group = all.rank() % groups;
      const auto own = all.split(group, all.rank(), soon_enough());
      all.barrier(soon_enough());
      for (int turn = 0; turn < 2; ++turn) {
        // One that has been made runs calls while others are still being made.
        SumCall call(*own, entries_, variants[static_cast<std::size_t>(group)], 1 << 10);
        for (int run = 0; run < 3; ++run) call.run();
        const auto executed = call.operation().executed();
        ASSERT_TRUE(executed);
        EXPECT_EQ(executed->choice, choices[static_cast<std::size_t>(group)]);
        EXPECT_TRUE(executed->is_what_was_named);
      }
    });
  EXPECT_EQ(nccl_.counts().joined, rounds * groups * ranks_of_group);
  EXPECT_EQ(nccl_.counts().aborted, 0);
}

TEST_P(NcclAtOnce, WhoNeverGetsToLookSaysSoAtItsDeadline) {
  const LoadedTuner tuner(COLLTUNE_NCCL_TUNER, GetParam());
  const TunerControl control(tuner);
  ASSERT_EQ(control.begin_search(), 0);
  std::mutex mutex;
  std::vector<std::string> errors;
  const PretendedGpus two(2);
  two.run([&](Communicator& communicator) {
    try {
      const SumCall call(communicator, entries_, "nccl.all_reduce", 1 << 10,
                         std::chrono::steady_clock::now() + std::chrono::milliseconds(1500));
    } catch (const Error& error) {
      const std::lock_guard lock(mutex);
      errors.emplace_back(error.what());
    }
  });
  control.end_search();
  // Rank 0 has the first turn.
  EXPECT_THAT(errors, testing::UnorderedElementsAre(
                          testing::HasSubstr("another thread of this process still looked for its "
                                             "communicator in NCCL's tuner at the deadline"),
                          testing::HasSubstr("rank 0 did not find its communicator")));
  two.run([&](Communicator& communicator) {
    SumCall(communicator, entries_, "nccl.all_reduce", 1 << 10).run();
  });
}

INSTANTIATE_TEST_SUITE_P(TunerInterfaces, NcclAtOnce, testing::Values(4, 5),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace colltune::test
