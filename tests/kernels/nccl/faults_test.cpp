// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Ranks that come late, hang or differ: every wait ends, and says for whom.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "nccl_fixture.h"
#include "support/nccl_tables.h"

namespace colltune::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Each;
using testing::HasSubstr;
using testing::SizeIs;

/// Of ranks that meet: the codes and words of what each threw.
class Errors {
 public:
  void run(Communicator& communicator, const std::function<void()>& act) {
    try {
      act();
    } catch (const Error& error) {
      const std::lock_guard lock(mutex_);
      codes_.push_back(error.code());
      texts_.push_back("rank " + std::to_string(communicator.rank()) + ": " + error.what());
    }
  }
  [[nodiscard]] const std::vector<StatusCode>& codes() const { return codes_; }
  [[nodiscard]] const std::vector<std::string>& texts() const { return texts_; }

 private:
  std::mutex mutex_;
  std::vector<StatusCode> codes_;
  std::vector<std::string> texts_;
};

class NcclFaults : public testing::Test {
 protected:
  /// Three ranks prepare a call, which makes NCCL's communicator.
  void make_communicators(Errors& errors) const {
    const PretendedGpus gpus(3);
    gpus.run([&](Communicator& communicator) {
      // Long enough that all ranks have begun to join by then.
      errors.run(communicator, [&] {
        const SumCall call(communicator, entries_, own_choice, 64,
                           std::chrono::steady_clock::now() + 500ms);
      });
    });
  }

  FakeNccl nccl_;
  Implementations entries_ = nccl_.entries();
};

TEST_F(NcclFaults, ASlowRankIsWaitedFor) {
  const PretendedGpus gpus(2);
  std::promise<void> prepared;
  std::jthread helper([&] {
    prepared.get_future().wait();
    nccl_.await_held();
    nccl_.let_go();
  });
  gpus.run([&](Communicator& communicator) {
    SumCall call(communicator, entries_, forced("ring", "simple", 0));
    communicator.barrier(soon_enough());
    if (communicator.rank() == 0) {
      nccl_.hold(1);
      prepared.set_value();
    }
    communicator.barrier(soon_enough());
    call.run();
  });
  EXPECT_EQ(nccl_.counts().aborted, 0);
}

TEST_F(NcclFaults, AnAbortThatHangsKeepsNobodyElseWaiting) {
  FakeNcclSettings settings;
  settings.rank_stuck_in_abort = 0;
  nccl_.configure(settings);
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    SumCall call(communicator, entries_, own_choice);
    call.run();
    communicator.barrier(soon_enough());
    if (communicator.rank() == 0) {
      const std::jthread aborting([&] { call.operation().give_up(); });
      while (!call.operation().is_lost()) std::this_thread::yield();
      EXPECT_THROW(call.operation().start(), OperationLost);
      call.operation().end_submitted();
      EXPECT_EQ(nccl_.counts().aborted, 0) << "it still hangs";
      nccl_.configure_later({});
    }
    communicator.barrier(soon_enough());
  });
  EXPECT_EQ(nccl_.counts().aborted, 1);
}

TEST_F(NcclFaults, ARankThatDoesNotStartIsNamedAtTheDeadline) {
  const PretendedGpus gpus(3);
  Errors errors;
  gpus.run([&](Communicator& communicator) {
    SumCall call(communicator, entries_, forced("ring", "simple", 0));
    if (communicator.rank() != 1)
      errors.run(communicator, [&] { call.run(std::chrono::steady_clock::now() + 50ms); });
    communicator.barrier(soon_enough());
  });
  EXPECT_THAT(errors.codes(), AllOf(SizeIs(2), Each(StatusCode::deadline_exceeded)));
  EXPECT_THAT(errors.texts(), Each(HasSubstr("the call of NCCL's all_reduce of rank 1")));
  EXPECT_EQ(nccl_.counts().aborted, 2);
}

TEST_F(NcclFaults, ARankThatHangsInsideIsAbortedAtTheDeadline) {
  const PretendedGpus gpus(2);
  Errors errors;
  gpus.run([&](Communicator& communicator) {
    {
      SumCall call(communicator, entries_, own_choice);
      communicator.barrier(soon_enough());
      if (communicator.rank() == 0) nccl_.hold(1);
      communicator.barrier(soon_enough());
      call.operation().start();
      if (communicator.rank() == 0) nccl_.await_held();
      // All have begun: who hangs nobody can know.
      communicator.barrier(soon_enough());
      errors.run(communicator,
                 [&] { call.operation().wait(std::chrono::steady_clock::now() + 50ms); });
      errors.run(communicator, [&] { call.operation().start(); });
    }
    communicator.barrier(soon_enough());
    if (communicator.rank() == 0) nccl_.let_go();
    communicator.barrier(soon_enough());
    // What comes next gets a communicator of its own.
    SumCall next(communicator, entries_, own_choice);
    next.run();
  });
  EXPECT_THAT(errors.texts(), SizeIs(4));
  EXPECT_THAT(errors.texts(), testing::Contains(HasSubstr("all ranks of this node had begun it")));
  EXPECT_THAT(errors.texts(), testing::Contains(HasSubstr("was aborted: NCCL's all_reduce")));
  EXPECT_THAT(errors.codes(), testing::Contains(StatusCode::unavailable).Times(2));
  EXPECT_EQ(nccl_.counts().aborted, 2);
  EXPECT_EQ(nccl_.counts().joined, 4);
}

TEST_F(NcclFaults, TheAbortFlagEndsACall) {
  const PretendedGpus gpus(2);
  Errors errors;
  std::promise<void> begins;
  gpus.run([&](Communicator& communicator) {
    SumCall call(communicator, entries_, own_choice);
    if (communicator.rank() == 0) {
      begins.set_value();
      errors.run(communicator, [&] { call.run(); });
    } else {
      // Not by a barrier: a rank that is still in it would end there.
      EXPECT_EQ(begins.get_future().wait_until(soon_enough()), std::future_status::ready);
      communicator.abort_flag().raise();
    }
  });
  EXPECT_THAT(errors.codes(), testing::ElementsAre(StatusCode::aborted));
  EXPECT_THAT(errors.texts(), Each(HasSubstr("of rank 1")));
}

TEST_F(NcclFaults, AStuckInitialisationEndsAtTheDeadline) {
  FakeNcclSettings settings;
  settings.rank_stuck_in_init = 1;
  nccl_.configure(settings);
  Errors errors;
  make_communicators(errors);
  EXPECT_THAT(errors.codes(), AllOf(SizeIs(3), Each(StatusCode::deadline_exceeded)));
  EXPECT_THAT(errors.texts(), Each(HasSubstr("communicator was not made in time")));
  EXPECT_EQ(nccl_.counts().joined, 0);
  EXPECT_EQ(nccl_.counts().aborted, 0) << "NCCL cannot abort what is still being made";
  // What is made in the end, for nobody, is aborted by who made it.
  nccl_.configure_later({});
  const Deadline deadline = soon_enough();
  while (nccl_.counts().aborted < 3 && std::chrono::steady_clock::now() < deadline)
    std::this_thread::sleep_for(1ms);
  EXPECT_EQ(nccl_.counts().aborted, 3);
  EXPECT_EQ(nccl_.counts().joined, 3);
}

TEST_F(NcclFaults, AnInitialisationThatFailsOnOneRankFailsOnAll) {
  FakeNcclSettings settings;
  settings.rank_refused_in_init = 2;
  nccl_.configure(settings);
  Errors errors;
  make_communicators(errors);
  EXPECT_THAT(errors.texts(), SizeIs(3));
  nccl_.configure_later({});
  EXPECT_THAT(errors.texts(), testing::Contains(AllOf(HasSubstr("rank 2: ncclCommInitRankConfig: "
                                                                "unhandled system"),
                                                      HasSubstr("fake library says last"))));
}

TEST_F(NcclFaults, RanksWhoseTunersKnowUnlikeCommunicatorsAreRefused) {
  FakeNcclSettings settings;
  settings.rank_with_another_identity = 1;
  nccl_.configure(settings);
  const PretendedGpus gpus(2);
  Errors errors;
  gpus.run([&](Communicator& communicator) {
    errors.run(communicator,
               [&] { const SumCall call(communicator, entries_, "nccl.all_reduce"); });
  });
  EXPECT_THAT(errors.codes(), AllOf(SizeIs(2), Each(StatusCode::failed_precondition)));
  EXPECT_THAT(errors.texts(),
              Each(HasSubstr("differ in NCCL's communicator that their tuners know")));
}

TEST_F(NcclFaults, RanksWithUnlikeTablesAreRefused) {
  const auto file = std::filesystem::path(testing::TempDir()) / "nccl_faults_test.ctt";
  (void)test::write_nccl_table(file, {{.function = nccl::Function::all_reduce,
                                       .ranks = 2,
                                       .nodes = 1,
                                       .max_message = {std::uint64_t{1} << 30},
                                       .choice = {.algorithm = nccl::Algorithm::ring},
                                       .time_us = 1}});
  const std::string path = file.string();
  FakeNcclSettings settings;
  settings.table[1] = path.c_str();
  nccl_.configure(settings);
  const PretendedGpus gpus(2);
  Errors errors;
  gpus.run([&](Communicator& communicator) {
    errors.run(communicator,
               [&] { const SumCall call(communicator, entries_, forced("ring", "ll", 0)); });
  });
  EXPECT_THAT(errors.codes(), AllOf(SizeIs(2), Each(StatusCode::failed_precondition)));
  EXPECT_THAT(errors.texts(), Each(HasSubstr("differ in the table file of their tuners")));
  EXPECT_THAT(errors.texts(), testing::Contains(HasSubstr("here: generation 7")));
  // With the same on both they go on.
  settings.table[0] = path.c_str();
  nccl_.configure(settings);
  gpus.run([&](Communicator& communicator) {
    SumCall call(communicator, entries_, forced("ring", "ll", 0));
    call.run();
    EXPECT_TRUE(call.operation().executed()->is_what_was_named)
        << "no rule counts while it is forced";
  });
  std::filesystem::remove(file);
}

TEST_F(NcclFaults, RanksWithUnlikeRestrictionsAreRefused) {
  nccl::Places restricted = nccl_.places();
  restricted.environment = "NCCL_ALGO=ring";
  const Implementations others = FakeNccl::entries(restricted);
  const PretendedGpus gpus(2);
  Errors errors;
  gpus.run([&](Communicator& communicator) {
    errors.run(communicator, [&] {
      const SumCall call(communicator, communicator.rank() == 0 ? entries_ : others, own_choice);
    });
  });
  EXPECT_THAT(errors.texts(), SizeIs(2));
  EXPECT_THAT(errors.texts(), Each(HasSubstr("NCCL_* variables of their environments")));
  EXPECT_THAT(errors.texts(), testing::Contains(HasSubstr("here: NCCL_ALGO=ring")));
  EXPECT_EQ(nccl_.counts().joined, 0);
}

TEST_F(NcclFaults, RanksOfUnlikeNodesMeet) {
  nccl::Places here = nccl_.places();
  nccl::Places there = nccl_.places();
  here.environment = "NCCL_ALGO=ring NCCL_IB_HCA=mlx5_0 NCCL_SOCKET_IFNAME=eth0";
  there.environment = "NCCL_ALGO=ring NCCL_SOCKET_IFNAME=ens1f0";
  const Implementations entries_here = FakeNccl::entries(here);
  const Implementations entries_there = FakeNccl::entries(there);
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    SumCall call(communicator, communicator.rank() == 0 ? entries_here : entries_there, own_choice);
    call.run();
  });
}

TEST_F(NcclFaults, WithoutItsTunerNcclRunsButIsNotForced) {
  nccl::Places places = nccl_.places();
  places.tuner.clear();
  const Implementations without = FakeNccl::entries(places);
  const PretendedGpus gpus(2);
  Errors errors;
  gpus.run([&](Communicator& communicator) {
    // One rank's library has it, the other's has not.
    const Implementations& own = communicator.rank() == 0 ? entries_ : without;
    SumCall call(communicator, own, own_choice);
    call.run();
    EXPECT_FALSE(call.operation().executed());
    errors.run(communicator,
               [&] { const SumCall refused(communicator, own, forced("ring", "ll", 0)); });
  });
  EXPECT_THAT(errors.codes(), AllOf(SizeIs(2), Each(StatusCode::failed_precondition)));
  EXPECT_THAT(errors.texts(), testing::Contains(HasSubstr("NCCL_TUNER_PLUGIN is not set")));
  EXPECT_THAT(errors.texts(), testing::Contains(HasSubstr("rank 1's NCCL has no tuner")));
}

}  // namespace
}  // namespace colltune::test
