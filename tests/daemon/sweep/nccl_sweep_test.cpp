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
#include <utility>
#include <vector>

#include "colltune/decide/decide.h"
#include "colltune/decide/trials.h"
#include "colltune/kernels/nccl_library/nccl_environment.h"
#include "nccl_fixture.h"
#include "support/sanitizer.h"
#include "sweep_run.h"

namespace colltune::test {
namespace {

using fakes::sweep;
using fakes::SweepRun;
using testing::Each;
using testing::HasSubstr;
using testing::StartsWith;

/// All numbers of channels and CTAs; under a sanitizer NCCL's own and another one. What the ranks
/// share is the same for all.
std::vector<ParameterOverride> numbers_to_try() {
  if (!has_sanitizer) return {};
  return {{"nccl.*_forced", "channels", {"0", "8"}}, {"nccl.*_selected", "ctas", {"8"}}};
}

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
            .parameters = numbers_to_try(),
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

TEST_F(NcclSweep, ChannelsThatDidNotRunAreNotCredited) {
  ::setenv("NCCL_PROFILER_PLUGIN", COLLTUNE_NCCL_TUNER, 1);
  FakeNcclSettings settings;
  settings.channels = 2;
  nccl_.configure(settings);
  nccl::Places places = nccl_.places();
  places.profiler = COLLTUNE_NCCL_TUNER;
  SweepSpec wanted = spec();
  wanted.sizes = parse_sizes("64KiB");
  wanted.include = {"nccl.all_reduce", "nccl.all_reduce_forced"};
  if (has_sanitizer) wanted.parameters = {{"nccl.*_forced", "channels", {"0", "1", "8"}}};
  SweepRun run;
  sweep(run, 2, FakeNccl::entries(places), wanted, {}, gpus_.all());
  ::unsetenv("NCCL_PROFILER_PLUGIN");
  EXPECT_THAT(run.errors, Each(""));
  std::size_t credited = 0;
  std::size_t others = 0;
  for (const Measurement& measured : run.outcome.measurements) {
    EXPECT_EQ(measured.outcome, Outcome::ok) << measured.detail;
    const auto& executed = measured.conditions.executed;
    const auto& instead = measured.conditions.executed_instead;
    if (measured.variant.implementation == "nccl.all_reduce") {
      EXPECT_EQ(executed, "algorithm=tree,channels=2,protocol=ll,told_by=profiler");
      continue;
    }
    const std::string name = to_string(measured.variant);
    const auto asks_for = [&](const char* channels) {
      return name.find(std::string(",channels=") + channels + ",") != std::string::npos;
    };
    // NCCL's own number, and as many as there are.
    const bool is_as_asked = asks_for("0") || asks_for("1") || asks_for("2");
    EXPECT_EQ(is_credited(measured), is_as_asked) << name;
    ASSERT_EQ(executed.has_value(), is_as_asked);
    ASSERT_EQ(instead.has_value(), !is_as_asked);
    EXPECT_THAT(is_as_asked ? *executed : *instead,
                HasSubstr(asks_for("1") ? ",channels=1," : ",channels=2,"));
    ++(is_as_asked ? credited : others);
  }
  EXPECT_GT(credited, 0U);
  EXPECT_GT(others, 0U);
}

TEST_F(NcclSweep, From2_31OnCallsSelectWhatATunerCannotGive) {
  ::setenv("NCCL_PROFILER_PLUGIN", COLLTUNE_NCCL_TUNER, 1);
  FakeNcclSettings settings;
  settings.version = 23102;
  settings.tuner_interface = settings.profiler_interface = 6;
  settings.own_channels = 2;
  // The table has it, and no call can select it.
  settings.unavailable_for_long = entry_bit(nccl::Algorithm::nvls, nccl::Protocol::simple);
  settings.long_bytes = 64 << 10;
  nccl_.configure(settings);
  nccl::Places places = nccl_.places();
  places.profiler = COLLTUNE_NCCL_TUNER;
  SweepSpec wanted = spec();
  wanted.sizes = parse_sizes("64KiB");
  wanted.include = {"nccl.all_reduce", "nccl.all_reduce_forced", "nccl.all_reduce_selected"};
  SweepRun run;
  sweep(run, 2, FakeNccl::entries(places), wanted, {}, gpus_.all());
  ::unsetenv("NCCL_PROFILER_PLUGIN");
  EXPECT_THAT(run.errors, Each(""));
  std::size_t selected = 0;
  std::size_t refused = 0;
  std::size_t lowered = 0;
  for (const Measurement& measured : run.outcome.measurements) {
    const std::string name = to_string(measured.variant);
    const bool is_selected = measured.variant.implementation == "nccl.all_reduce_selected";
    if (name.find("algorithm=nvls,") != std::string::npos) {
      EXPECT_EQ(measured.outcome, Outcome::unavailable) << name;
      if (!is_selected) continue;
      EXPECT_THAT(measured.detail, HasSubstr("algSelection=NVLS_SIMPLE"));
      ++refused;
      continue;
    }
    EXPECT_EQ(measured.outcome, Outcome::ok) << name << ": " << measured.detail;
    if (is_selected) {
      EXPECT_TRUE(is_credited(measured)) << name;
      EXPECT_THAT(measured.conditions.executed.value_or(""),
                  HasSubstr(",channels=" + std::to_string(number(measured.variant, "ctas")) + ","));
      ++selected;
    } else if (measured.variant.implementation == "nccl.all_reduce_forced") {
      const std::int64_t channels = number(measured.variant, "channels");
      EXPECT_EQ(is_credited(measured), channels <= settings.own_channels) << name;
      lowered += channels > settings.own_channels ? 1 : 0;
    }
  }
  EXPECT_GT(selected, 0U);
  EXPECT_GT(refused, 0U);
  EXPECT_GT(lowered, 0U);
}

TEST_F(NcclSweep, CapturedProblemsHaveNcclAsTheirBaselineToo) {
  SweepSpec wanted = spec();
  wanted.collectives = {Collective::all_reduce, Collective::all_gather};
  wanted.graph_capture = {.off = false, .on = true};
  wanted.registered = {.off = true, .on = true};
  wanted.include = {"cuda.all_reduce_one_shot", "cuda.all_gather_push", "nccl.*"};
  SweepRun run;
  sweep(run, 2, catalogue(), wanted, {}, gpus_.all());
  EXPECT_THAT(run.errors, Each(""));
  std::set<std::string> implementations;
  std::set<std::pair<Collective, bool>> with_baseline;
  for (const Measurement& measured : run.outcome.measurements) {
    const std::string name = to_string(measured.variant);
    EXPECT_TRUE(measured.key.problem.graph_capture) << name;
    EXPECT_EQ(measured.outcome, Outcome::ok) << name << ": " << measured.detail;
    EXPECT_GT(measured.verified_calls, 1U) << name << ", with other inputs each";
    if (measured.family != "nccl") continue;
    implementations.insert(measured.variant.implementation);
    EXPECT_FALSE(measured.conditions.executed_instead) << name;
    EXPECT_TRUE(measured.conditions.executed) << name;
    EXPECT_TRUE(measured.conditions.device_share) << name;
    const Problem& problem = measured.key.problem;
    if (measured.is_baseline) with_baseline.emplace(problem.collective, problem.registered);
  }
  EXPECT_EQ(with_baseline.size(), 4U) << "two collectives, registered or not";
  EXPECT_EQ(implementations,
            (std::set<std::string>{"nccl.all_gather", "nccl.all_gather_forced",
                                   "nccl.all_gather_symmetric", "nccl.all_reduce",
                                   "nccl.all_reduce_forced", "nccl.all_reduce_symmetric"}));
  EXPECT_EQ(nccl_.counts().captured, 0);
  EXPECT_EQ(nccl_.counts().overdue, 0);
}

TEST_F(NcclSweep, WhatACapturedCallCannotBeForcedToIsUnavailableBeforeItRuns) {
  FakeNcclSettings settings;
  settings.unavailable_for_long = entry_bit(nccl::Algorithm::nvls, nccl::Protocol::simple);
  settings.long_bytes = 16 << 10;
  nccl_.configure(settings);
  SweepSpec wanted = spec();
  wanted.graph_capture = {.off = false, .on = true};
  wanted.include = {"cuda.all_reduce_one_shot", "nccl.all_reduce", "nccl.*_forced"};
  SweepRun run;
  sweep(run, 2, catalogue(), wanted, {}, gpus_.all());
  EXPECT_THAT(run.errors, Each(""));
  std::size_t unavailable = 0;
  for (const Measurement& measured : run.outcome.measurements) {
    const std::string name = to_string(measured.variant);
    if (name.find("algorithm=nvls,") == std::string::npos) {
      EXPECT_EQ(measured.outcome, Outcome::ok) << name << ": " << measured.detail;
      continue;
    }
    ++unavailable;
    EXPECT_EQ(measured.outcome, Outcome::unavailable) << name;
    EXPECT_THAT(measured.detail, HasSubstr("NCCL marks nvls with simple as unavailable"));
  }
  EXPECT_GT(unavailable, 0U);
  EXPECT_EQ(nccl_.counts().aborted, 0) << "all ranks found it out while they prepared";
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

/// What is not there is so in its first visit, and is tried in no other.
void expect_unavailable_once(const std::vector<Measurement>& measurements, const std::string& part,
                             const std::string& reason) {
  std::set<std::string> found;
  for (const Measurement& measured : measurements) {
    const std::string name = to_string(measured.variant);
    if (name.find(part) == std::string::npos) {
      EXPECT_EQ(measured.outcome, Outcome::ok) << name << ": " << measured.detail;
      continue;
    }
    EXPECT_TRUE(found.insert(name).second) << name << " was tried again";
    EXPECT_EQ(measured.pass, 0);
    EXPECT_EQ(measured.outcome, Outcome::unavailable) << name;
    EXPECT_THAT(measured.detail, HasSubstr(reason));
    EXPECT_EQ(measured.ranks_failed, 0);
    EXPECT_TRUE(measured.samples.empty());
  }
  EXPECT_FALSE(found.empty());
}

TEST_F(NcclSweep, WhatIsNotThereForTheVeryCallIsUnavailable) {
  FakeNcclSettings settings;
  settings.unavailable_for_long = entry_bit(nccl::Algorithm::nvls, nccl::Protocol::simple);
  settings.long_bytes = 16 << 10;
  nccl_.configure(settings);
  SweepSpec wanted = spec();
  wanted.passes = 2;
  SweepRun run;
  sweep(run, 2, catalogue(), wanted, {}, gpus_.all());
  EXPECT_THAT(run.errors, Each(""));
  expect_unavailable_once(run.outcome.measurements, "algorithm=nvls,",
                          "NCCL marks nvls with simple as unavailable for calls of 16KiB");
}

TEST_F(NcclSweep, WhatOneRankLacksIsUnavailableAndTheRestGoesOn) {
  FakeNcclSettings settings;
  settings.unavailable[1] = entry_bit(nccl::Algorithm::nvls, nccl::Protocol::simple);
  nccl_.configure(settings);
  SweepSpec wanted = spec();
  wanted.passes = 2;
  // One communicator of NCCL's for all: ranks that stay in step need no other.
  wanted.include = {"cuda.all_reduce_one_shot", "nccl.all_reduce", "nccl.*_forced"};
  SweepRun run;
  sweep(run, 2, catalogue(), wanted, {}, gpus_.all());
  EXPECT_THAT(run.errors, Each(""));
  const std::string reason = "unavailable for such calls on rank 1";
  expect_unavailable_once(run.outcome.measurements, "algorithm=nvls,", reason);
  EXPECT_FALSE(has_fault(run.outcome.trials));
  EXPECT_GT(run.outcome.trials[Outcome::unavailable], 0U);
  EXPECT_EQ(nccl_.counts().aborted, 0);
  EXPECT_EQ(nccl_.counts().joined, 2);

  // A sweep that goes on does not try them either: what was stored is its first pass.
  SweepRun resumed;
  for (const Measurement& measured : run.outcome.measurements)
    if (measured.pass == 0) resumed.stored.push_back(measured);
  resumed.progress.begun = resumed.progress.ended = 1;
  sweep(resumed, 2, catalogue(), wanted, {}, gpus_.all());
  EXPECT_THAT(resumed.errors, Each(""));
  expect_unavailable_once(resumed.outcome.measurements, "algorithm=nvls,", reason);
  ASSERT_FALSE(resumed.journal.appended.empty()) << "the second pass";
  for (const auto& visit : resumed.journal.appended)
    for (const Measurement& measured : visit) EXPECT_EQ(measured.outcome, Outcome::ok);
}

bool is_ring_with_ll(const Measurement& measured) {
  const std::string name = to_string(measured.variant);
  return name.find("algorithm=ring") != std::string::npos &&
         name.find("protocol=ll}") != std::string::npos;
}

/// In calls of ring with LL rank 1 never comes: both abort the communicator at the deadline.
/// Calls that are captured or not: those of all variants are held by graphs then.
class NcclSweepAfterAnAbort : public NcclSweep, public testing::WithParamInterface<bool> {
 protected:
  void run(FakeNcclSettings settings) {
    settings.rank_stuck_in_call = 1;
    settings.stuck_entries = entry_bit(nccl::Algorithm::ring, nccl::Protocol::ll);
    nccl_.configure(settings);
    SweepSpec wanted = spec();
    wanted.passes = 2;
    wanted.graph_capture = {.off = !GetParam(), .on = GetParam()};
    wanted.include = {"cuda.all_reduce_one_shot", "nccl.all_reduce", "nccl.*_forced"};
    // Two variants hang, each for as long as a call may take; under a sanitizer one.
    wanted.parameters = {{"nccl.*_forced", "channels", {"0"}}};
    if (!has_sanitizer) wanted.parameters[0].values.emplace_back("8");
    run_.policy.call_limit_floor = std::chrono::milliseconds(has_sanitizer ? 1500 : 800);
    sweep(run_, 2, catalogue(), wanted, {}, gpus_.all());
    EXPECT_THAT(run_.errors, Each(""));
    EXPECT_EQ(nccl_.counts().overdue, 0) << "a graph outlived its communicator";
    EXPECT_EQ(nccl_.counts().captured, 0);
  }
  SweepRun run_;
};
INSTANTIATE_TEST_SUITE_P(Captured, NcclSweepAfterAnAbort, testing::Bool());

TEST_P(NcclSweepAfterAnAbort, TheOtherVariantsAreMeasuredOnAnotherCommunicator) {
  run({});
  std::size_t hung = 0;
  std::size_t renewed = 0;
  for (const Measurement& measured : run_.outcome.measurements) {
    const std::string name = to_string(measured.variant);
    if (is_ring_with_ll(measured)) {
      ++hung;
      EXPECT_EQ(measured.pass, 0) << "it does not come back";
      EXPECT_EQ(measured.outcome, Outcome::timed_out) << name;
      EXPECT_THAT(measured.detail, HasSubstr("NCCL's all_reduce did not end in time"));
      continue;
    }
    EXPECT_EQ(measured.outcome, Outcome::ok) << name << ": " << measured.detail;
    EXPECT_FALSE(measured.samples.empty()) << name;
    const bool is_renewed = measured.family == "nccl" && measured.pass == 0;
    EXPECT_EQ(measured.conditions.renewals.has_value(), is_renewed) << name;
    if (!is_renewed) continue;
    ++renewed;
    EXPECT_TRUE(measured.conditions.executed) << name;
  }
  EXPECT_GT(hung, 0U);
  EXPECT_GT(renewed, 3U);
  EXPECT_EQ(nccl_.counts().aborted, 2 * static_cast<int>(hung));
}

/// Each of these waits for several limits in vain: under a sanitizer once, with the calls that
/// graphs hold.
class NcclSweepWithoutAnotherCommunicator : public NcclSweepAfterAnAbort {};
INSTANTIATE_TEST_SUITE_P(Captured, NcclSweepWithoutAnotherCommunicator,
                         testing::ValuesIn(has_sanitizer ? std::vector<bool>{true}
                                                         : std::vector<bool>{false, true}));

TEST_P(NcclSweepWithoutAnotherCommunicator, ACommunicatorThatIsRefusedEndsTheRestWithTheReason) {
  run({.rank_refused_in_init = 1, .sound_inits = 1});
  std::size_t refused = 0;
  std::size_t given_up = 0;
  for (const Measurement& measured : run_.outcome.measurements) {
    if (measured.family != "nccl") {
      EXPECT_EQ(measured.outcome, Outcome::ok) << measured.detail;
      continue;
    }
    if (is_ring_with_ll(measured)) continue;
    EXPECT_EQ(measured.outcome, Outcome::failed);
    refused += measured.detail.find("when it was prepared anew") != std::string::npos ? 1 : 0;
    given_up += measured.detail.find("2 others before it failed") != std::string::npos ? 1 : 0;
  }
  EXPECT_EQ(refused, 2U);
  EXPECT_GT(given_up, 3U);
}

TEST_P(NcclSweepWithoutAnotherCommunicator, ACommunicatorThatHangsEndsTheRestInTime) {
  const auto begin = std::chrono::steady_clock::now();
  run({.rank_stuck_in_init = 0, .sound_inits = 1});
  std::size_t late = 0;
  for (const Measurement& measured : run_.outcome.measurements)
    late += measured.detail.find("communicator was not made in time") != std::string::npos ? 1 : 0;
  EXPECT_EQ(late, 2U);
  // One call, and two communicators: however many variants there are.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(60));
}

/// The catalogue as it is, which looks for NCCL by itself: nobody here has a GPU, so that it does
/// not.
TEST_F(NcclSweep, WithoutGpusEveryVariantIsSkippedWithTheReason) {
  const Implementations all = make_catalogue();
  SweepSpec host = spec();
  host.include = {"cpu.all_reduce_one_shot", "cpu.*_flat", "nccl.*"};
  host.collectives.clear();
  for (const auto& named : enum_names(Collective{})) host.collectives.push_back(named.value);
  ASSERT_EQ(host.collectives.size(), 8U);
  SweepRun run;
  // What the ranks lack is for the build and the machine to say.
  std::string lacking;
  run.differ = [&](int rank, const Capability& detected) {
    if (rank == 0) lacking = detected.value("cuda.unavailable");
  };
  sweep(run, 2, all, host);
  EXPECT_THAT(run.errors, Each(""));
  if (lacking.empty()) lacking = "the ranks' buffers lie in the host's";
  std::set<std::string> skipped;
  for (const Skipped& entry : run.journal.plans.at(0).skipped)
    if (entry.variant.starts_with("nccl.")) {
      EXPECT_THAT(entry.reason, HasSubstr(lacking)) << entry.variant;
      skipped.insert(entry.variant.substr(0, entry.variant.find('{')));
    }
  std::set<std::string> expected;
  std::set<Collective> covered;
  for (const auto& entry : all) {
    if (entry->family() != "nccl") continue;
    expected.emplace(entry->name());
    covered.insert(entry->collective());
  }
  EXPECT_EQ(skipped, expected);
  EXPECT_EQ(covered.size(), 8U);
  for (const Measurement& measured : run.outcome.measurements)
    EXPECT_NE(measured.family, "nccl") << to_string(measured.variant);
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
  static_assert(unpruned == 3528);
  EXPECT_EQ(forced, 2019U) << "kernels/README.md has both numbers";
  // 12 rounds of 10 ms in each visit are 346 s of it, takeover runs and calls of up to 8 GiB the
  // rest.
  EXPECT_GT(least, std::chrono::minutes(70));
  EXPECT_LT(least, std::chrono::minutes(80));
}

}  // namespace
}  // namespace colltune::test
