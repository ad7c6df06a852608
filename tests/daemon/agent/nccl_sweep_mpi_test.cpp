// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// NCCL's calls between processes, over a library that stands for it: aborted at their deadline,
// made anew, and measured all the same. What is captured and what is not.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>

#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "colltune/sweep/passes/sweep.h"
#include "colltune/sweep/ranks/availability.h"
#include "launch/mpi_control_plane.h"
#include "nccl_fixture.h"

namespace colltune::test {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class SilentJournal final : public Journal {
 public:
  void begin(const SweepPlan&) override {}
  void append(std::span<const Measurement>) override {}
};

/// Each process has a pretended GPU of its own. The parameter: whether calls are captured.
class NcclOverMpi : public testing::TestWithParam<bool> {
 protected:
  NcclOverMpi()
      : gpu_("gpu" + std::to_string(rank_of_process()), 2),
        world_(make_mpi_world(abort_, soon_enough(), {}, &gpu_)),
        control_(MPI_COMM_WORLD, 300s) {
    gpu_.pretend_cuda();
    nccl_.configure(settings());
  }
  ~NcclOverMpi() override {
    EXPECT_EQ(nccl_.counts().overdue, 0) << "a communicator ended before graphs with its calls";
  }

  static int rank_of_process() {
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
  }
  static FakeNcclSettings settings() { return {.is_across_processes = true}; }
  [[nodiscard]] SumCall prepare(const std::string& variant) const {
    return SumCall(*world_, entries_, variant, bytes, soon_enough(), GetParam());
  }

  static constexpr std::uint64_t bytes = 16 << 10;
  FakeNccl nccl_;
  Implementations entries_ = nccl_.entries();
  AbortFlag abort_;
  AbortFlag stop_;
  PretendedDevice gpu_;
  std::unique_ptr<Communicator> world_;
  MpiControlPlane control_;
};
INSTANTIATE_TEST_SUITE_P(Captured, NcclOverMpi, testing::Bool());

TEST_P(NcclOverMpi, CallsMeetAndLookAtTheirInputs) {
  {
    SumCall own = prepare("nccl.all_reduce");
    SumCall ring = prepare(forced("ring", "simple", 1));
    for (int call = 1; call <= 5; ++call) {
      for (SumCall* const one : {&own, &ring}) {
        one->fill(static_cast<float>(call * (world_->rank() + 1)));
        one->run(soon_enough(), static_cast<float>(call));
      }
    }
    EXPECT_EQ(ring.operation().executed()->choice, "algorithm=ring,channels=1,protocol=simple");
    EXPECT_EQ(nccl_.counts().captured, GetParam() ? 2 : 0);
    world_->barrier(soon_enough());
  }
  EXPECT_EQ(nccl_.counts().captured, 0);
  EXPECT_EQ(nccl_.counts().aborted, 0);
}

TEST_P(NcclOverMpi, WhoDoesNotComeIsNamedAndTheNextIsPreparedAnew) {
  const int late = world_->size() - 1;
  {
    SumCall call = prepare(forced("ring", "simple", 0));
    call.run();
    world_->barrier(soon_enough());
    if (world_->rank() != late) {
      try {
        call.run(std::chrono::steady_clock::now() + 100ms);
        ADD_FAILURE() << "a rank did not come";
      } catch (const RankMissing& missing) {
        EXPECT_EQ(missing.code(), StatusCode::deadline_exceeded);
        EXPECT_EQ(missing.rank(), late);
      }
      EXPECT_TRUE(call.operation().is_lost());
    }
    world_->barrier(soon_enough());
    // While the lost one is still there.
    SumCall next = prepare("nccl.all_reduce");
    next.run();
    EXPECT_TRUE(call.operation().is_lost());
  }
  EXPECT_EQ(nccl_.counts().aborted, 1);
  EXPECT_EQ(nccl_.counts().joined, 2);
  EXPECT_EQ(nccl_.counts().captured, 0);
}

TEST_P(NcclOverMpi, ASweepGoesOnAfterAnAbort) {
  // In calls of ring with LL rank 1 never comes.
  FakeNcclSettings hanging = settings();
  hanging.rank_stuck_in_call = 1;
  hanging.stuck_entries = entry_bit(nccl::Algorithm::ring, nccl::Protocol::ll);
  nccl_.configure(hanging);
  const auto availability =
      exchange_capabilities(control_, *world_, detect_capability(entries_, *world_));
  const SweepSpec spec{.collectives = {Collective::all_reduce},
                       .data_types = {DataType::f32},
                       .reduce_ops = {ReduceOp::sum},
                       .sizes = parse_sizes("4KiB"),
                       .graph_capture = {.off = !GetParam(), .on = GetParam()},
                       .include = {"nccl.all_reduce", "nccl.*_forced"},
                       // Each that hangs does so for as long as a call may take.
                       .parameters = {{"nccl.*_forced", "channels", {"0", "8"}}},
                       .passes = 1,
                       .soak = {.runs = 5}};
  const SweepPlan plan = share_plan(control_, spec, availability, entries_, "environment");
  MeasurePolicy policy;
  policy.min_rounds = policy.max_rounds = 3;
  policy.max_samples_per_round = 3;
  policy.call_limit_floor = 800ms;
  SilentJournal journal;
  const SweepOutcome outcome = run_sweep({.control = control_,
                                          .launch = *world_,
                                          .implementations = entries_,
                                          .journal = world_->rank() == 0 ? &journal : nullptr,
                                          .stop = stop_},
                                         plan, policy);
  std::size_t hung = 0;
  std::size_t renewed = 0;
  for (const Measurement& measured : outcome.measurements) {  // rank 0's alone
    const std::string name = to_string(measured.variant);
    if (name.find("algorithm=ring") != std::string::npos &&
        name.find("protocol=ll}") != std::string::npos) {
      ++hung;
      EXPECT_EQ(measured.outcome, Outcome::timed_out) << name;
      EXPECT_THAT(measured.detail, HasSubstr("NCCL's all_reduce did not end in time"));
      continue;
    }
    EXPECT_EQ(measured.outcome, Outcome::ok) << name << ": " << measured.detail;
    EXPECT_EQ(measured.key.problem.graph_capture, GetParam());
    EXPECT_TRUE(measured.conditions.executed) << name;
    EXPECT_FALSE(measured.conditions.executed_instead) << name;
    renewed += measured.conditions.renewals.value_or(0) > 0 ? 1 : 0;
  }
  if (world_->rank() == 0) {
    EXPECT_GT(hung, 0U);
    EXPECT_GT(renewed, 5U);
    EXPECT_EQ(nccl_.counts().aborted, static_cast<int>(hung));
  }
  EXPECT_GT(nccl_.counts().aborted, 0);
  EXPECT_EQ(nccl_.counts().captured, 0);
}

}  // namespace
}  // namespace colltune::test
