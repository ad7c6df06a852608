// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Launches in which any rank may lack any variant: nobody is asked for what it lacks, and who has
// more gets a world of its own.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <random>
#include <set>

#include "colltune/decide/decide.h"
#include "colltune/kernels/composition/composed.h"
#include "colltune/vocabulary/canonical.h"
#include "support/sanitizer.h"
#include "sweep_run.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;

constexpr int variants = 5;

std::string name_of_variant(int variant) { return "variant" + std::to_string(variant); }

/// Those with the same number can meet in one call.
int protocol_of(int variant) { return variant / 2; }

/// Which rank has which variant: has[rank][variant].
struct Availabilities {
  explicit Availabilities(std::mt19937& random)
      : has(static_cast<std::size_t>(std::uniform_int_distribution(2, 8)(random))) {
    // Often few kinds, sometimes each rank another one.
    std::vector<std::array<bool, variants>> kinds(
        static_cast<std::size_t>(std::uniform_int_distribution(1, 4)(random)));
    for (auto& kind : kinds)
      for (bool& one : kind) one = random() % 2 == 0;
    for (auto& rank : has) rank = kinds[random() % kinds.size()];
  }

  [[nodiscard]] int ranks() const { return static_cast<int>(has.size()); }
  [[nodiscard]] bool rank_has(int rank, int variant) const {
    return has[static_cast<std::size_t>(rank)][static_cast<std::size_t>(variant)];
  }
  [[nodiscard]] std::vector<int> ranks_with(int variant) const {
    std::vector<int> with;
    for (int rank = 0; rank < ranks(); ++rank)
      if (rank_has(rank, variant)) with.push_back(rank);
    return with;
  }
  void differ(int rank, Capability& capability) const {
    for (int variant = 0; variant < variants; ++variant)
      if (rank_has(rank, variant)) capability.features[name_of_variant(variant)] = "";
  }

  /// Whether ranks that lack `variant` have another one of its protocol.
  [[nodiscard]] bool has_substitute(int rank, int variant) const {
    for (int other = 0; other < variants; ++other)
      if (protocol_of(other) == protocol_of(variant) && rank_has(rank, other)) return true;
    return false;
  }

  std::vector<std::array<bool, variants>> has;
};

/// The launch's rank of this thread: implementations know only the rank in their world.
thread_local int launch_rank = -1;

Implementations implementations_for(const Availabilities& availabilities) {
  std::vector<fakes::Behaviour> behaviours{{.name = "base", .is_baseline = true}};
  const auto supports = [](int variant) {
    return [variant](const Problem&, const Topology&, const Capability& capability,
                     const Variant&) {
      return capability.has(name_of_variant(variant)) ? Support::yes() : Support::no("lacks it");
    };
  };
  // What groups do inside; never run here.
  for (const Collective inside : {Collective::reduce, Collective::broadcast}) {
    const std::string name(name_of(inside));
    behaviours.push_back({.name = name, .collective = inside, .is_baseline = true});
    for (int variant = 0; variant < variants; ++variant)
      behaviours.push_back({.name = name + std::to_string(variant),
                            .collective = inside,
                            .family = "other",
                            .supports = supports(variant)});
  }
  for (int variant = 0; variant < variants; ++variant)
    behaviours.push_back({.name = name_of_variant(variant),
                          .protocol = "protocol" + std::to_string(protocol_of(variant)),
                          .supports = supports(variant),
                          .at_prepare = [&availabilities, variant](int, int) {
                            if (launch_rank >= 0 && !availabilities.rank_has(launch_rank, variant))
                              ADD_FAILURE()
                                  << "rank " << launch_rank << " was asked for " << variant;
                          }});
  return fakes::make(std::move(behaviours));
}

/// The number of a fake that only some ranks have; nothing for one that all have.
std::optional<int> number_of(const Variant& variant) {
  const char last = variant.implementation.back();
  return last >= '0' && last <= '9' ? std::optional(last - '0') : std::nullopt;
}

/// Inside its group each rank runs what it has, and across any rank may.
void expect_each_group_has_its_parts(const Composition& composition, const PlannedWorld& world,
                                     const Availabilities& availabilities) {
  const Grouping grouping =
      grouping_of(composition, world.members, std::vector<int>(world.ranks.size(), 0));
  ASSERT_GT(group_sizes(grouping.group_of_rank).size(), 1u);
  for (std::size_t i = 0; i < world.ranks.size(); ++i) {
    const auto& [before, after] =
        grouping.inside[static_cast<std::size_t>(grouping.group_of_rank[i])];
    ASSERT_EQ(before.has_value(), after.has_value());
    std::vector<Variant> runs{grouping.bridge};
    if (before) runs.insert(runs.end(), {*before, *after});
    for (const Variant& variant : runs)
      if (const auto number = number_of(variant)) {
        ASSERT_TRUE(availabilities.rank_has(world.ranks[i], *number)) << to_string(variant);
      }
  }
}

/// Each rank of the world runs a variant that it has, all of them of one protocol.
void expect_each_rank_has_its_part(const Composition& composition, const PlannedWorld& world,
                                   const Availabilities& availabilities) {
  std::set<int> protocols;
  for (std::size_t i = 0; i < world.ranks.size(); ++i) {
    const auto kind = static_cast<std::size_t>(world.members.kind_of_rank[i]);
    const Part* const part =
        find_part(composition, PartRole::whole, digest_of_value(world.members.kinds[kind]));
    ASSERT_NE(part, nullptr);
    for (int variant = 0; variant < variants; ++variant)
      if (part->variant.implementation == name_of_variant(variant)) {
        ASSERT_TRUE(availabilities.rank_has(world.ranks[i], variant));
        protocols.insert(protocol_of(variant));
      }
  }
  ASSERT_EQ(protocols.size(), 1u);
}

/// Whatever some ranks have and the others have a substitute for is tried in the whole launch.
void expect_all_substitutions(const SweepPlan& plan, const Availabilities& availabilities) {
  std::set<std::string> tried;
  for (const PlannedVariant& planned : plan.cells.at(0).variants)
    if (planned.composition && planned.composition->mode == CompositionMode::substituted)
      for (const Part& part : planned.composition->parts) tried.insert(part.variant.implementation);
  for (int variant = 0; variant < variants; ++variant) {
    const auto with = availabilities.ranks_with(variant);
    if (with.empty() || with.size() == availabilities.has.size()) continue;
    bool is_possible = true;
    for (int rank = 0; rank < availabilities.ranks(); ++rank)
      is_possible = is_possible && availabilities.has_substitute(rank, variant);
    ASSERT_EQ(tried.contains(name_of_variant(variant)), is_possible) << variant;
  }
}

SweepSpec spec() {
  return {.collectives = {Collective::all_reduce},
          .sizes = parse_sizes("1KiB"),
          .partial_worlds = true,
          .compositions = {CompositionMode::substituted},
          .passes = 1,
          .soak = {.runs = 20},
          .null_test = false};
}

Availability availability_of(const Availabilities& availabilities) {
  std::vector<Capability> ranks(availabilities.has.size());
  for (int rank = 0; rank < availabilities.ranks(); ++rank) {
    Capability& own = ranks[static_cast<std::size_t>(rank)];
    own.architecture = "x";
    availabilities.differ(rank, own);
  }
  return merge_capabilities(ranks, std::vector<int>(ranks.size(), 0));
}

TEST(UnlikeRanks, ThePlanAsksNobodyForWhatItLacks) {
  if (test::has_thread_sanitizer) GTEST_SKIP() << "one thread makes the plans";
  std::mt19937 random(3);
  std::map<CompositionMode, int> composed;
  constexpr int trials = test::has_sanitizer ? 200 : 1000;
  for (int trial = 0; trial < trials; ++trial) {
    const Availabilities availabilities(random);
    const Implementations implementations = implementations_for(availabilities);
    SweepSpec both = spec();
    both.compositions.push_back(CompositionMode::grouped);
    const SweepPlan plan = make_plan(both, availability_of(availabilities), implementations, "e");
    std::set<TuningKey> keys;
    for (const Cell& cell : plan.cells) keys.insert(cell.key);
    ASSERT_EQ(keys.size(), plan.cells.size());
    std::map<std::vector<int>, std::set<std::string>> measured;
    for (const Cell& cell : plan.cells)
      for (const PlannedVariant& planned : cell.variants) {
        const PlannedWorld& world = plan.worlds[static_cast<std::size_t>(cell.world)];
        if (planned.composition) {
          ++composed[planned.composition->mode];
          if (planned.composition->mode == CompositionMode::grouped)
            expect_each_group_has_its_parts(*planned.composition, world, availabilities);
          else
            expect_each_rank_has_its_part(*planned.composition, world, availabilities);
        } else {
          measured[world.ranks].insert(planned.variant.implementation);
        }
      }
    expect_all_substitutions(plan, availabilities);
    for (const auto& [ranks, names] : measured) {
      EXPECT_TRUE(names.contains("base"));
      for (int variant = 0; variant < variants; ++variant)
        ASSERT_EQ(names.contains(name_of_variant(variant)),
                  std::ranges::all_of(
                      ranks, [&](int rank) { return availabilities.rank_has(rank, variant); }));
    }
    // The whole launch; for each variant those who have it, where two do; and those who have the
    // same, whatever they lack.
    std::vector<int> all;
    for (int rank = 0; rank < availabilities.ranks(); ++rank) all.push_back(rank);
    ASSERT_TRUE(measured.contains(all));
    for (int variant = 0; variant < variants; ++variant)
      if (const auto with = availabilities.ranks_with(variant); with.size() > 1) {
        ASSERT_TRUE(measured.contains(with));
      }
    std::map<std::array<bool, variants>, std::vector<int>> alike;
    for (int rank = 0; rank < availabilities.ranks(); ++rank)
      alike[availabilities.has[static_cast<std::size_t>(rank)]].push_back(rank);
    for (const auto& [has, ranks] : alike)
      if (ranks.size() > 1) {
        ASSERT_TRUE(measured.contains(ranks));
      }
  }
  EXPECT_GT(composed[CompositionMode::substituted], trials);
  EXPECT_GT(composed[CompositionMode::grouped], trials);
}

TEST(UnlikeRanks, TheSweepMeasuresEachWorldWithWhatItsRanksHave) {
  std::mt19937 random(4);
  std::ptrdiff_t compositions = 0;
  constexpr int trials = test::has_thread_sanitizer ? 2 : 8;
  for (int trial = 0; trial < trials; ++trial) {
    const Availabilities availabilities(random);
    const Implementations implementations = implementations_for(availabilities);
    fakes::SweepRun run;
    run.differ = [&](int rank, Capability& capability) {
      launch_rank = rank;
      availabilities.differ(rank, capability);
    };
    fakes::sweep(run, availabilities.ranks(), implementations, spec());
    for (const auto& error : run.errors) EXPECT_EQ(error, "");
    EXPECT_THAT(run.ends, ::testing::Each(SweepEnd::complete));
    ASSERT_EQ(run.journal.plans.size(), 1u);
    EXPECT_EQ(run.outcome.measurements.size(), count_trials(run.journal.plans[0]));
    for (const Measurement& one : run.outcome.measurements) {
      EXPECT_EQ(one.outcome, Outcome::ok) << to_string(one.variant) << ": " << one.detail;
      EXPECT_EQ(one.ranks_ran, one.key.topology.ranks);
    }
    compositions += std::ranges::count_if(run.outcome.measurements, [](const Measurement& one) {
      return !parts_named_by(one.variant).empty();
    });
    // What the whole launch is told to run, each of its ranks has.
    for (const Decision& decision : decide(run.outcome.measurements, {}, "s")) {
      if (decision.key.topology.ranks != availabilities.ranks()) continue;
      for (const RankedVariant& ranked : decision.ranked)
        for (int variant = 0; variant < variants; ++variant)
          if (ranked.variant.implementation == name_of_variant(variant)) {
            EXPECT_EQ(availabilities.ranks_with(variant).size(), availabilities.has.size());
          }
    }
  }
  EXPECT_GT(compositions, 0);
}

}  // namespace
}  // namespace colltune
