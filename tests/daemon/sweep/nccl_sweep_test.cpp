// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Sweeps and plans in which NCCL takes part, over a library that stands for it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <set>
#include <string>
#include <vector>

#include "colltune/decide/decide.h"
#include "colltune/kernels/nccl_environment.h"
#include "nccl_fixture.h"
#include "sweep_run.h"

namespace colltune::test {
namespace {

using fakes::sweep;
using fakes::SweepRun;
using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

class NcclSweep : public testing::Test {
 protected:
  /// Our own kernels and NCCL's entries over the library that stands for it.
  [[nodiscard]] Implementations catalogue() const {
    Implementations all = make_catalogue();
    std::erase_if(all, [](const auto& one) { return one->family() == "nccl"; });
    for (auto& one : nccl_.entries()) all.push_back(std::move(one));
    std::ranges::sort(all, {}, [](const auto& one) { return one->name(); });
    return all;
  }
  [[nodiscard]] static SweepSpec spec() {
    return {.collectives = {Collective::all_reduce},
            .data_types = {DataType::f32},
            .reduce_ops = {ReduceOp::sum},
            .sizes = parse_sizes("16KiB"),
            .include = {"cuda.all_reduce_one_shot", "nccl.*"},
            .passes = 1,
            .soak = {.runs = 20}};
  }

  FakeNccl nccl_;
  PretendedGpus gpus_{2};
};

TEST_F(NcclSweep, NcclIsTheBaselineAndItsChoicesCompete) {
  SweepRun run;
  SweepSpec wanted = spec();
  wanted.sizes = parse_sizes("64KiB");
  sweep(run, 2, catalogue(), wanted, {}, gpus_.all());
  EXPECT_THAT(run.errors, Each(""));
  std::size_t baselines = 0;
  std::set<std::string> executed;
  std::set<std::string> configured;
  for (const Measurement& measured : run.outcome.measurements) {
    EXPECT_EQ(measured.outcome, Outcome::ok)
        << to_string(measured.variant) << ": " << measured.detail;
    if (measured.family != "nccl") continue;
    EXPECT_FALSE(measured.conditions.executed_instead);
    ASSERT_TRUE(measured.conditions.executed) << to_string(measured.variant);
    EXPECT_TRUE(measured.conditions.device_share);
    if (measured.variant.implementation == "nccl.all_reduce") {
      ++baselines;
      EXPECT_NE(measured.is_baseline, measured.is_twin);
      EXPECT_EQ(*measured.conditions.executed, "algorithm=tree,protocol=ll");
      continue;
    }
    if (measured.variant.implementation == "nccl.all_reduce_configured") {
      EXPECT_EQ(*measured.conditions.executed, "algorithm=tree,protocol=ll");
      configured.insert(to_string(measured.variant));
      continue;
    }
    EXPECT_EQ(measured.variant.implementation, "nccl.all_reduce_forced");
    EXPECT_THAT(*measured.conditions.executed,
                StartsWith("algorithm=" + word(measured.variant, "algorithm")));
    executed.insert(*measured.conditions.executed);
  }
  EXPECT_EQ(baselines, 2U) << "and its twin";
  EXPECT_GT(executed.size(), 10U);
  EXPECT_THAT(configured,
              testing::ElementsAre("nccl.all_reduce_configured{ctas=32,policy=default}"));
  std::set<std::string> families;
  for (const Decision& decision : decide(run.outcome.measurements, {}, "s"))
    families.insert(decision.family);
  EXPECT_THAT(families, testing::IsSupersetOf({"nccl", "colltune"}));
}

TEST_F(NcclSweep, RanksThatShareAGpuTakePartAsHostsOfTheirOwnAndAreKeptApart) {
  PretendedDevice gpu("one", 2);
  gpu.pretend_cuda();
  const std::vector<Device*> both{&gpu, &gpu};
  SweepSpec wanted = spec();
  wanted.include = {"cuda.all_reduce_one_shot", "nccl.all_reduce"};
  const auto measured_by_nccl = [&] {
    SweepRun run;
    sweep(run, 2, catalogue(), wanted, {}, both);
    EXPECT_THAT(run.errors, Each(""));
    std::size_t by_nccl = 0;
    for (const Measurement& measured : run.outcome.measurements) {
      EXPECT_EQ(measured.outcome, Outcome::ok) << measured.detail;
      EXPECT_EQ(measured.key.topology.placement, Placement::shared_device);
      by_nccl += measured.family == "nccl" ? 1 : 0;
    }
    return by_nccl;
  };
  EXPECT_EQ(measured_by_nccl(), 0U);
  pretend_own_host(0);
  EXPECT_EQ(measured_by_nccl(), 2U) << "the baseline and its twin";
  ::unsetenv("NCCL_HOSTID");
  ::unsetenv("NCCL_NET");
}

TEST_F(NcclSweep, RegisteredProblemsTryWindowsInMemoryOfTheLibrary) {
  SweepSpec wanted = spec();
  wanted.collectives = {Collective::all_gather};
  wanted.registered = {.off = false, .on = true};
  wanted.include = {"cuda.all_gather*", "nccl.all_gather", "nccl.*_symmetric"};
  SweepRun run;
  sweep(run, 2, catalogue(), wanted, {}, gpus_.all());
  EXPECT_THAT(run.errors, Each(""));
  std::size_t symmetric = 0;
  for (const Measurement& measured : run.outcome.measurements) {
    EXPECT_EQ(measured.outcome, Outcome::ok)
        << to_string(measured.variant) << ": " << measured.detail;
    if (measured.variant.implementation != "nccl.all_gather_symmetric") continue;
    ++symmetric;
    EXPECT_EQ(measured.conditions.executed, "tuner=not_asked");
    EXPECT_GT(measured.verified_calls, 2U);
  }
  EXPECT_EQ(symmetric, 2U) << "kernels, and copy engines";
  EXPECT_EQ(nccl_.counts().windows, 0);
  EXPECT_EQ(nccl_.counts().allocations, 0) << "all went back";
}

TEST_F(NcclSweep, WhatRanInsteadIsRecordedAndDecidesNothing) {
  FakeNcclSettings settings;
  settings.unavailable_for_long = entry_bit(nccl::Algorithm::ring, nccl::Protocol::simple);
  settings.long_bytes = 16 << 10;
  nccl_.configure(settings);
  SweepRun run;
  sweep(run, 2, catalogue(), spec(), {}, gpus_.all());
  EXPECT_THAT(run.errors, Each(""));
  std::size_t others = 0;
  for (const Measurement& measured : run.outcome.measurements) {
    const bool is_ring = to_string(measured.variant).find("ring") != std::string::npos &&
                         to_string(measured.variant).find("simple") != std::string::npos;
    EXPECT_EQ(measured.conditions.executed_instead.has_value(), is_ring)
        << to_string(measured.variant);
    if (!is_ring) continue;
    ++others;
    EXPECT_EQ(measured.outcome, Outcome::ok) << measured.detail;
    EXPECT_EQ(measured.conditions.executed_instead, "algorithm=tree,protocol=ll");
    EXPECT_FALSE(measured.conditions.executed);
    EXPECT_FALSE(measured.samples.empty()) << "kept as what it is";
  }
  EXPECT_GT(others, 0U);
  for (const Decision& decision : decide(run.outcome.measurements, {}, "s"))
    for (const auto& ranked : decision.ranked)
      EXPECT_FALSE(to_string(ranked.variant).find("algorithm=ring") != std::string::npos &&
                   to_string(ranked.variant).find("protocol=simple") != std::string::npos);
}

TEST_F(NcclSweep, WhatOneRankLacksFailsWithTheReasonAndTheRestGoesOn) {
  FakeNcclSettings settings;
  settings.unavailable[1] = entry_bit(nccl::Algorithm::nvls, nccl::Protocol::simple);
  nccl_.configure(settings);
  SweepRun run;
  sweep(run, 2, catalogue(), spec(), {}, gpus_.all());
  EXPECT_THAT(run.errors, Each(""));
  std::size_t refused = 0;
  for (const Measurement& measured : run.outcome.measurements) {
    if (to_string(measured.variant).find("algorithm=nvls,") == std::string::npos) {
      EXPECT_EQ(measured.outcome, Outcome::ok)
          << to_string(measured.variant) << ": " << measured.detail;
      continue;
    }
    ++refused;
    EXPECT_EQ(measured.outcome, Outcome::failed);
    EXPECT_THAT(measured.detail, HasSubstr("unavailable for such calls on rank 1"));
  }
  EXPECT_GT(refused, 0U);
  EXPECT_EQ(nccl_.counts().aborted, 0);
}

TEST_F(NcclSweep, WithoutGpusEveryVariantIsSkippedWithTheReason) {
  SweepRun run;
  SweepSpec host = spec();
  host.include = {"cpu.all_reduce_one_shot", "nccl.*"};
  sweep(run, 2, catalogue(), host);
  EXPECT_THAT(run.errors, Each(""));
  std::set<std::string> skipped;
  for (const Skipped& entry : run.journal.plans.at(0).skipped)
    if (entry.variant.starts_with("nccl.")) {
      EXPECT_FALSE(entry.reason.empty());
      skipped.insert(entry.variant.substr(0, entry.variant.find('{')));
    }
  std::set<std::string> all;
  for (const auto& entry : nccl_.entries())
    if (entry->collective() == Collective::all_reduce) all.emplace(entry->name());
  EXPECT_EQ(skipped, all);
}

/// Eight GPUs of a node, every collective with a choice, 1 KiB to 8 GiB.
TEST_F(NcclSweep, ThePlanOfANodeIsPruned) {
  const PretendedGpus node(8);
  const Implementations all = nccl_.entries();
  Availability availability;
  node.run([&](Communicator& communicator) {
    Capability own = detect_capability(all, communicator);
    own.features["cuda.compute_capability"] = "9.0";
    if (communicator.rank() == 0)
      availability = merge_capabilities(std::vector<Capability>(8, own), std::vector<int>(8, 0));
  });
  SweepSpec spec{.collectives = {Collective::broadcast, Collective::reduce, Collective::all_gather,
                                 Collective::reduce_scatter, Collective::all_reduce},
                 .data_types = {DataType::f32},
                 .reduce_ops = {ReduceOp::sum},
                 .sizes = parse_sizes("1KiB..8GiB x2")};
  ASSERT_EQ(spec.sizes.size(), 24U);
  const SweepPlan plan = make_plan(spec, availability, all, "e");
  EXPECT_EQ(plan.cells.size(), 5U * 24);
  std::size_t forced = 0;
  for (const Cell& cell : plan.cells) {
    EXPECT_EQ(std::ranges::count_if(
                  cell.variants,
                  [](const auto& planned) { return planned.is_baseline && !planned.is_twin; }),
              1);
    forced += static_cast<std::size_t>(std::ranges::count_if(cell.variants, [](const auto& one) {
      return one.variant.implementation.ends_with("_forced");
    }));
  }
  // Unpruned: 3, 3, 4, 4 and 7 entries of a node with 7 numbers of channels each.
  constexpr std::size_t unpruned = (3 + 3 + 4 + 4 + 7) * 7 * 24;
  const auto least = least_duration(plan, {});
  std::cout << forced << " forced variants of " << unpruned << ", at least "
            << std::chrono::duration_cast<std::chrono::seconds>(least).count() << " s in "
            << plan.passes << " passes\n";
  EXPECT_LT(forced, unpruned * 3 / 4);
  EXPECT_GT(forced, unpruned / 4);
  EXPECT_GT(least, std::chrono::seconds(14)) << "12 rounds of 10 ms for each problem";
  EXPECT_LT(least, std::chrono::hours(24));
}

}  // namespace
}  // namespace colltune::test
