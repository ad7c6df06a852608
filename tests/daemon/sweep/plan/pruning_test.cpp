// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/plan/pruning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "earlier_times.h"
#include "fakes.h"
#include "plan_fixture.h"

namespace colltune {
namespace {

using std::chrono::nanoseconds;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using namespace std::chrono_literals;

PlannedVariant variant(const std::string& name, std::optional<Forecast> forecast = {},
                       const std::string& family = "f") {
  return {.variant = parse_variant(name), .family = family, .forecast = forecast};
}

/// Within 10 % of `time`.
Forecast about(nanoseconds time) {
  return {.time = time, .low = time * 9 / 10, .high = time * 11 / 10};
}

PlannedVariant baseline(std::optional<Forecast> forecast = {}) {
  PlannedVariant base = variant("base", forecast);
  base.is_baseline = true;
  return base;
}

Cell cell_of(std::vector<PlannedVariant> variants, std::uint64_t bytes = 1024) {
  return {.key = literals::key(bytes), .variants = std::move(variants)};
}

TEST(Forecasts, OrderTheVariantsBehindTheBaseline) {
  std::vector<PlannedVariant> variants{variant("unknown"),        variant("b", about(20us)),
                                       variant("unknown.too"),    variant("c", about(30us)),
                                       baseline(about(1ms)),      variant("a", about(10us)),
                                       variant("b2", about(20us))};
  order_by_forecast(variants);
  EXPECT_THAT(names(cell_of(variants)),
              ElementsAre("base", "a", "b", "b2", "c", "unknown", "unknown.too"));
}

TEST(Pruning, TakesWhatLiesWhollyAboveThreeTimesTheBest) {
  // The best may take 11 us: what takes 33 us or more is hopeless, and 36 us is 32.4 us at the
  // least.
  const Cell cell =
      cell_of({baseline(about(1ms)), variant("best", about(10us)), variant("near", about(36us)),
               variant("far", about(37us)), variant("unknown"), variant("farther", about(1s))});
  EXPECT_THAT(hopeless_variants(cell), ElementsAre(3u, 5u));
}

TEST(Pruning, LeavesTheBestOfEachFamilyAndNumericClass) {
  PlannedVariant exact = variant("exact", about(1ms));
  exact.numeric_class = NumericClass::rank_order;
  const Cell cell = cell_of({baseline(), variant("best", about(10us)), exact,
                             variant("other", about(1ms), "g"), variant("worse", about(5ms), "g")});
  EXPECT_THAT(hopeless_variants(cell), ElementsAre(4u));
}

TEST(Pruning, WithoutForecastsNothingIsHopeless) {
  EXPECT_THAT(hopeless_variants(cell_of({baseline(), variant("a"), variant("b")})), IsEmpty());
  EXPECT_THAT(hopeless_variants(cell_of({baseline(), variant("a", about(1s)), variant("b")})),
              IsEmpty());
}

/// `cells` keys, each with one good variant and `hopeless` ones.
SweepPlan plan_of(std::size_t cells, int hopeless, std::uint64_t seed = 1) {
  SweepPlan plan{.seed = seed};
  for (std::size_t i = 0; i < cells; ++i) {
    std::vector<PlannedVariant> variants{baseline(), variant("good", about(10us))};
    for (int k = 0; k < hopeless; ++k)
      variants.push_back(variant("bad" + std::to_string(k), about(1ms)));
    plan.cells.push_back(cell_of(std::move(variants), 1024 << i));
  }
  return plan;
}

std::set<std::string> audited(const SweepPlan& plan) {
  std::set<std::string> all;
  for (const Cell& cell : plan.cells)
    for (const PlannedVariant& planned : cell.variants)
      if (planned.is_audit)
        all.insert(std::to_string(cell.key.problem.message_size.value) + " " +
                   to_string(planned.variant));
  return all;
}

TEST(Pruning, AuditsOneInTwentyAndAtLeastOne) {
  for (const auto& [hopeless, expected] :
       {std::pair(1, 1), std::pair(2, 1), std::pair(10, 2), std::pair(11, 3)}) {
    SweepPlan plan = plan_of(4, hopeless);
    prune(plan);
    const auto all = static_cast<std::size_t>(4 * hopeless);
    const auto measured = static_cast<std::size_t>(expected);
    EXPECT_EQ(plan.pruned, all);
    EXPECT_EQ(audited(plan).size(), measured);
    EXPECT_EQ(plan.skipped.size(), all - measured);
    EXPECT_EQ(count_trials(plan), 8 + measured);
    for (const Cell& cell : plan.cells) EXPECT_EQ(names(cell)[1], "good");
    for (const Skipped& skipped : plan.skipped)
      EXPECT_EQ(skipped.reason,
                "pruned: predicted to take 900 us at least, and another of its family 11 us at "
                "most");
  }
}

TEST(Pruning, APlanThatIsShownSaysWhatIsPruned) {
  SweepPlan plan = plan_of(1, 2);
  plan.worlds.resize(1);
  EXPECT_THAT(render_plan(plan), Not(HasSubstr("pruned")));
  prune(plan);
  const std::string text = render_plan(plan);
  EXPECT_THAT(text, HasSubstr("*** pruned, but measured to see whether that was right"));
  EXPECT_THAT(text,
              HasSubstr("\nPruned by predicted times: 2 trials, 1 of them measured as an audit\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("good bad[01]\\*\\*\\*"));
  EXPECT_THAT(text, ::testing::ContainsRegex("bad[01]: pruned: predicted to take 900 us"));
}

TEST(Pruning, TheAuditIsDrawnBySeedAndKeyAlone) {
  SweepPlan plan = plan_of(4, 20);
  SweepPlan again = plan_of(4, 20);
  std::swap(again.cells[0], again.cells[3]);
  prune(plan);
  prune(again);
  EXPECT_EQ(audited(plan), audited(again));
  std::set<std::set<std::string>> draws;
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    SweepPlan other = plan_of(4, 20, seed);
    prune(other);
    draws.insert(audited(other));
  }
  EXPECT_GT(draws.size(), 1u);
}

TEST(Pruning, HeldOutCellsKeepAll) {
  SweepPlan plan = plan_of(1, 5);
  plan.cells[0].is_holdout = true;
  const SweepPlan before = plan;
  prune(plan);
  EXPECT_EQ(plan, before);
}

TEST(Pruning, TheAuditSaysWhatWouldHaveWon) {
  SweepPlan plan = plan_of(1, 1);
  prune(plan);
  const Cell& cell = plan.cells[0];
  std::vector<Measurement> measured{literals::trial({.variant = "base"}, cell.key),
                                    literals::trial({.variant = "good"}, cell.key)};
  Decision decision{.key = cell.key, .family = std::string(any_family)};
  decision.ranked = {{.variant = parse_variant("good")}};
  EXPECT_EQ(describe(audit_pruning(plan, measured, {&decision, 1})),
            "pruning: by their predicted times 1 trials are hopeless; 1 of them were planned as an "
            "audit, 0 with a result; nothing is known of them\n");
  measured.push_back(literals::trial({.variant = "bad0"}, cell.key));
  EXPECT_THAT(describe(audit_pruning(plan, measured, {&decision, 1})),
              HasSubstr("; none would have won\n"));
  decision.ranked = {{.variant = parse_variant("bad0")}};
  std::vector<Decision> decisions{decision, decision};
  decisions[1].family = "f";
  const PruningAudit audit = audit_pruning(plan, measured, decisions);
  EXPECT_EQ(audit.pruned, 1u);
  EXPECT_EQ(audit.measured, 1u);
  ASSERT_EQ(audit.wins.size(), 1u);
  EXPECT_EQ(to_string(audit.wins[0].variant), "bad0");
  EXPECT_THAT(describe(audit), HasSubstr("1 would have won"));
  EXPECT_THAT(describe(audit), HasSubstr("  bad0 of all_reduce"));
  // A family alone is named.
  decisions.erase(decisions.begin());
  EXPECT_THAT(describe(audit_pruning(plan, measured, decisions)), HasSubstr(", in family f"));
  EXPECT_EQ(describe(PruningAudit{}), "");
}

// ---- plans ------------------------------------------------------------------------------------

Implementations some() {
  return fakes::make({{.name = "base", .is_baseline = true},
                      {.name = "slow"},
                      {.name = "quick"},
                      {.name = "new"}});
}

std::vector<Measurement> earlier(const Implementations& implementations, const std::string& sizes) {
  std::vector<Measurement> measured =
      fakes::earlier_times(make_plan(spec_of(sizes), launch(1, 2), implementations, "e"),
                           [](const std::string& name) { return name == "slow" ? 1e6 : 1e4; });
  std::erase_if(measured, [](const Measurement& one) { return to_string(one.variant) == "new"; });
  return measured;
}

TEST(PlansByModels, AreOrderedWhereNeighboursWereMeasured) {
  const Implementations implementations = some();
  const std::vector<Measurement> measured = earlier(implementations, "1KiB,4KiB");
  const auto planned_at = [&](const std::string& size, const std::string& environment) {
    return make_plan(spec_of(size), launch(1, 2), implementations, environment,
                     {.measured = measured})
        .cells.at(0);
  };
  for (const char* const size : {"1KiB", "2KiB", "4KiB"}) {
    const Cell cell = planned_at(size, "e");
    EXPECT_THAT(names(cell), ElementsAre("base", "quick", "slow", "new")) << size;
    ASSERT_TRUE(cell.variants[1].forecast);
    EXPECT_NEAR(static_cast<double>(cell.variants[1].forecast->time.count()), 1e4, 1e3) << size;
    EXPECT_LE(cell.variants[1].forecast->low, cell.variants[1].forecast->time);
    EXPECT_GE(cell.variants[1].forecast->high, cell.variants[1].forecast->time);
    EXPECT_FALSE(cell.variants[3].forecast);
  }
  // Beyond what was measured, and elsewhere, the models say nothing.
  for (const auto& [size, environment] :
       {std::pair("512", "e"), std::pair("8KiB", "e"), std::pair("2KiB", "another")}) {
    const Cell cell = planned_at(size, environment);
    EXPECT_THAT(names(cell), ElementsAre("base", "slow", "quick", "new"));
    for (const PlannedVariant& planned : cell.variants) EXPECT_FALSE(planned.forecast);
  }
}

TEST(PlansByModels, ArePrunedIfTheConfigurationSaysSo) {
  const Implementations implementations = some();
  const std::vector<Measurement> measured = earlier(implementations, "1KiB,64KiB");
  SweepSpec spec = spec_of("2KiB,4KiB,8KiB");
  const auto plan = [&] {
    return make_plan(spec, launch(1, 2), implementations, "e", {.measured = measured});
  };
  EXPECT_EQ(count_trials(plan()), 12u);
  EXPECT_EQ(plan().pruned, 0u);
  spec.prune = true;
  const SweepPlan pruned = plan();
  EXPECT_EQ(pruned.pruned, 3u);
  EXPECT_EQ(count_trials(pruned), 10u);
  EXPECT_EQ(pruned.skipped.size(), 2u);
  EXPECT_EQ(plan(), pruned);
  EXPECT_THAT(render_plan(pruned), HasSubstr("pruned: predicted to take"));
}

TEST(PlansByModels, AllRanksGetRankZerosPlan) {
  const Implementations implementations = some();
  const std::vector<Measurement> measured = earlier(implementations, "1KiB,64KiB");
  SweepSpec spec = spec_of("2KiB,4KiB,8KiB");
  spec.prune = true;
  const SweepPlan expected =
      make_plan(spec, launch(1, 3), implementations, "e", {.measured = measured});
  std::vector<SweepPlan> plans(3);
  fakes::on_ranks(3, 10s, [&](ControlPlane& control, Communicator&) {
    const bool is_first = control.rank() == 0;
    plans[static_cast<std::size_t>(control.rank())] =
        share_plan(control, is_first ? spec : SweepSpec{}, launch(1, 3), implementations, "e",
                   {.measured = is_first ? std::span<const Measurement>(measured)
                                         : std::span<const Measurement>()});
  });
  for (const SweepPlan& plan : plans) EXPECT_EQ(plan, expected);
}

}  // namespace
}  // namespace colltune
