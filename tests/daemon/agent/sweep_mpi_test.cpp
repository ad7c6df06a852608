// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The whole sweep over real MPI ranks: capabilities, plan, measuring, decisions, on all ranks and
// on sub-worlds of the launch, with ranks that stay outside.

#include <gtest/gtest.h>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <string>

#include "colltune/decide/decide.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "colltune/kernels/nccl_library/nccl_environment.h"
#include "colltune/sweep/clock/global_clock.h"
#include "colltune/sweep/measure/compat.h"
#include "colltune/sweep/passes/sweep.h"
#include "colltune/sweep/ranks/availability.h"
#include "launch/agreement.h"
#include "launch/mpi_control_plane.h"
#include "launch/shared_gpus.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;

class RecordingJournal final : public Journal {
 public:
  void begin(const SweepPlan&) override { ++begun; }
  void append(std::span<const Measurement> measurements) override {
    appended.insert(appended.end(), measurements.begin(), measurements.end());
  }
  int begun = 0;
  std::vector<Measurement> appended;
};

class SweepOverMpi : public ::testing::Test {
 protected:
  /// `ranks_per_node`: as make_mpi_world pretends; 0: as it is.
  explicit SweepOverMpi(int ranks_per_node = 0)
      : world_(make_mpi_world(abort_, std::chrono::steady_clock::now() + 60s,
                              {.ranks_per_node = ranks_per_node})),
        control_(MPI_COMM_WORLD, 300s),
        catalogue_(make_catalogue()),
        availability_(
            exchange_capabilities(control_, *world_, detect_capability(catalogue_, *world_))) {}

  SweepPlan plan_of(const std::string& configuration) {
    const SweepSpec spec =
        share_sweep_spec(control_, [&] { return parse_sweep_spec(configuration, "test.json"); });
    return share_plan(control_, spec, availability_, catalogue_, "environment");
  }

  SweepOutcome run(const SweepPlan& plan) {
    MeasurePolicy policy;
    policy.min_rounds = 3;
    policy.max_rounds = 3;
    policy.max_samples_per_round = 3;
    return run_sweep({.control = control_,
                      .launch = *world_,
                      .implementations = catalogue_,
                      .journal = control_.rank() == 0 ? &journal_ : nullptr,
                      .stop = stop_},
                     plan, policy);
  }

  AbortFlag abort_;
  AbortFlag stop_;
  std::unique_ptr<Communicator> world_;
  MpiControlPlane control_;
  Implementations catalogue_;
  Availability availability_;
  RecordingJournal journal_;
};

TEST_F(SweepOverMpi, EveryVariantOfEveryCollectiveIsRightAndTimed) {
  const SweepPlan plan =
      plan_of(R"({"version": 1, "sizes": "4KiB", "collectives": ["all_reduce", "all_gather",
    "reduce_scatter", "broadcast", "reduce", "all_to_all", "gather", "scatter"], "passes": 1})");
  const SweepOutcome outcome = run(plan);
  EXPECT_EQ(outcome.end, SweepEnd::complete);
  EXPECT_GT(outcome.activities[Activity::batch].count(), 0);
  if (control_.rank() != 0) {
    EXPECT_TRUE(outcome.measurements.empty());
    return;
  }
  EXPECT_EQ(outcome.measurements.size(), count_trials(plan));
  EXPECT_EQ(journal_.appended, outcome.measurements);
  EXPECT_EQ(journal_.begun, 1);
  std::set<Collective> baselines;
  for (const Measurement& measurement : outcome.measurements) {
    EXPECT_EQ(measurement.outcome, Outcome::ok)
        << to_string(measurement.variant) << ": " << measurement.detail;
    EXPECT_EQ(measurement.ranks_ran, world_->size());
    EXPECT_EQ(measurement.ranks_failed, 0);
    EXPECT_GT(measurement.verified_calls, 0U);
    ASSERT_FALSE(measurement.samples.empty());
    ASSERT_EQ(measurement.samples.size(), measurement.slowest_ranks.size());
    EXPECT_GT(std::ranges::min(measurement.samples).count(), 0);
    for (const int rank : measurement.slowest_ranks) {
      EXPECT_GE(rank, 0);
      EXPECT_LT(rank, world_->size());
    }
    if (measurement.is_baseline) baselines.insert(measurement.key.problem.collective);
  }
  EXPECT_EQ(baselines.size(), 8U);
  for (const Decision& decision : decide(outcome.measurements, DecisionPolicy{}, "sweep"))
    EXPECT_GT(decision.ranked.front().verified_calls, 0U);
}

TEST_F(SweepOverMpi, CallsOfUnequalCountsHaveTheLibrarysOwnAsBaseline) {
  if (world_->size() < 2) GTEST_SKIP() << "with one rank all blocks are alike";
  const SweepPlan plan = plan_of(R"({"version": 1, "sizes": "4KiB", "passes": 1,
    "collectives": ["all_gather", "reduce_scatter"], "counts": ["one_large", "random"],
    "implementations": {"include": ["mpi.*", "cpu.all_gather_flat", "cpu.reduce_scatter_flat"]}})");
  const SweepOutcome outcome = run(plan);
  EXPECT_EQ(outcome.end, SweepEnd::complete);
  if (control_.rank() != 0) return;
  std::set<std::pair<Collective, Counts>> baselines;
  for (const Measurement& measurement : outcome.measurements) {
    EXPECT_EQ(measurement.outcome, Outcome::ok)
        << to_string(measurement.variant) << ": " << measurement.detail;
    EXPECT_GT(measurement.verified_calls, 0U);
    const Problem& problem = measurement.key.problem;
    if (measurement.is_baseline) {
      baselines.emplace(problem.collective, problem.counts);
      EXPECT_EQ(to_string(measurement.variant), "mpi." + std::string(name_of(problem.collective)));
    } else if (!measurement.is_twin) {
      EXPECT_TRUE(measurement.variant.implementation.starts_with("cpu."))
          << to_string(measurement.variant);
    }
  }
  EXPECT_EQ(baselines.size(), 4U);
}

TEST_F(SweepOverMpi, ForcedAlgorithmsOfOpenMpiTakePart) {
  if (world_->size() < 2) GTEST_SKIP() << "with one rank there is nothing to force";
  char library[MPI_MAX_LIBRARY_VERSION_STRING];
  int length = 0;
  MPI_Get_library_version(library, &length);
  if (std::string_view(library, static_cast<std::size_t>(length)).find("Open MPI") ==
      std::string_view::npos)
    GTEST_SKIP() << "not Open MPI";
  const SweepPlan plan =
      plan_of(R"({"version": 1, "sizes": "4KiB", "collectives": ["all_reduce"]})");
  std::set<std::string> algorithms;
  for (const PlannedVariant& planned : plan.cells.at(0).variants)
    if (planned.variant.implementation == "mpi.all_reduce_tuned")
      algorithms.insert(word(planned.variant, "algorithm"));
  EXPECT_TRUE(algorithms.contains("recursive_doubling"));
  EXPECT_TRUE(algorithms.contains("ring"));
}

TEST_F(SweepOverMpi, RanksThatShareNoGpuAreNoHostsOfTheirOwn) {
  SweepPlan plan = plan_of(R"({"version": 1, "sizes": "4KiB", "collectives": ["all_reduce"]})");
  try {
    refuse_pretended_hosts(plan);
    EXPECT_EQ(world_->size(), 1) << "ranks without GPUs share none";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::failed_precondition);
    EXPECT_EQ(std::string(error.what()).find("--share-gpus: the "), 0U) << error.what();
    EXPECT_NE(std::string(error.what()).find("share no GPU"), std::string::npos);
  }
  for (PlannedWorld& world : plan.worlds) world.topology.placement = Placement::shared_device;
  EXPECT_NO_THROW(refuse_pretended_hosts(plan));
}

TEST_F(SweepOverMpi, RanksThatTheUserMadeOneHostAreRefusedByName) {
  const int ranks = world_->size();
  // Each another one, but for the last, which has that of the one before it.
  ::setenv("NCCL_HOSTID", ("host" + std::to_string(std::min(world_->rank(), ranks - 2))).c_str(),
           1);
  // What the user has set stays.
  pretend_own_host(world_->rank());
  if (ranks == 1) {
    EXPECT_NO_THROW(refuse_alike_hosts(control_));
  } else {
    try {
      refuse_alike_hosts(control_);
      ADD_FAILURE() << "two ranks are one host";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::failed_precondition);
      const std::string both =
          "ranks " + std::to_string(ranks - 2) + " and " + std::to_string(ranks - 1);
      EXPECT_NE(std::string(error.what()).find(both + " have the same NCCL_HOSTID"),
                std::string::npos)
          << error.what();
    }
  }
  ::unsetenv("NCCL_HOSTID");
  ::unsetenv("NCCL_NET");
  pretend_own_host(world_->rank());
  EXPECT_NO_THROW(refuse_alike_hosts(control_));
  ::unsetenv("NCCL_HOSTID");
  ::unsetenv("NCCL_NET");
}

TEST_F(SweepOverMpi, RanksOfOneNodeReadOneClock) {
  const ClockOffset clock = estimate_clock_offset(*world_, std::chrono::steady_clock::now() + 60s);
  EXPECT_TRUE(clock.is_one_clock);
  EXPECT_EQ(clock.offset, 0ns);
  if (world_->size() > 1) {
    EXPECT_GT(clock.error, 0ns);
  }
}

// It is a matter of rounds and cells, so that few variants show it.
TEST_F(SweepOverMpi, EveryCellHasATwinAndSaysHowItsRunsBegan) {
  for (const std::string how : {"auto", "barrier", "window"}) {
    const SweepPlan plan =
        plan_of(R"({"version": 1, "sizes": "1KiB", "collectives": ["all_reduce", "broadcast"],
                    "implementations": {"include": ["mpi.all_reduce", "mpi.broadcast",
                      "cpu.all_reduce_recursive_doubling", "cpu.broadcast_tree"]},
                    "parameters": {"cpu.*": {"chunk": [0], "access": ["staged"]}},
                    "passes": 4, "holdout_sizes": "2KiB", "synchronization": ")" +
                how + "\"}");
    const SweepOutcome outcome = run(plan);
    if (control_.rank() != 0) continue;
    std::set<Collective> twins;
    std::size_t holdouts = 0;
    for (const Measurement& measurement : outcome.measurements) {
      EXPECT_EQ(measurement.outcome, Outcome::ok)
          << to_string(measurement.variant) << ": " << measurement.detail;
      EXPECT_FALSE(measurement.is_twin && measurement.is_baseline);
      if (measurement.is_twin) twins.insert(measurement.key.problem.collective);
      holdouts += measurement.is_holdout ? 1 : 0;
      if (!measurement.marks.empty()) {
        EXPECT_EQ(measurement.marks.size(), measurement.samples.size());
      }
      if (world_->is_oversubscribed() || world_->size() == 1) {
        EXPECT_EQ(measurement.synchronization, Synchronization::barrier);
      } else if (how != "auto") {
        EXPECT_EQ(name_of(measurement.synchronization), how);
      }
      if (world_->is_oversubscribed()) {
        EXPECT_TRUE(measurement.marks.empty());
        EXPECT_LT(measurement.conditions.steal, 0);
      } else {
        EXPECT_GE(measurement.conditions.steal, 0);
      }
    }
    EXPECT_EQ(twins.size(), 2U);
    EXPECT_GT(holdouts, 0U);
    EXPECT_LT(holdouts, outcome.measurements.size());
  }
}

TEST_F(SweepOverMpi, OtherBenchmarksLoopsTimeEveryVariant) {
  const SweepPlan plan =
      plan_of(R"({"version": 1, "sizes": "16KiB", "collectives": ["all_reduce", "gather"],
                  "implementations": {"include": ["mpi.*", "cpu.all_reduce_recursive_doubling",
                    "cpu.gather_flat"]},
                  "parameters": {"cpu.*": {"chunk": [0], "access": ["staged"]}},
                  "null_test": false})");
  for (const CompatTool tool : {CompatTool::osu, CompatTool::nccl_tests}) {
    Measurer measurer(
        {.control = control_, .launch = *world_, .implementations = catalogue_, .plan = plan},
        MeasurePolicy{});
    const auto times = measure_like(tool, measurer, plan, stop_);
    if (control_.rank() != 0) continue;
    EXPECT_EQ(times.size(), count_trials(plan));
    for (const CompatTime& time : times) {
      EXPECT_EQ(time.failure, "") << time.variant;
      EXPECT_GT(time.min_us, 0) << time.variant;
      EXPECT_LE(time.min_us, time.max_us) << time.variant;
    }
    EXPECT_FALSE(render_like(tool, plan, times).empty());
  }
}

TEST_F(SweepOverMpi, SubWorldsAreMeasuredWhileTheOthersStayOutside) {
  if (world_->size() < 3) GTEST_SKIP() << "needs a rank that stays outside";
  const SweepPlan plan =
      plan_of(R"({"version": 1, "sizes": "1KiB", "collectives": ["all_reduce", "all_gather"],
    "passes": 4, "worlds": [{"nodes": 1, "ranks_per_node": 2}, {"nodes": 1, "ranks_per_node": 1}]})");
  const SweepOutcome outcome = run(plan);
  if (control_.rank() != 0) return;
  std::set<int> sizes;
  for (const Measurement& measurement : outcome.measurements) {
    EXPECT_EQ(measurement.outcome, Outcome::ok)
        << to_string(measurement.variant) << ": " << measurement.detail;
    EXPECT_EQ(measurement.ranks_ran, measurement.key.topology.ranks);
    sizes.insert(measurement.key.topology.ranks);
  }
  EXPECT_EQ(sizes, (std::set<int>{1, 2}));
  // Cells of both worlds were visited in turn, and each of them in every pass.
  std::map<TuningKey, std::set<int>> passes;
  for (const Measurement& measurement : outcome.measurements)
    passes[measurement.key].insert(measurement.pass);
  for (const auto& [key, of_key] : passes) EXPECT_EQ(of_key, (std::set<int>{0, 1, 2, 3}));
}

class SweepOverNodes : public SweepOverMpi {
 protected:
  SweepOverNodes() : SweepOverMpi(2) {}
};

TEST_F(SweepOverNodes, AlgorithmsAcrossNodesAreRightAndTimed) {
  if (world_->size() < 4 || world_->size() % 2 != 0)
    GTEST_SKIP() << "it takes several nodes of two ranks";
  const SweepPlan plan = plan_of(R"({"version": 1, "sizes": "4KiB,64KiB", "passes": 4,
      "collectives": ["all_reduce", "broadcast"],
      "implementations": {"include": ["mpi.all_reduce", "mpi.broadcast", "cpu.*"]},
      "parameters": {"cpu.*": {"chunk": [0, 16384], "access": ["staged"]}}})");
  const SweepOutcome outcome = run(plan);
  EXPECT_EQ(outcome.end, SweepEnd::complete);
  if (control_.rank() != 0) return;
  std::set<std::string> measured;
  for (const Measurement& measurement : outcome.measurements) {
    EXPECT_EQ(measurement.key.topology.nodes, world_->size() / 2);
    EXPECT_EQ(measurement.key.topology.ranks_per_node, 2);
    EXPECT_EQ(measurement.outcome, Outcome::ok)
        << to_string(measurement.variant) << ": " << measurement.detail;
    measured.insert(measurement.variant.implementation);
  }
  for (const char* const name : {"cpu.all_reduce_hierarchical", "cpu.all_reduce_recursive_doubling",
                                 "cpu.broadcast_leaders", "cpu.broadcast_tree"})
    EXPECT_TRUE(measured.contains(name)) << name;
}

TEST_F(SweepOverMpi, AllRanksMeetTheSameError) {
  try {
    (void)plan_of(R"({"version": 1, "sizes": "1KiB", "collectives": ["all_reduce"],
                      "worlds": [{"nodes": 7, "ranks_per_node": 9}]})");
    ADD_FAILURE() << "a world larger than the launch was planned";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::invalid_argument);
    EXPECT_NE(std::string(error.what()).find('9'), std::string::npos) << error.what();
  }
  // An error of one rank becomes that of all.
  const int last = world_->size() - 1;
  try {
    run_on_all_ranks(control_, [&] {
      if (control_.rank() == last) throw Error(StatusCode::resource_exhausted, "no room");
    });
    ADD_FAILURE() << "the error of one rank was lost";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::resource_exhausted);
    EXPECT_EQ(std::string(error.what()), "rank " + std::to_string(last) + ": no room");
  }
}

}  // namespace
}  // namespace colltune
