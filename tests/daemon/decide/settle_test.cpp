// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/settle.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "colltune/decide/decide.h"
#include "simulated_sweeps.h"
#include "support/sanitizer.h"
#include "trials.h"

namespace colltune {
namespace {

using literals::key;
using literals::trial;
using testing::HasSubstr;

struct Speed {
  std::string variant;
  double speedup = 1;
  double own_noise = 0;
};

/// A sweep with the baseline "base" and these.
SweepEvidence sweep(const std::string& uuid, const std::vector<Speed>& rivals, int rounds = 20) {
  SweepEvidence evidence{.sweep_uuid = uuid, .measurements = {}};
  evidence.measurements.push_back(
      trial({.variant = "base", .median = 1e6, .is_baseline = true, .rounds = rounds}));
  for (const Speed& rival : rivals)
    evidence.measurements.push_back(trial({.variant = rival.variant,
                                           .median = 1e6 / rival.speedup,
                                           .own_noise = rival.own_noise,
                                           .rounds = rounds}));
  return evidence;
}

Settled settle_any(const std::vector<Decision>& published,
                   const std::vector<SweepEvidence>& sweeps) {
  const auto settled = settle(published, sweeps, {});
  EXPECT_FALSE(settled.empty());
  EXPECT_EQ(settled.front().decision.family, any_family);
  return settled.front();
}

std::string winner_of(const Settled& settled) {
  return to_string(settled.decision.ranked.front().variant);
}

Decision confirmed(Decision decision, std::uint64_t launches) {
  decision.status = DecisionStatus::confirmed;
  decision.confirmation = {.launches = launches, .speedup = 2, .low = 1.9, .high = 2.1};
  return decision;
}

TEST(Settle, WhatIsNewIsAdded) {
  const Settled first = settle_any({}, {sweep("1", {{"fast", 3.43}})});
  EXPECT_EQ(first.what, Settlement::added);
  EXPECT_EQ(first.decision.verdict, Verdict::displaced);
  EXPECT_EQ(first.decision.sweep_uuid, "1");
}

TEST(Settle, ProvenIsNotReplacedByUndecided) {
  const SweepEvidence good = sweep("1", {{"fast", 3.43}});
  const Settled first = settle_any({}, {good});
  // Two rounds beside a load.
  const SweepEvidence worse = sweep("2", {{"fast", 0.5, 0.9}}, 2);
  ASSERT_EQ(decide(worse.measurements, {}, "2").front().ranked.front().variant,
            parse_variant("base"));
  const Settled second = settle_any({first.decision}, {good, worse});
  EXPECT_EQ(winner_of(second), "fast");
  EXPECT_EQ(second.decision.verdict, Verdict::displaced);
  // Without the earlier measurements, too (they were pruned, or came by an import).
  const Settled alone = settle_any({first.decision}, {worse});
  EXPECT_EQ(alone.what, Settlement::kept);
  EXPECT_EQ(alone.decision, first.decision);
  EXPECT_TRUE(to_publish(std::vector{alone}).empty());
}

TEST(Settle, EvidenceAddsUpOverSweeps) {
  // Six rounds are too few for any bound; of four sweeps they are enough.
  std::vector<SweepEvidence> sweeps;
  std::vector<Decision> published;
  for (const char* uuid : {"1", "2", "3", "4"}) {
    sweeps.push_back(sweep(uuid, {{"fast", 1.5}}, 6));
    published = {settle_any(published, sweeps).decision};
    if (sweeps.size() == 1) {
      EXPECT_EQ(published.front().verdict, Verdict::undecided);
    }
  }
  EXPECT_EQ(published.front().verdict, Verdict::displaced);
  EXPECT_THAT(published.front().reason, HasSubstr("in 4 sweeps"));
}

TEST(Settle, AProvisionalWinnerThatIsNoneIsReplaced) {
  Decision wrong = settle_any({}, {sweep("1", {{"fast", 1.5}})}).decision;
  const Settled settled =
      settle_any({wrong}, {sweep("2", {{"fast", 0.6}}), sweep("3", {{"fast", 0.6}})});
  EXPECT_EQ(settled.what, Settlement::replaced);
  EXPECT_EQ(winner_of(settled), "base");
  EXPECT_THAT(settled.why, HasSubstr("by the evidence of all sweeps"));
}

TEST(Settle, AnotherWinnerMustBeProvenFasterThanTheOldOne) {
  const std::vector<SweepEvidence> before{sweep("1", {{"a", 2.0}, {"b", 1.9}})};
  const Decision old = settle_any({}, before).decision;
  ASSERT_EQ(old.ranked.front().variant, parse_variant("a"));
  auto sweeps = before;
  sweeps.push_back(sweep("2", {{"a", 1.9}, {"b", 2.02}}));
  EXPECT_EQ(winner_of(settle_any({old}, sweeps)), "a");
  std::vector<SweepEvidence> later;
  for (const char* uuid : {"3", "4"}) later.push_back(sweep(uuid, {{"a", 2}, {"b", 3}}));
  const Settled settled = settle_any({old}, later);
  EXPECT_EQ(winner_of(settled), "b");
  EXPECT_EQ(settled.what, Settlement::replaced);
}

TEST(Settle, ConfirmedIsNotReplacedByOneSweepThatDisagrees) {
  const std::vector<SweepEvidence> before{sweep("1", {{"a", 2.0}, {"b", 1.5}})};
  const Decision old = confirmed(settle_any({}, before).decision, 5);
  auto sweeps = before;
  sweeps.push_back(sweep("2", {{"a", 0.5}, {"b", 3}}));
  const Settled settled = settle_any({old}, sweeps);
  EXPECT_EQ(settled.what, Settlement::kept);
  EXPECT_EQ(settled.decision, old);
  EXPECT_THAT(settled.why, HasSubstr("confirmed by 5 launches; 1 sweep(s) compare it with"));
  // As many sweeps as launches.
  for (const char* uuid : {"3", "4", "5", "6"})
    sweeps.push_back(sweep(uuid, {{"a", 0.5}, {"b", 3}}));
  const Settled contradicted = settle_any({old}, sweeps);
  EXPECT_EQ(contradicted.what, Settlement::replaced);
  EXPECT_EQ(winner_of(contradicted), "b");
  EXPECT_EQ(contradicted.decision.status, DecisionStatus::provisional);
}

TEST(Settle, AWinnerThatIsWrongDoesNotStayHoweverConfirmed) {
  const SweepEvidence before = sweep("1", {{"a", 2.0}, {"b", 1.5}});
  const Decision old = confirmed(settle_any({}, {before}).decision, 5);
  SweepEvidence after = sweep("2", {{"a", 2.0}, {"b", 1.5}});
  after.measurements[1].outcome = Outcome::wrong;
  const Settled settled = settle_any({old}, {before, after});
  EXPECT_EQ(settled.what, Settlement::replaced);
  EXPECT_EQ(winner_of(settled), "b");
  EXPECT_EQ(settled.why, "a was wrong in this sweep");
}

TEST(Settle, WhatFailedInAnEarlierSweepMayWinLater) {
  SweepEvidence before = sweep("1", {{"a", 2.0}});
  before.measurements[1].outcome = Outcome::crashed;
  const Decision old = settle_any({}, {before}).decision;
  EXPECT_EQ(winner_of(settle_any({old}, {before, sweep("2", {{"a", 2.0}})})), "a");
}

TEST(Settle, AVariantOfTheLastSweepAloneMayWin) {
  const SweepEvidence before = sweep("1", {{"a", 2.0}});
  const Decision old = settle_any({}, {before}).decision;
  const Settled settled = settle_any({old}, {before, sweep("2", {{"a", 2.0}, {"plug_in", 4}}, 40)});
  EXPECT_EQ(winner_of(settled), "plug_in");
}

TEST(Settle, KeysThatTheLastSweepDidNotMeasureAreLeftAlone) {
  SweepEvidence before = sweep("1", {{"a", 2.0}});
  for (Measurement& one : before.measurements) one.key = key(4096);
  const auto settled = settle({}, std::vector{before, sweep("2", {{"a", 2.0}})}, {});
  for (const Settled& one : settled) EXPECT_EQ(one.decision.key, key());
}

TEST(Settle, ConfirmedAndProvenAreWorthMore) {
  Decision proven = settle_any({}, {sweep("1", {{"fast", 2}})}).decision;
  Decision undecided = proven;
  undecided.verdict = Verdict::undecided;
  EXPECT_TRUE(is_worth_more(proven, undecided));
  EXPECT_FALSE(is_worth_more(undecided, proven));
  EXPECT_FALSE(is_worth_more(proven, proven));
  EXPECT_TRUE(is_worth_more(confirmed(proven, 5), proven));
  EXPECT_FALSE(is_worth_more(undecided, confirmed(proven, 5)));
}

TEST(Settle, TheSharesOfTheRiskAddUpToTheWhole) {
  double sum = 0;
  for (std::size_t look = 1; look <= 1000; ++look) sum += share_of_risk(look);
  EXPECT_LT(sum, 1);
  EXPECT_GT(sum, 0.99);
}

// decide_bench --full asks 500 keys.
TEST(Settle, SweepingAgainAndAgainDoesNotCollectFalseWinners) {
  constexpr int keys = test::has_sanitizer ? 25 : 100;
  constexpr int sweeps = 10;
  constexpr int most = 1;
  EXPECT_LE(simulation::ever_displaced(keys, sweeps, simulation::quiet(), {}, 1), most);
  EXPECT_LE(simulation::ever_displaced(keys, sweeps, simulation::noisy(), {}, 2), most);
}

}  // namespace
}  // namespace colltune
