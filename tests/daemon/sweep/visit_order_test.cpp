// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "passes/visit_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "trials.h"

namespace colltune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;

/// Cells of small messages, each with the same variants: the first one is the baseline.
SweepPlan plan_of(std::size_t cells, int passes,
                  const std::vector<std::string>& variants = {"base", "b"}) {
  SweepPlan plan;
  plan.passes = passes;
  for (std::size_t i = 0; i < cells; ++i) {
    Cell cell{.key = literals::key(8), .variants = {}};
    cell.key.environment_digest = "env " + std::to_string(i);
    for (const std::string& variant : variants)
      cell.variants.push_back({.variant = parse_variant(variant),
                               .family = "mpi",
                               .is_baseline = variant == variants.front()});
    plan.cells.push_back(std::move(cell));
  }
  return plan;
}

/// What a visit brings where all variants are equally fast.
std::vector<Measurement> measure(const SweepPlan& plan, const Visit& visit) {
  std::vector<Measurement> measured;
  const Cell& cell = plan.cells[visit.cell];
  for (std::size_t i = 0; i < cell.variants.size(); ++i) {
    if (!visit.variants.empty() && std::ranges::find(visit.variants, i) == visit.variants.end())
      continue;
    const PlannedVariant& variant = cell.variants[i];
    measured.push_back(literals::trial({.variant = to_string(variant.variant),
                                        .is_baseline = variant.is_baseline,
                                        .family = variant.family},
                                       cell.key));
    measured.back().pass = visit.pass;
    measured.back().is_holdout = cell.is_holdout;
  }
  return measured;
}

/// Shares in ms of the visits, each of which takes what it was given.
std::vector<int> shares_of(const SweepPlan& plan, nanoseconds budget) {
  VisitOrder order(plan, {});
  std::vector<int> shares;
  while (const auto visit = order.next(budget)) {
    shares.push_back(static_cast<int>(std::chrono::round<milliseconds>(visit->allotment).count()));
    budget -= visit->allotment;
    order.keep(*visit, measure(plan, *visit), {});
    if (shares.size() == plan.cells.size() * static_cast<std::size_t>(plan.passes)) break;
  }
  return shares;
}

TEST(VisitOrder, TheFirstPassGetsAQuarterAndTheOthersShareTheRest) {
  EXPECT_THAT(shares_of(plan_of(2, 3), 1600ms), ElementsAre(200, 200, 300, 300, 300, 300));
  EXPECT_THAT(shares_of(plan_of(2, 5), 1600ms),
              ElementsAre(200, 200, 150, 150, 150, 150, 150, 150, 150, 150));
  EXPECT_THAT(shares_of(plan_of(4, 1), 1000ms), ElementsAre(250, 250, 250, 250));
}

TEST(VisitOrder, SeveralFullPassesGetHalfTogether) {
  SweepPlan plan = plan_of(1, 4);
  plan.full_passes = 2;
  EXPECT_THAT(shares_of(plan, 1600ms), ElementsAre(400, 400, 400, 400));
  plan.passes = 3;
  EXPECT_THAT(shares_of(plan, 1600ms), ElementsAre(400, 400, 800));
  plan.full_passes = 3;
  EXPECT_THAT(shares_of(plan, 1500ms), ElementsAre(500, 500, 500));
}

TEST(VisitOrder, ACellsShareFollowsItsVariantsAndItsMessage) {
  SweepPlan plan = plan_of(2, 1);
  plan.cells[1].variants.resize(1);
  EXPECT_THAT(shares_of(plan, 900ms), ElementsAre(600, 300));
  plan = plan_of(2, 1);
  plan.cells[1].key.problem.message_size = {30'000};  // 0.3 ms more than 4 for each variant
  EXPECT_THAT(shares_of(plan, 830ms), ElementsAre(400, 430));
  // 8 ms more, four times that with the runs that take the buffers over.
  plan.cells[1].key.problem.message_size = {800'000};
  EXPECT_THAT(shares_of(plan, 800ms), ElementsAre(80, 720));
  plan.cells[1].key.problem.message_size = {400'000'000};  // of which there are none
  EXPECT_THAT(shares_of(plan, 4016ms), ElementsAre(4, 4012));
}

TEST(VisitOrder, ACellsShareFollowsItsWeightWithinLimits) {
  SweepPlan plan = plan_of(2, 1);
  plan.cells[0].weight = 3;
  EXPECT_THAT(shares_of(plan, 800ms), ElementsAre(600, 200));
  // A quarter of the mean at least, four times the mean at most.
  plan.cells[0].weight = 1e18;
  EXPECT_THAT(shares_of(plan, 900ms), ElementsAre(800, 100));
  plan = plan_of(11, 1);
  plan.cells[0].weight = 1000;
  EXPECT_THAT(shares_of(plan, 650ms), ElementsAre(400, 25, 25, 25, 25, 25, 25, 25, 25, 25, 25));
  // What is alike, however large, changes nothing.
  plan = plan_of(2, 3);
  for (Cell& cell : plan.cells) cell.weight = 7e9;
  EXPECT_THAT(shares_of(plan, 1600ms), ElementsAre(200, 200, 300, 300, 300, 300));
}

TEST(VisitOrder, WeightsChangeSharesInEveryPassAndNotItsSum) {
  SweepPlan plan = plan_of(2, 3);
  plan.cells[0].weight = 3;
  EXPECT_THAT(shares_of(plan, 1600ms), ElementsAre(300, 100, 450, 150, 450, 150));
}

TEST(VisitOrder, WhatAVisitCostsDoesNotDependOnItsWeight) {
  // As ACellThatDoesNotFitGivesWay: the first visit matters eight times as much as the second.
  SweepPlan plan = plan_of(3, 1);
  plan.cells[0].weight = 8;
  plan.cells[1].key.problem.message_size = {500'000};  // six times the cost
  VisitOrder order(plan, {});
  order.keep(*order.next(1000ms), {}, 50ms);
  EXPECT_EQ(order.next(300ms)->cell, 1u);
  EXPECT_EQ(order.next(299ms)->cell, 2u);
  EXPECT_EQ(order.next(49ms), std::nullopt);
}

TEST(VisitOrder, WhatAVisitSavesTheOthersGet) {
  const SweepPlan plan = plan_of(2, 2);
  VisitOrder order(plan, {});
  const auto first = order.next(1600ms);
  ASSERT_EQ(first, (Visit{.cell = 0, .pass = 0, .allotment = 200ms}));
  order.keep(*first, measure(plan, *first), {});
  // All but 130 ms are left for an eighth and three quarters.
  EXPECT_EQ(order.next(1470ms)->allotment, 210ms);
}

TEST(VisitOrder, WithoutABudgetThereAreNoShares) {
  const SweepPlan plan = plan_of(1, 2);
  VisitOrder order(plan, {});
  EXPECT_EQ(order.next({}), (Visit{.cell = 0, .pass = 0}));
}

TEST(VisitOrder, FurtherPassesAreForContenders) {
  const SweepPlan plan = plan_of(2, 2, {"base", "slow", "b"});
  VisitOrder order(plan, {});
  for (std::size_t cell = 0; cell < 2; ++cell) {
    const auto visit = order.next({});
    ASSERT_EQ(visit, (Visit{.cell = cell, .pass = 0}));
    auto measured = measure(plan, *visit);
    for (auto& sample : measured[1].samples) sample *= 9;
    if (cell == 1) measured[2].outcome = Outcome::failed;
    EXPECT_EQ(order.visits_left(), 4 - cell);
    order.keep(*visit, measured, {});
  }
  EXPECT_TRUE(order.has_met_all_cells());
  for (std::size_t cell = 0; cell < 2; ++cell) {
    const auto visit = order.next({});
    ASSERT_TRUE(visit);
    EXPECT_EQ(visit->pass, 1);
    EXPECT_EQ(visit->variants,
              cell == 0 ? (std::vector<std::size_t>{0, 2}) : (std::vector<std::size_t>{0}));
    order.keep(*visit, measure(plan, *visit), {});
  }
  EXPECT_EQ(order.next({}), std::nullopt);
  EXPECT_EQ(order.visits_left(), 0u);
  EXPECT_EQ(order.visits_done(), 4u);
}

TEST(VisitOrder, InAFullPassAllRunThatWereOk) {
  SweepPlan plan = plan_of(1, 3, {"base", "slow", "failing", "b"});
  plan.full_passes = 2;
  VisitOrder order(plan, {});
  std::vector<std::vector<std::size_t>> ran;
  while (const auto visit = order.next({})) {
    ran.push_back(visit->variants);
    auto measured = measure(plan, *visit);
    for (Measurement& one : measured) {
      if (to_string(one.variant) == "slow")
        for (auto& sample : one.samples) sample *= 90;
      if (to_string(one.variant) == "failing") one.outcome = Outcome::failed;
    }
    order.keep(*visit, measured, {});
  }
  EXPECT_THAT(ran, ElementsAre(IsEmpty(), ElementsAre(0u, 1u, 3u), ElementsAre(0u, 3u)));
}

TEST(VisitOrder, WhereNothingWorksThereIsNoFurtherVisit) {
  const SweepPlan plan = plan_of(1, 3);
  VisitOrder order(plan, {});
  const auto visit = order.next({});
  auto measured = measure(plan, *visit);
  for (Measurement& one : measured) one.outcome = Outcome::failed;
  order.keep(*visit, measured, {});
  EXPECT_EQ(order.next({}), std::nullopt);
  EXPECT_TRUE(order.has_met_all_cells());
}

TEST(VisitOrder, HeldOutCellsTakePartInTheFirstPassAlone) {
  SweepPlan plan = plan_of(2, 2);
  plan.cells[1].is_holdout = true;
  EXPECT_THAT(shares_of(plan, 1200ms), ElementsAre(150, 150, 900));
}

TEST(VisitOrder, VisitsThatAreStoredAreNotMadeAgain) {
  const SweepPlan plan = plan_of(2, 2, {"base", "slow", "b"});
  std::vector<Measurement> stored;
  for (const Visit& visit : {Visit{.cell = 0}, Visit{.cell = 1}, Visit{.cell = 0, .pass = 1}})
    for (Measurement& one : measure(plan, visit)) {
      if (to_string(one.variant) == "slow")
        for (auto& sample : one.samples) sample *= 9;
      stored.push_back(std::move(one));
    }
  VisitOrder order(plan, stored);
  EXPECT_EQ(order.visits_done(), 3u);
  // Who goes on follows from what is stored, as it would have without the interruption.
  EXPECT_EQ(order.next({}), (Visit{.cell = 1, .pass = 1, .variants = {0, 2}}));
  order.keep(*order.next({}), {}, {});
  EXPECT_EQ(order.next({}), std::nullopt);
  EXPECT_EQ(order.take_all(), stored);
}

TEST(VisitOrder, ACellThatDoesNotFitGivesWay) {
  SweepPlan plan = plan_of(3, 1);
  plan.cells[1].key.problem.message_size = {500'000};  // six times the weight
  VisitOrder order(plan, {});
  const auto first = order.next(1000ms);
  order.keep(*first, {}, 50ms);
  EXPECT_EQ(order.next(300ms)->cell, 1u);
  EXPECT_EQ(order.next(299ms)->cell, 2u);  // the second would take 300 to prepare
  EXPECT_EQ(order.next(49ms), std::nullopt);
  EXPECT_EQ(order.next(0ms), std::nullopt);
  EXPECT_FALSE(order.has_met_all_cells());
}

TEST(VisitOrder, APassThatWouldBeMostlyPreparationIsLeftOut) {
  // The first visit shows that to prepare one takes 100 ms, a pass of four 400.
  const auto visits_with = [](nanoseconds budget) {
    const SweepPlan plan = plan_of(4, 4);
    VisitOrder order(plan, {});
    int visits = 0;
    while (const auto visit = order.next(budget)) {
      order.keep(*visit, measure(plan, *visit), 100ms);
      budget -= visit->allotment;
      ++visits;
    }
    return visits;
  };
  EXPECT_EQ(visits_with(3300ms), 16);  // three more passes of 800 ms, half of each for rounds
  EXPECT_EQ(visits_with(2300ms), 12);
  EXPECT_EQ(visits_with(1100ms), 8);
  EXPECT_EQ(visits_with(1000ms), 4);  // all for the first one
}

TEST(VisitOrder, WhereNoFullPassFitsContendersGoOn) {
  std::vector<std::string> variants{"base", "b"};
  while (variants.size() < 60) variants.push_back("slow" + std::to_string(variants.size()));
  SweepPlan plan = plan_of(1, 3, variants);
  plan.full_passes = 3;
  // To prepare all takes 6 s, two contenders 0.2; half of what is left may be spent on that.
  const auto runners_with = [&](nanoseconds left) {
    VisitOrder order(plan, {});
    std::vector<std::size_t> runners;
    while (const auto visit = order.next(left)) {
      runners.push_back(visit->variants.empty() ? variants.size() : visit->variants.size());
      auto measured = measure(plan, *visit);
      for (Measurement& one : measured)
        if (to_string(one.variant).starts_with("slow"))
          for (auto& sample : one.samples) sample *= 90;
      order.keep(*visit, measured, visit->pass == 0 ? nanoseconds(6s) : nanoseconds(0));
    }
    return runners;
  };
  EXPECT_THAT(runners_with(6s), ElementsAre(60u, 2u, 2u));
  EXPECT_THAT(runners_with(60s), ElementsAre(60u, 60u, 60u));
}

TEST(VisitOrder, HowManyPassesFitIsFoundOutAgainBeforeEach) {
  // What further visits take is known after the first further pass only: a tenth.
  const SweepPlan plan = plan_of(4, 8);
  VisitOrder order(plan, {});
  nanoseconds left = 2500ms;
  int visits = 0;
  while (const auto visit = order.next(left)) {
    order.keep(*visit, measure(plan, *visit), visit->pass == 0 ? 100ms : 10ms);
    left -= visit->allotment;
    if (++visits == 4) {
      EXPECT_EQ(order.passes(), 3);
    }
  }
  EXPECT_EQ(visits, 32);
}

TEST(VisitOrder, AVariantThatIsNoLongerPlannedDecidesNothing) {
  const SweepPlan before = plan_of(1, 2, {"base", "b", "quarantined"});
  const SweepPlan after = plan_of(1, 2, {"base", "b"});
  const auto stored = measure(before, {.cell = 0});
  VisitOrder order(after, stored);
  const auto known = order.measured(0);
  ASSERT_EQ(known.size(), 2u);
  EXPECT_EQ(to_string(known[0].variant), "base");
  EXPECT_EQ(to_string(known[1].variant), "b");
  EXPECT_EQ(order.next({})->variants, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(order.take_all().size(), 3u);  // it stays in the journal
}

TEST(VisitOrder, WhatIsLeftIsEstimatedByWhatIsDone) {
  const SweepPlan plan = plan_of(2, 2);
  VisitOrder order(plan, {});
  EXPECT_EQ(order.left_over_done(), 0);
  const auto visit = order.next({});
  order.keep(*visit, measure(plan, *visit), {});
  EXPECT_NEAR(order.left_over_done(), 7, 1e-9);  // an eighth is done
}

}  // namespace
}  // namespace colltune
