// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Sweeps of ranks whose buffers lie on devices, with host threads in the place of a GPU.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "colltune/decide/decide.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/sweep/ranks/capability_rules.h"
#include "support/pretended_device.h"
#include "support/sanitizer.h"
#include "sweep_run.h"

namespace colltune {
namespace {

using fakes::sweep;
using fakes::SweepRun;
using test::PretendedDevice;
using ::testing::HasSubstr;

SweepSpec small_sweep() {
  return {.collectives = {Collective::all_reduce, Collective::all_gather},
          .data_types = {DataType::bf16},
          .reduce_ops = {ReduceOp::sum},
          .sizes = parse_sizes("1KiB"),
          .in_place = {.off = true, .on = true},
          .registered = {.off = true, .on = true},
          .graph_capture = {.off = true, .on = true},
          .passes = 1,
          .soak = {.runs = 20}};
}

TEST(DeviceSweep, KernelsAreMeasuredVerifiedAndDecided) {
  PretendedDevice device("shared", 2);
  const std::vector<Device*> devices{&device, &device};
  const Implementations catalogue = make_catalogue();
  SweepSpec spec = small_sweep();
  // The bodies have a test of their own: here a few by each kind of wait.
  if (test::has_thread_sanitizer)
    spec.include = {"cuda.all_reduce_one_shot*", "cuda.all_gather_push",
                    "cuda.all_gather_low_latency"};
  SweepRun run;
  sweep(run, 2, catalogue, spec, {}, devices);
  EXPECT_THAT(run.errors, testing::Each(""));
  EXPECT_THAT(run.ends, testing::Each(SweepEnd::complete));
  ASSERT_EQ(run.journal.plans.size(), 1u);
  const SweepPlan& plan = run.journal.plans[0];
  EXPECT_EQ(plan.cells.size(), 16u)
      << "two collectives, in place or not, registered or not, captured or not";
  ASSERT_FALSE(run.outcome.measurements.empty());
  for (const Measurement& measured : run.outcome.measurements) {
    EXPECT_EQ(measured.outcome, Outcome::ok)
        << to_string(measured.variant) << ": " << measured.detail;
    EXPECT_TRUE(measured.variant.implementation.starts_with("cuda."));
    EXPECT_GE(measured.verified_calls, 2u);
    EXPECT_EQ(measured.key.topology.placement, Placement::shared_device);
    EXPECT_EQ(architecture_name(measured.key.topology), "pretended");
    // Of the last call of several, beside their mean.
    ASSERT_TRUE(measured.conditions.device_share);
    EXPECT_GT(*measured.conditions.device_share, 0.01);
    ASSERT_TRUE(measured.conditions.device_time);
    EXPECT_GT(measured.conditions.device_time->count(), 0);
    EXPECT_EQ(measured.conditions.timed_by, measured.synchronization == Synchronization::window
                                                ? "host,from=common_start,late_ranks=inside"
                                                : "host,from=own_start,late_ranks=inside");
  }
  std::size_t over_all = 0;
  for (const Decision& decision : decide(run.outcome.measurements, {}, "s"))
    over_all += decision.family == any_family ? 1 : 0;
  EXPECT_EQ(over_all, plan.cells.size());
}

/// The environment by which the library that stands for NVML says what there is.
class SaidByNvml {
 public:
  explicit SaidByNvml(std::vector<std::pair<const char*, const char*>> what)
      : what_(std::move(what)) {
    for (const auto& [name, value] : what_) ::setenv(name, value, 1);
  }
  SaidByNvml(const SaidByNvml&) = delete;
  SaidByNvml& operator=(const SaidByNvml&) = delete;
  ~SaidByNvml() {
    for (const auto& [name, value] : what_) ::unsetenv(name);
  }

 private:
  std::vector<std::pair<const char*, const char*>> what_;
};

TEST(DeviceSweep, HowTheDevicesRanIsPartOfEachMeasurement) {
  SweepSpec spec = small_sweep();
  spec.collectives = {Collective::all_reduce};
  spec.in_place = {.off = true, .on = false};
  spec.registered = {.off = true, .on = false};
  spec.graph_capture = {.off = true, .on = false};
  spec.include = {"cuda.*one_shot"};
  const auto conditions_of = [&](std::span<Device* const> devices) {
    SweepRun run;
    sweep(run, 2, make_catalogue(), spec, {}, devices);
    EXPECT_THAT(run.errors, testing::Each(""));
    EXPECT_FALSE(run.outcome.measurements.empty());
    return run.outcome.measurements.at(0).conditions;
  };
  PretendedDevice first("first", 1);
  PretendedDevice second("second", 1);
  const std::vector<Device*> devices{&first, &second};
  {
    const Conditions silent = conditions_of(devices);
    EXPECT_FALSE(silent.device_clock_khz || silent.device_power_state || silent.device_throttles);
  }
  second.offer_state(COLLTUNE_FAKE_NVML);  // of one rank alone
  {
    const SaidByNvml said({{"FAKE_NVML_MHZ", "1410"}, {"FAKE_NVML_STATE", "3"}});
    const Conditions calm = conditions_of(devices);
    EXPECT_EQ(calm.device_clock_khz, 1'410'000U);
    EXPECT_EQ(calm.device_power_state, 3);
    EXPECT_EQ(calm.device_throttles, std::nullopt);
  }
  first.offer_state(COLLTUNE_FAKE_NVML);
  const SaidByNvml said({{"FAKE_NVML_MHZ", "900"}, {"FAKE_NVML_REASONS", "0x84"}});
  const Conditions held_down = conditions_of(devices);
  EXPECT_EQ(held_down.device_clock_khz, 900'000U);
  EXPECT_EQ(held_down.device_power_state, 0);
  EXPECT_EQ(held_down.device_throttles, "power_cap,power_brake");
}

TEST(DeviceSweep, UnlikeRanksOnDevicesAreGrouped) {
  PretendedDevice device("shared", 4);
  const std::vector<Device*> devices(4, &device);
  SweepSpec spec = small_sweep();
  spec.collectives = {Collective::all_reduce};
  spec.in_place = {.off = true, .on = false};
  spec.registered = {.off = true, .on = false};
  spec.graph_capture = {.off = true, .on = false};
  spec.include = {"cuda.*two_shot*", "cuda.*one_shot", "cuda.broadcast_chain"};
  SweepRun run;
  run.differ = [](int rank, Capability& capability) {
    if (rank > 1) capability.features["without.cuda.all_reduce_two_shot*"] = "";
  };
  sweep(run, 4, make_catalogue(), spec, {}, devices);
  EXPECT_THAT(run.errors, testing::Each(""));
  std::size_t grouped = 0;
  for (const Measurement& measured : run.outcome.measurements) {
    EXPECT_EQ(measured.outcome, Outcome::ok)
        << to_string(measured.variant) << ": " << measured.detail;
    if (!measured.variant.implementation.starts_with("grouped.")) continue;
    ++grouped;
    EXPECT_EQ(measured.ranks_ran, 4);
    EXPECT_TRUE(measured.conditions.device_share);
  }
  EXPECT_GT(grouped, 0u);
}

TEST(DeviceSweep, RanksWithoutTheirDevicesArchitectureAreAnotherKind) {
  PretendedDevice device("shared", 4, "sm_90");
  const std::vector<Device*> devices(4, &device);
  const CapabilityRules rules{.masks = {"2-3:sm_90"}};
  SweepSpec spec = small_sweep();
  spec.collectives = {Collective::all_reduce, Collective::reduce, Collective::broadcast};
  spec.in_place = {.off = true, .on = false};
  spec.registered = {.off = true, .on = false};
  spec.graph_capture = {.off = true, .on = false};
  spec.include = {"cuda.*two_shot*", "cuda.*one_shot", "cuda.broadcast_chain"};
  spec.partial_worlds = true;
  SweepRun run;
  run.differ = [&](int rank, Capability& capability) {
    capability = apply(rules_of_rank(rules, rank, 4), {}, std::move(capability));
  };
  sweep(run, 4, make_catalogue(), spec, {}, devices);
  EXPECT_THAT(run.errors, testing::Each(""));
  // Each kind has a world of its own, and in the whole one they are groups.
  std::set<std::string> worlds;
  std::size_t grouped = 0;
  for (const Measurement& measured : run.outcome.measurements) {
    EXPECT_EQ(measured.outcome, Outcome::ok)
        << to_string(measured.variant) << ": " << measured.detail;
    worlds.insert(architecture_name(measured.key.topology));
    if (!measured.variant.implementation.starts_with("grouped.")) continue;
    ++grouped;
    EXPECT_EQ(architecture_name(measured.key.topology), "sm:2+sm_90:2");
  }
  EXPECT_THAT(worlds, testing::ElementsAre("sm", "sm:2+sm_90:2", "sm_90"));
  EXPECT_GT(grouped, 0u);
}

TEST(DeviceSweep, WhatTakesHostMemoryIsSkippedWithTheReason) {
  PretendedDevice device("shared", 2);
  const std::vector<Device*> devices{&device, &device};
  SweepSpec spec = small_sweep();
  spec.collectives = {Collective::all_reduce};
  spec.include = {"*.all_reduce_one_shot"};
  SweepRun run;
  sweep(run, 2, make_catalogue(), spec, {}, devices);
  const auto& skipped = run.journal.plans.at(0).skipped;
  const auto one = std::ranges::find_if(
      skipped, [](const auto& entry) { return entry.variant.starts_with("cpu.all_reduce"); });
  ASSERT_NE(one, skipped.end());
  EXPECT_THAT(one->reason, HasSubstr("host's memory; the ranks' lie on devices"));
}

TEST(DeviceSweep, HostRanksSkipKernelsWithTheReason) {
  SweepRun run;
  SweepSpec spec = small_sweep();
  spec.collectives = {Collective::all_reduce};
  sweep(run, 2, make_catalogue(), spec);
  std::size_t kernels = 0;
  for (const auto& entry : run.journal.plans.at(0).skipped)
    if (entry.variant.starts_with("cuda.")) {
      ++kernels;
      EXPECT_FALSE(entry.reason.empty());
    }
  EXPECT_GT(kernels, 4u);
}

TEST(DeviceSweep, ADeviceOfItsOwnForEachRankIsADedicatedPlacement) {
  PretendedDevice first("first", 1);
  PretendedDevice second("second", 1);
  const std::vector<Device*> devices{&first, &second};
  SweepSpec spec = small_sweep();
  spec.collectives = {Collective::all_reduce};
  // Multicast reaches such devices alone.
  spec.include = {"cuda.*one_shot", "cuda.*_multicast"};
  SweepRun run;
  sweep(run, 2, make_catalogue(), spec, {}, devices);
  ASSERT_FALSE(run.outcome.measurements.empty());
  for (const Measurement& measured : run.outcome.measurements) {
    EXPECT_EQ(measured.outcome, Outcome::ok) << measured.detail;
    EXPECT_EQ(measured.key.topology.placement, Placement::dedicated);
  }
}

// Over PCI Express without peer access: nothing failed, and scratch memory of the host's serves.
TEST(DeviceSweep, WhereDevicesDoNotReachEachOtherKernelsAreUnavailableButThroughTheHost) {
  PretendedDevice first("first", 1);
  PretendedDevice second("second", 1);
  first.forbid_peers();
  second.forbid_peers();
  const std::vector<Device*> devices{&first, &second};
  SweepSpec spec = small_sweep();
  spec.collectives = {Collective::all_reduce};
  spec.in_place = {.off = true, .on = false};
  spec.graph_capture = {.off = true, .on = false};
  spec.include = {"cuda.*two_shot_pull", "cuda.*one_shot"};
  SweepRun run;
  sweep(run, 2, make_catalogue(), spec, {}, devices);
  EXPECT_THAT(run.errors, testing::Each(""));
  EXPECT_THAT(run.ends, testing::Each(SweepEnd::complete));
  std::size_t through_host = 0;
  std::size_t unavailable = 0;
  for (const Measurement& measured : run.outcome.measurements) {
    if (word(measured.variant, "scratch") == "host") {
      EXPECT_EQ(measured.outcome, Outcome::ok) << measured.detail;
      ++through_host;
      continue;
    }
    EXPECT_EQ(measured.outcome, Outcome::unavailable) << to_string(measured.variant);
    EXPECT_THAT(measured.detail, HasSubstr("first cannot reach second; its device does not reach "
                                           "the memory of rank 1"));
    ++unavailable;
  }
  EXPECT_GT(through_host, 0U);
  EXPECT_GT(unavailable, through_host) << "registered buffers, too";
}

/// What a small sweep of two ranks on one device measures, with inputs out of its caches.
std::vector<Measurement> sweep_rotating(PretendedDevice& device) {
  const std::vector<Device*> devices{&device, &device};
  SweepSpec spec = small_sweep();
  spec.collectives = {Collective::all_reduce};
  spec.include = {"cuda.*one_shot"};
  spec.input_mode = InputMode::rotating;
  SweepRun run;
  sweep(run, 2, make_catalogue(), spec, {}, devices);
  return std::move(run.outcome.measurements);
}

TEST(DeviceSweep, RotatingInputsAreWrittenAndThenMoreThanTheDevicesCachesHold) {
  PretendedDevice device("shared", 2);
  device.pretend_cache(1 << 20);
  const std::vector<Measurement> measurements = sweep_rotating(device);
  ASSERT_FALSE(measurements.empty());
  std::size_t runs = 0;
  for (const Measurement& measured : measurements) {
    EXPECT_EQ(measured.outcome, Outcome::ok) << measured.detail;
    runs += measured.samples.size();
  }
  EXPECT_GE(device.count_filled(), runs * 2 * (2 << 20)) << "on both ranks";
}

TEST(DeviceSweep, RotatingInputsAreRefusedWhereNobodyKnowsTheCaches) {
  PretendedDevice device("shared", 2);
  const std::vector<Measurement> measurements = sweep_rotating(device);
  ASSERT_FALSE(measurements.empty());
  for (const Measurement& measured : measurements) {
    EXPECT_NE(measured.outcome, Outcome::ok);
    EXPECT_THAT(measured.detail, HasSubstr("use rewritten or hot"));
  }
}

TEST(DeviceSweep, ADeviceWithoutMemoryForTheBuffersFailsTheCellAndNoMore) {
  PretendedDevice device("shared", 2);
  device.limit_memory(4096);
  const std::vector<Device*> devices{&device, &device};
  SweepSpec spec = small_sweep();
  spec.collectives = {Collective::all_reduce};
  SweepRun run;
  sweep(run, 2, make_catalogue(), spec, {}, devices);
  EXPECT_THAT(run.errors, testing::Each(""));
  ASSERT_FALSE(run.outcome.measurements.empty());
  for (const Measurement& measured : run.outcome.measurements)
    EXPECT_THAT(measured.detail, HasSubstr("no memory left"));
}

}  // namespace
}  // namespace colltune
