// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Calls between buffers in symmetric windows, over a library that stands for NCCL. (That all of
// them are right the conformance test in forced_test.cpp shows.)

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "nccl_fixture.h"

namespace colltune::test {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

const std::string kernels = "{policy=default}";
const std::string copy_engines = "{policy=zero}";

/// One call with registered buffers, in memory that the implementation gives.
class RegisteredCall {
 public:
  RegisteredCall(Communicator& communicator, const Implementations& entries,
                 const std::string& variant, DataType type = DataType::f32,
                 Deadline deadline = soon_enough(), bool is_captured = false)
      : variant_(parse_variant(variant)),
        implementation_(*find_implementation(entries, variant_.implementation)) {
    const Collective collective = implementation_.collective();
    problem_ = {.collective = collective,
                .data_type = type,
                .reduce_op = shape_of(collective).reduces ? ReduceOp::sum : ReduceOp::none,
                .message_size = {1 << 10},
                .registered = true,
                .graph_capture = is_captured};
    memory_ = implementation_.facts().buffer_source->allocate(*communicator.device(), {1 << 20});
    communicator.device()->fill(memory_->bytes(), 0);
    const std::size_t send =
        send_size(problem_, communicator.size(), communicator.rank() == 0).value;
    const std::size_t receive =
        receive_size(problem_, communicator.size(), communicator.rank() == 0).value;
    prepare(communicator,
            {memory_->bytes().first(send), memory_->bytes().last(1 << 10).first(receive)},
            deadline);
  }
  void run() {
    operation_->start();
    operation_->wait(soon_enough());
  }
  [[nodiscard]] Operation& operation() { return *operation_; }
  void prepare(Communicator& communicator, const CallBuffers& buffers, Deadline deadline) {
    operation_ = implementation_.prepare(communicator, {problem_, 0, buffers}, variant_, deadline);
  }

 private:
  Variant variant_;
  const Implementation& implementation_;
  Problem problem_;
  std::unique_ptr<BufferMemory> memory_;
  std::unique_ptr<Operation> operation_;
};

class NcclSymmetric : public testing::Test {
 protected:
  /// What each rank threw.
  std::vector<std::string> errors_of(int ranks, const std::function<void(Communicator&)>& act) {
    const PretendedGpus gpus(ranks);
    std::mutex mutex;
    std::vector<std::string> errors;
    gpus.run([&](Communicator& communicator) {
      try {
        act(communicator);
      } catch (const Error& error) {
        const std::lock_guard lock(mutex);
        errors.emplace_back(error.what());
      }
    });
    return errors;
  }
  [[nodiscard]] std::string why_not(const std::string& variant, Problem problem,
                                    const Topology& topology = {.ranks_per_node = 2, .ranks = 2},
                                    const std::string& environment = {}) const {
    nccl::Places places = nccl_.places();
    places.environment = environment;
    const Implementations entries = FakeNccl::entries(places);
    const Variant parsed = parse_variant(variant);
    const Implementation& entry = *find_implementation(entries, parsed.implementation);
    problem.collective = entry.collective();
    problem.message_size = {1 << 10};
    const PretendedGpus gpus(1);
    std::string why;
    gpus.run([&](Communicator& communicator) {
      why = entry.supports(problem, topology, detect_capability(entries, communicator), parsed)
                .reason();
    });
    return why;
  }

  FakeNccl nccl_;
  Implementations entries_ = nccl_.entries();
};

TEST_F(NcclSymmetric, KernelsRunWithoutTheTuner) {
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    RegisteredCall call(communicator, entries_, "nccl.all_reduce_symmetric" + kernels);
    communicator.barrier(soon_enough());
    EXPECT_EQ(nccl_.counts().windows, 2);
    for (int turn = 0; turn < 2; ++turn) call.run();
    EXPECT_EQ(nccl_.last(communicator.rank()).entry, symmetric_kernel_entry);
    const auto executed = call.operation().executed();
    ASSERT_TRUE(executed);
    EXPECT_EQ(executed->choice, "tuner=not_asked");
    EXPECT_TRUE(executed->is_what_was_named);
    communicator.barrier(soon_enough());
  });
  EXPECT_EQ(nccl_.counts().windows, 0);
  EXPECT_EQ(nccl_.counts().allocations, 0);
}

TEST_F(NcclSymmetric, WhatFellBackToTheTableIsSaid) {
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    for (const bool is_captured : {false, true}) {
      // The library has no symmetric kernel for f64.
      RegisteredCall call(communicator, entries_, "nccl.all_reduce_symmetric" + kernels,
                          DataType::f64, soon_enough(), is_captured);
      call.run();
      const auto executed = call.operation().executed();
      ASSERT_TRUE(executed);
      EXPECT_FALSE(executed->is_what_was_named);
      EXPECT_EQ(executed->choice, "algorithm=tree,protocol=ll");
    }
  });
}

class NcclSymmetricProfiled : public NcclSymmetric {
 protected:
  NcclSymmetricProfiled() {
    ::setenv("NCCL_PROFILER_PLUGIN", COLLTUNE_NCCL_TUNER, 1);
    nccl::Places places = nccl_.places();
    places.profiler = COLLTUNE_NCCL_TUNER;
    entries_ = FakeNccl::entries(places);
  }
  ~NcclSymmetricProfiled() override { ::unsetenv("NCCL_PROFILER_PLUGIN"); }
};

TEST_F(NcclSymmetricProfiled, CopyEnginesAreCreditedWhereNoKernelDidIt) {
  for (const bool has_copy_engines : {true, false}) {
    FakeNcclSettings settings;
    settings.has_copy_engines = has_copy_engines;
    nccl_.configure(settings);
    const PretendedGpus gpus(3);
    gpus.run([&](Communicator& communicator) {
      const auto executed = [&](const std::string& collective) {
        RegisteredCall call(communicator, entries_,
                            "nccl." + collective + "_symmetric" + copy_engines);
        call.run();
        EXPECT_TRUE(call.operation().executed());
        return call.operation().executed().value_or(Executed{});
      };
      for (const std::string collective : {"all_gather", "all_to_all", "gather", "scatter"}) {
        const Executed ran = executed(collective);
        const std::string instead = collective == "all_gather" ? "symmetric" : "transfers";
        EXPECT_EQ(ran.choice,
                  "kernel=" + (has_copy_engines ? "none" : instead) + ",told_by=profiler");
        EXPECT_EQ(ran.is_what_was_named, has_copy_engines) << collective;
      }
    });
  }
}

TEST_F(NcclSymmetricProfiled, KernelsForWindowsAreTold) {
  const Implementations& entries = entries_;
  const PretendedGpus gpus(2);
  gpus.run([&](Communicator& communicator) {
    // NCCL tells of the kernel for windows as of an entry without channels.
    RegisteredCall symmetric(communicator, entries, "nccl.all_reduce_symmetric" + kernels);
    symmetric.run();
    EXPECT_EQ(symmetric.operation().executed()->choice, "kernel=symmetric,told_by=profiler");
    EXPECT_TRUE(symmetric.operation().executed()->is_what_was_named);
    RegisteredCall fallen_back(communicator, entries, "nccl.all_reduce_symmetric" + kernels,
                               DataType::f64);
    fallen_back.run();
    EXPECT_THAT(fallen_back.operation().executed()->choice,
                testing::AllOf(testing::StartsWith("algorithm=tree,channels="),
                               testing::EndsWith(",protocol=ll,told_by=profiler")));
    EXPECT_FALSE(fallen_back.operation().executed()->is_what_was_named);
  });
}

TEST_F(NcclSymmetric, CopyEnginesHaveACommunicatorOfThePolicyZero) {
  const PretendedGpus gpus(3);
  gpus.run([&](Communicator& communicator) {
    RegisteredCall gathered(communicator, entries_, "nccl.all_gather_symmetric" + copy_engines);
    gathered.run();
    EXPECT_EQ(nccl_.last(communicator.rank()).entry, copy_engine_entry);
    EXPECT_EQ(gathered.operation().executed()->choice, "tuner=not_asked");
    RegisteredCall scattered(communicator, entries_, "nccl.scatter_symmetric" + copy_engines);
    scattered.run();
    EXPECT_EQ(nccl_.last(communicator.rank()).entry, copy_engine_entry);
    EXPECT_FALSE(scattered.operation().executed()) << "no tuner is ever asked about it";
    const auto made = nccl_.made(communicator.rank());
    ASSERT_THAT(made, SizeIs(1));
    EXPECT_EQ(made[0].policy, 2);
  });
}

TEST_F(NcclSymmetric, BuffersElsewhereAreRefusedOnAllRanks) {
  const auto errors = errors_of(2, [&](Communicator& communicator) {
    RegisteredCall call(communicator, entries_, "nccl.all_reduce_symmetric" + kernels);
    // One rank's lie in other memory of its device.
    DeviceMemory other(*communicator.device(), {1 << 10});
    const auto memory = find_implementation(entries_, "nccl.all_reduce_symmetric")
                            ->facts()
                            .buffer_source->allocate(*communicator.device(), {1 << 10});
    const auto bytes = communicator.rank() == 1 ? other.bytes() : memory->bytes();
    call.prepare(communicator, {bytes, bytes}, soon_enough());
  });
  EXPECT_THAT(errors, SizeIs(2));
  EXPECT_THAT(errors, testing::Contains(HasSubstr("need memory of ncclMemAlloc")));
  EXPECT_THAT(errors, testing::Contains(HasSubstr("rank 1 has buffers that are no memory of")));
}

TEST_F(NcclSymmetric, WithoutWindowsItIsRefused) {
  FakeNcclSettings settings;
  settings.makes_windows = false;
  nccl_.configure(settings);
  const auto errors = errors_of(2, [&](Communicator& communicator) {
    const RegisteredCall call(communicator, entries_, "nccl.all_reduce_symmetric" + kernels);
  });
  EXPECT_THAT(errors, SizeIs(2));
  EXPECT_THAT(errors, Each(HasSubstr("NCCL makes no symmetric windows here")));
  EXPECT_EQ(nccl_.counts().aborted, 0);
}

TEST_F(NcclSymmetric, ARankThatDoesNotComeToTheWindowEndsAtTheDeadline) {
  FakeNcclSettings settings;
  settings.rank_without_window = 1;
  nccl_.configure(settings);
  const auto errors = errors_of(2, [&](Communicator& communicator) {
    { SumCall made_before(communicator, entries_, "nccl.all_reduce"); }
    const RegisteredCall call(communicator, entries_, "nccl.all_reduce_symmetric" + kernels,
                              DataType::f32, std::chrono::steady_clock::now() + 300ms);
  });
  EXPECT_THAT(errors, SizeIs(2));
  EXPECT_THAT(errors, Each(HasSubstr("ncclCommWindowRegister did not end in time")));
  EXPECT_EQ(nccl_.counts().aborted, 2);
}

TEST_F(NcclSymmetric, WhatNcclHasNotIsRefused) {
  const Problem sum{.data_type = DataType::f32, .reduce_op = ReduceOp::sum, .registered = true};
  const Problem move{.data_type = DataType::f32, .reduce_op = ReduceOp::none, .registered = true};
  const std::string reduced = "nccl.all_reduce_symmetric";
  EXPECT_THAT(why_not(reduced + kernels, sum), IsEmpty());
  EXPECT_THAT(why_not("nccl.gather_symmetric" + copy_engines, move), IsEmpty());
  EXPECT_THAT(why_not("nccl.all_gather_symmetric" + kernels, move), IsEmpty());
  EXPECT_THAT(why_not(reduced, sum), HasSubstr("its parameter is policy"));
  EXPECT_THAT(why_not(reduced + "{policy=fast}", sum), HasSubstr("its parameter is policy"));
  EXPECT_THAT(why_not(reduced + copy_engines, sum), HasSubstr("no copy engines"));
  EXPECT_THAT(why_not("nccl.gather_symmetric" + kernels, move), HasSubstr("only policy=zero"));
  Problem other = sum;
  other.registered = false;
  EXPECT_THAT(why_not(reduced + kernels, other), HasSubstr("its buffers are registered"));
  other = sum;
  other.data_type = DataType::f64;
  EXPECT_THAT(why_not(reduced + kernels, other), HasSubstr("but for f64"));
  other.data_type = DataType::f32;
  other.reduce_op = ReduceOp::max;
  EXPECT_THAT(why_not(reduced + kernels, other), HasSubstr("sums of floating types"));
  EXPECT_THAT(why_not(reduced + kernels, sum, {.ranks_per_node = 1, .ranks = 1}),
              HasSubstr("single rank"));
  EXPECT_THAT(why_not(reduced + kernels, sum, {.nodes = 2, .ranks_per_node = 2, .ranks = 4}),
              HasSubstr("one node"));
  EXPECT_THAT(
      why_not(reduced + kernels, sum, {.ranks_per_node = 2, .ranks = 2}, "NCCL_WIN_ENABLE=0"),
      HasSubstr("NCCL_WIN_ENABLE=0"));
  EXPECT_THAT(why_not("nccl.gather_symmetric" + copy_engines, move,
                      {.ranks_per_node = 2, .ranks = 2}, "NCCL_CTA_POLICY=1"),
              HasSubstr("NCCL_CTA_POLICY in the environment"));
}

TEST(NcclSymmetricSince, WindowsCameWith227) {
  const FakeNccl old(COLLTUNE_OLD_FAKE_NCCL);
  FakeNcclSettings settings;
  settings.version = 22602;
  settings.tuner_interface = 4;
  old.configure(settings);
  const Implementations entries = old.entries();
  const PretendedGpus gpus(1);
  gpus.run([&](Communicator& communicator) {
    EXPECT_THAT(
        find_implementation(entries, "nccl.all_reduce_symmetric")
            ->supports({.collective = Collective::all_reduce,
                        .data_type = DataType::f32,
                        .reduce_op = ReduceOp::sum,
                        .message_size = {64},
                        .registered = true},
                       {.ranks_per_node = 2, .ranks = 2}, detect_capability(entries, communicator),
                       parse_variant("nccl.all_reduce_symmetric" + kernels))
            .reason(),
        HasSubstr("NCCL 2.26.2 has no ncclCommWindowRegister"));
  });
}

}  // namespace
}  // namespace colltune::test
