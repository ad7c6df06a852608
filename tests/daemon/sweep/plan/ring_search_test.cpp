// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/plan/ring_search.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/vocabulary/error.h"
#include "earlier_times.h"
#include "plan_fixture.h"

namespace colltune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr std::int64_t KiB = 1024;
constexpr std::int64_t MiB = 1024 * KiB;

TuningKey key_of(std::int64_t bytes, int ranks, const std::string& architecture = "x86_64") {
  TuningKey key;
  key.problem.message_size = {static_cast<std::uint64_t>(bytes)};
  key.topology = {
      .ranks_per_node = ranks, .ranks = ranks, .architectures = {{architecture, ranks}}};
  return key;
}

TEST(RingStart, IsWhatTheRulesSay) {
  // 512 KiB in flight, cut into 2 chunks of each of 4 shards: two waves of the message.
  EXPECT_EQ(ring_start(key_of(4 * MiB, 4), "cpu.all_reduce_ring"),
            (RingPoint{.chunk = 256 * KiB, .slots = 2}));
  // Less than 32 KiB of a rank are one chunk.
  EXPECT_EQ(ring_start(key_of(64 * KiB, 4), "cpu.all_reduce_ring"),
            (RingPoint{.chunk = 64 * KiB, .slots = 1}));
  // A GPU's chunk is of a shard, and its bandwidth-delay product the architecture's.
  EXPECT_EQ(ring_start(key_of(32 * MiB, 8, "sm_90"), "cuda.all_reduce_ring"),
            (RingPoint{.chunk = 2 * MiB, .slots = 2}));
}

const std::vector<RingPoint> grid{
    {.chunk = 16 * KiB, .slots = 4},  {.chunk = 16 * KiB, .slots = 8},
    {.chunk = 64 * KiB, .slots = 4},  {.chunk = 64 * KiB, .slots = 8},
    {.chunk = 256 * KiB, .slots = 2}, {.chunk = 256 * KiB, .slots = 4},
    {.chunk = 0, .slots = 4}};

TEST(RingSearch, StartsNextToTheStartAndMovesDownhill) {
  RingSearch search(grid, {.chunk = 100 * KiB, .slots = 4}, 4 * MiB);
  EXPECT_EQ(search.next(), (RingPoint{.chunk = 64 * KiB, .slots = 4}));
  EXPECT_THAT(search.neighbours(),
              ElementsAre(RingPoint{16 * KiB, 4}, RingPoint{256 * KiB, 4}, RingPoint{64 * KiB, 8},
                          RingPoint{16 * KiB, 8}, RingPoint{256 * KiB, 2}));
  search.keep({64 * KiB, 4}, 10);
  EXPECT_EQ(search.next(), (RingPoint{16 * KiB, 4}));
  search.keep({16 * KiB, 4}, 20);
  EXPECT_EQ(search.centre(), (RingPoint{64 * KiB, 4}));
  search.keep({256 * KiB, 4}, 8);
  EXPECT_EQ(search.centre(), (RingPoint{256 * KiB, 4}));
  // Everything in one is the largest chunk.
  EXPECT_EQ(search.next(), (RingPoint{0, 4}));
  search.keep({0, 4}, 9);
  EXPECT_EQ(search.next(), (RingPoint{256 * KiB, 2}));
  search.keep({256 * KiB, 2}, 9);
  EXPECT_EQ(search.next(), (RingPoint{64 * KiB, 8}));
  search.keep({64 * KiB, 8}, 11);
  EXPECT_EQ(search.next(), std::nullopt);
  EXPECT_EQ(search.centre(), (RingPoint{256 * KiB, 4}));
}

TEST(RingSearch, WhatIsNotOfTheGridIsAnError) {
  EXPECT_THROW(RingSearch({}, {}, 1), Error);
  RingSearch search(grid, {}, 4 * MiB);
  EXPECT_THROW(search.keep({.chunk = 1, .slots = 1}, 1), Error);
}

// ---- planted machines -------------------------------------------------------------------------

RingPoint point_of(const Variant& variant) {
  return {.chunk = number(variant, "chunk"), .slots = number(variant, "slots")};
}

/// What decides the best setting of a ring of processors: waves that are too small pay for being
/// handed over, too large ones for filling the ring, and what is in flight beyond the cache for
/// memory.
struct Machine {
  double ns_per_byte = 0.1;
  double hand_over = 400;  ///< ns for each wave and step
  double cache = 1 << 20;
  double beyond_cache = 0.6;  ///< so much slower
};

double time_of(const Machine& machine, const Variant& variant, std::int64_t message, int ranks,
               std::uint64_t noise) {
  const RingPoint point = point_of(variant);
  const auto bytes = static_cast<double>(message);
  const double wave = point.chunk > 0 ? std::min(static_cast<double>(point.chunk), bytes) : bytes;
  const double waves = std::ceil(bytes / wave);
  // Both ways at once halve the rounds of the second half, and share the memory.
  const bool both = word(variant, "ways") == "both";
  const double steps = (both ? 1.5 : 2) * (ranks - 1);
  const double in_flight = wave * std::min(static_cast<double>(point.slots), waves);
  const double spilt = std::clamp(in_flight / machine.cache - 1, 0.0, 1.0);
  const double rate = machine.ns_per_byte * (1 + machine.beyond_cache * spilt);
  // Few slots make neighbours wait for each other.
  const double waiting = 1 + 0.4 / static_cast<double>(point.slots);
  const double of_wave = machine.hand_over + wave / ranks * rate * (both ? 1.1 : 1);
  const double time = (waves - 1) * of_wave * waiting + steps * of_wave;
  return time * (1 + 0.01 * std::sin(static_cast<double>(noise)));
}

std::vector<Variant> variants_of(const TuningKey& key) {
  static const Implementations catalogue = make_host_catalogue();
  const Implementation* const ring = find_implementation(catalogue, "cpu.all_reduce_ring");
  if (ring == nullptr) return {};
  return ring->variants(key.problem, key.topology, able());
}

TEST(RingSearch, FromTheRulesFindsAsGoodASettingWithHalfTheTrials) {
  std::size_t all_trials = 0;
  std::size_t trials = 0;
  double worst = 1;
  std::uint64_t noise = 0;
  for (const int ranks : {3, 4, 8, 16})
    for (const std::int64_t message : {256 * KiB, MiB, 4 * MiB, 16 * MiB, 64 * MiB, 256 * MiB}) {
      const TuningKey key = key_of(message, ranks);
      const std::vector<Variant> variants = variants_of(key);
      ASSERT_FALSE(variants.empty());
      std::vector<RingPoint> grid_here;
      for (const Variant& variant : variants)
        if (word(variant, "ways") == word(variants.front(), "ways") &&
            word(variant, "stores") == word(variants.front(), "stores"))
          grid_here.push_back(point_of(variant));
      for (const double cache : {512.0 * KiB, 1.0 * MiB, 2.0 * MiB})
        for (const double hand_over : {200.0, 500.0, 1500.0}) {
          const Machine machine{.hand_over = hand_over, .cache = cache};
          std::vector<double> times;
          for (const Variant& variant : variants)
            times.push_back(time_of(machine, variant, message, ranks, ++noise));
          const auto time_at = [&](const RingPoint& point, std::size_t skipped) {
            for (std::size_t i = 0; i < variants.size(); ++i)
              if (point_of(variants[i]) == point && skipped-- == 0) return times[i];
            ADD_FAILURE() << "no such variant";
            return 0.0;
          };
          RingSearch search(grid_here, ring_start(key, "cpu.all_reduce_ring"),
                            static_cast<std::uint64_t>(message));
          // The other settings that are best at the start are searched with.
          std::size_t leading = 0;
          for (std::size_t other = 1; other < variants.size() / grid_here.size(); ++other, ++trials)
            if (time_at(search.centre(), other) < time_at(search.centre(), leading))
              leading = other;
          while (const auto next = search.next()) {
            search.keep(*next, time_at(*next, leading));
            ++trials;
          }
          const double found = time_at(search.centre(), leading);
          all_trials += variants.size();
          worst = std::max(worst, found / std::ranges::min(times));
        }
    }
  EXPECT_LE(2 * trials, all_trials) << trials << " of " << all_trials;
  EXPECT_LE(worst, 1.05);
  RecordProperty("trials", std::to_string(trials) + " of " + std::to_string(all_trials));
  RecordProperty("worst", std::to_string(worst));
}

// ---- plans ------------------------------------------------------------------------------------

class RingPrior : public ::testing::Test {
 protected:
  [[nodiscard]] SweepPlan plan(bool has_prior,
                               const std::vector<Measurement>& measured = {}) const {
    SweepSpec spec = spec_of("4MiB");
    spec.include = {"cpu.all_reduce_ring", "cpu.all_reduce_two_shot"};
    spec.ring_prior = has_prior;
    return make_plan(spec, launch(1, 4), catalogue_, "e", {.measured = measured});
  }
  static std::set<RingPoint> points_of(const SweepPlan& plan) {
    std::set<RingPoint> points;
    for (const PlannedVariant& planned : plan.cells.at(0).variants)
      if (planned.variant.implementation == "cpu.all_reduce_ring" &&
          word(planned.variant, "access") == "staged")
        points.insert(point_of(planned.variant));
    return points;
  }
  static std::size_t others_of(const SweepPlan& plan) {
    return static_cast<std::size_t>(
        std::ranges::count_if(plan.cells.at(0).variants, [](const PlannedVariant& planned) {
          return planned.variant.implementation != "cpu.all_reduce_ring";
        }));
  }

  const Implementations catalogue_ = make_host_catalogue();
};

TEST_F(RingPrior, KeepsTheStartAndItsNeighbours) {
  const SweepPlan all = plan(false);
  const SweepPlan near = plan(true);
  EXPECT_THAT(points_of(near),
              UnorderedElementsAre(RingPoint{256 * KiB, 2}, RingPoint{256 * KiB, 4},
                                   RingPoint{128 * KiB, 4}, RingPoint{128 * KiB, 8},
                                   RingPoint{MiB, 2}, RingPoint{MiB, 4}));
  EXPECT_EQ(others_of(near), others_of(all));
  EXPECT_LE(2 * (count_trials(near) - others_of(near)), count_trials(all) - others_of(all));
  EXPECT_EQ(count_trials(all) - count_trials(near), near.skipped.size() - all.skipped.size());
  EXPECT_THAT(render_plan(near), HasSubstr("ring_prior"));
}

TEST_F(RingPrior, TheNextSweepGoesOnWhereTheLastOneEnded) {
  const auto small_is_fast = [](const std::string& name) {
    return static_cast<double>(number(parse_variant(name), "chunk"));
  };
  const SweepPlan first = plan(true);
  const SweepPlan second = plan(true, fakes::earlier_times(first, small_is_fast));
  EXPECT_THAT(points_of(second),
              UnorderedElementsAre(RingPoint{128 * KiB, 4}, RingPoint{128 * KiB, 8},
                                   RingPoint{64 * KiB, 4}, RingPoint{64 * KiB, 16},
                                   RingPoint{256 * KiB, 4}, RingPoint{256 * KiB, 2}));
}

}  // namespace
}  // namespace colltune
