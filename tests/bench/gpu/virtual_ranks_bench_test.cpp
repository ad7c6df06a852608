// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What gpu_bench times and judges, with host threads in the place of a GPU.

#include "virtual_ranks_bench.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <utility>

#include "gpu_targets.h"
#include "support/pretended_device.h"

namespace colltune {
namespace {

using Figure = GpuTarget::Figure;
using testing::HasSubstr;

constexpr Bytes mib{1 << 20};

/// Says of itself what another one does, and leaves results as they were.
class Flawed final : public Implementation {
 public:
  explicit Flawed(const Implementation& sound)
      : Implementation({.name = "cuda.flawed",
                        .description = "a planted fault",
                        .collective = sound.collective(),
                        .family = sound.family(),
                        .runs_on_device = true}),
        sound_(sound) {}
  std::vector<Variant> variants(const Problem& problem, const Topology& topology,
                                const Capability& capability) const override {
    return sound_.variants(problem, topology, capability);
  }
  Support can_run(const Problem& problem, const Topology& topology, const Capability& capability,
                  const Variant& variant) const override {
    return sound_.supports(problem, topology, capability, variant);
  }
  Limits limits(const Variant& variant) const override { return sound_.limits(variant); }
  std::string protocol(const Problem& problem, const Variant& variant) const override {
    return sound_.protocol(problem, variant);
  }
  Cost cost(const Problem& problem, const Topology& topology,
            const Variant& variant) const override {
    return sound_.cost(problem, topology, variant);
  }
  Numerics numerics(const Problem& problem, const Variant& variant) const override {
    return sound_.numerics(problem, variant);
  }
  std::unique_ptr<Operation> prepare(Communicator&, const Call&, const Variant&,
                                     Deadline) const override {
    return std::make_unique<Nothing>();
  }

 private:
  /// Leaves the result as it was.
  class Nothing final : public Operation {
   public:
    void start() override {}
    void wait(Deadline) override {}
  };
  const Implementation& sound_;
};

class VirtualRanksBenchTest : public testing::Test {
 protected:
  VirtualRanksBenchTest() : catalogue_(make_catalogue()) { device_.pretend_cache(4096); }
  const Implementation& find(std::string_view name) const {
    return **std::ranges::find(catalogue_, name, &Implementation::name);
  }
  static void time_all(VirtualRanksBench& bench, BenchRow& row) {
    while (row.tried < row.variants.size()) bench.time_next(row);
  }

  BenchDevices devices() { return {.calls = device_, .alone = device_, .repeated = device_}; }

  test::PretendedDevice device_{"shared", 8};
  Implementations catalogue_;
};

TEST_F(VirtualRanksBenchTest, AllOfARowIsTimedAndRightAndOutOfTheCaches) {
  VirtualRanksBench bench(devices(), {.ranks = 2, .calls = 2});
  ASSERT_TRUE(bench.evicts());
  const Capability capability = bench.capability(catalogue_);
  for (const char* const name : {"cuda.all_reduce_two_shot_pull", "cuda.all_gather_copy_pull"}) {
    BenchRow row = bench.make_row(find(name), capability, {4096});
    ASSERT_GT(row.variants.size(), 1U);
    EXPECT_THAT(describe_untimed(row), HasSubstr(": 0 of "));
    const std::size_t filled = device_.count_filled();
    time_all(bench, row);
    EXPECT_EQ(row.timed, row.variants.size());
    EXPECT_EQ(describe_untimed(row), "");
    EXPECT_THAT(row.faults, testing::IsEmpty());
    ASSERT_TRUE(row.best);
    EXPECT_GE(device_.count_filled() - filled, row.timed * 8192) << "a call of each at the least";
    EXPECT_EQ(bench.verify_best(row), "");
  }
}

TEST_F(VirtualRanksBenchTest, NobodyKnowsTheCaches) {
  device_.pretend_cache(0);
  EXPECT_FALSE(VirtualRanksBench(devices(), {.ranks = 2}).evicts());
}

TEST_F(VirtualRanksBenchTest, FewVariantsAreSpreadOverTheSearchSpace) {
  VirtualRanksBench bench(devices(), {.ranks = 2, .most_variants = 2});
  const Capability capability = bench.capability(catalogue_);
  const BenchRow row = bench.make_row(find("cuda.all_reduce_two_shot_pull"), capability, mib);
  ASSERT_EQ(row.variants.size(), 2U);
  EXPECT_THAT(to_string(row.variants.front()), HasSubstr("blocks=4"));
  EXPECT_THAT(to_string(row.variants.back()), HasSubstr("blocks=1,"));
}

TEST_F(VirtualRanksBenchTest, WhatIsLeftInMemoryIsNoResult) {
  VirtualRanksBench bench(devices(), {.ranks = 2, .calls = 1, .most_variants = 1});
  const Capability capability = bench.capability(catalogue_);
  const Implementation& sound = find("cuda.all_reduce_one_shot");
  BenchRow row = bench.make_row(sound, capability, {4096});
  time_all(bench, row);
  EXPECT_THAT(row.faults, testing::IsEmpty());
  const Flawed flawed(sound);
  BenchRow wrong = bench.make_row(flawed, capability, {4096});
  time_all(bench, wrong);
  ASSERT_EQ(wrong.faults.size(), 1U);
  EXPECT_THAT(wrong.faults.front(), HasSubstr("element 0 is"));
  EXPECT_FALSE(wrong.best);
}

TEST_F(VirtualRanksBenchTest, MemoryThatIsLackingIsNoFault) {
  VirtualRanksBench bench(devices(), {.ranks = 2, .calls = 1, .most_variants = 1});
  const Capability capability = bench.capability(catalogue_);
  BenchRow row = bench.make_row(find("cuda.all_reduce_one_shot"), capability, mib);
  device_.limit_memory(4096);
  time_all(bench, row);
  EXPECT_THAT(row.faults, testing::IsEmpty());
  EXPECT_FALSE(row.best);
  EXPECT_THAT(describe_untimed(row),
              testing::AllOf(HasSubstr("cuda.all_reduce_one_shot 1MiB: 0 of 1"),
                             HasSubstr("no memory left")));
}

TEST_F(VirtualRanksBenchTest, WhatRunsNowhereSaysWhy) {
  VirtualRanksBench bench(devices(), {.ranks = 2});
  const Capability capability = bench.capability(catalogue_);
  const BenchRow row = bench.make_row(find("cuda.all_reduce_one_shot_multicast"), capability, mib);
  EXPECT_TRUE(row.variants.empty());
  EXPECT_THAT(row.why_untimed, HasSubstr("multicast"));
}

TEST_F(VirtualRanksBenchTest, ACopyTakesTime) {
  VirtualRanksBench bench(devices(), {.ranks = 2});
  EXPECT_GT(bench.copy_time(mib).count(), 0);
}

TEST(GpuTargets, TheirFormsAreInTheCatalogue) {
  const Implementations catalogue = make_catalogue();
  for (const GpuTarget& target : gpu_targets()) {
    for (const std::string_view form : target.forms) {
      if (form.empty()) continue;
      EXPECT_TRUE(is_form_of(target, form));
      EXPECT_NE(std::ranges::find(catalogue, form, &Implementation::name), catalogue.end()) << form;
      if (target.figure != Figure::share_of_copy) continue;
      EXPECT_GT(moved_bytes(form, target_ranks, mib), 0) << form;
    }
    EXPECT_FALSE(is_form_of(target, ""));
  }
}

TEST(GpuTargets, BytesThatAreMoved) {
  // Each rank, of half the message: 1 read and 1 sent, 2 read and 2 written, 1 read and 1 written.
  EXPECT_EQ(moved_bytes("cuda.all_reduce_ring", 2, {1000}), 8000);
  EXPECT_EQ(moved_bytes("cuda.all_reduce_two_shot_pull", 4, {1000}), 11000);
  EXPECT_EQ(moved_bytes("cuda.all_reduce_two_shot_push", 4, {1000}), 8000);
  EXPECT_EQ(moved_bytes("cuda.all_gather_copy_pull", 4, {1000}), 8000);
}

TEST(GpuTargets, BytesThatReachTheMemory) {
  const auto bytes = [](const char* variant, Bytes cache) {
    return memory_bytes(parse_variant(variant), 2, {1000}, cache);
  };
  // Two ranks' 2 hops, 2 slots of 100 bytes each: 800.
  const char* const ring = "cuda.all_reduce_ring{chunk=100,slots=2}";
  EXPECT_EQ(bytes(ring, {800}), 4000) << "inputs and results alone: slots stay in the cache";
  EXPECT_EQ(bytes(ring, {799}), 6000) << "and what is written to slots";
  EXPECT_EQ(bytes("cuda.all_reduce_ring{chunk=100000,slots=2}", {3999}), 6000)
      << "no more than a rank's share";
  EXPECT_EQ(bytes("cuda.all_reduce_ring{chunk=100000,slots=2}", {4000}), 4000);
  EXPECT_EQ(bytes("cuda.all_reduce_two_shot_push{vector=16}", {1 << 20}), 4000);
}

TEST(GpuTargets, BytesOfOthersAreNotCounted) {
  EXPECT_EQ(moved_bytes("cuda.broadcast_chain", 4, {1000}), 0) << "nobody counted";
}

TEST(GpuTargets, FiguresAreJudged) {
  const GpuTarget share{.figure = Figure::share_of_copy, .bound = 0.7};
  const GpuTarget time{.figure = Figure::microseconds, .bound = 10};
  const GpuTarget copy{.figure = Figure::times_plain_copy, .bound = 1.1};
  const GpuTarget memory{.figure = Figure::share_of_memory, .bound = 0.5};
  const GpuFigures figures{.device_us = 10,
                           .moved_bytes = 700,
                           .memory_bytes = 400,
                           .copied_bytes_per_us = 100,
                           .plain_copy_us = 8};
  EXPECT_DOUBLE_EQ(figure_of(memory, figures).value(), 0.4);
  EXPECT_EQ(judge(memory, 0.4, ""), (GpuVerdict{.measured = 0.4, .is_reached = false}));
  EXPECT_DOUBLE_EQ(figure_of(share, figures).value(), 0.7);
  EXPECT_DOUBLE_EQ(figure_of(time, figures).value(), 10);
  EXPECT_DOUBLE_EQ(figure_of(copy, figures).value(), 1.25);
  EXPECT_FALSE(figure_of(copy, {.device_us = 10}));
  EXPECT_FALSE(figure_of(share, {.device_us = 10}));

  EXPECT_EQ(judge(share, 0.71, ""), (GpuVerdict{.measured = 0.71, .is_reached = true}));
  EXPECT_EQ(judge(share, 0.69, ""), (GpuVerdict{.measured = 0.69, .is_reached = false}));
  EXPECT_EQ(judge(time, 10.1, ""), (GpuVerdict{.measured = 10.1, .is_reached = false}));
  EXPECT_EQ(judge(time, 9.9, "some were not timed"),
            (GpuVerdict{.measured = 9.9, .is_reached = true}))
      << "the others could only be faster";
  EXPECT_EQ(judge(time, 10.1, "some were not timed"),
            (GpuVerdict{.measured = 10.1, .reason = "some were not timed"}));
  EXPECT_EQ(judge(time, {}, ""), (GpuVerdict{.reason = "nothing was timed"}));

  EXPECT_TRUE(is_better(share, 0.8, 0.7));
  EXPECT_FALSE(is_better(time, 0.8, 0.7));
  EXPECT_TRUE(is_better(time, 0.8, {}));
}

}  // namespace
}  // namespace colltune
