// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Failed attempts, quarantines, and what they mean for generations.

#include "child.h"
#include "colltune/vocabulary/canonical.h"
#include "samples.h"
#include "sqlite/connection.h"

namespace colltune::test {
namespace {

/// An open store with one running sweep, "sweep-1".
class Failures : public testing::Test {
 protected:
  Failures() {
    store.put_environment(environment);
    store.begin_sweep(some_sweep("sweep-1", environment));
  }
  [[nodiscard]] StoreReader reader() const { return StoreReader(folder / "a.db"); }
  /// A quarantine of the first variant of `decision`.
  [[nodiscard]] QuarantineRecord quarantine_of_winner(const Decision& decision) const {
    QuarantineRecord record = some_quarantine(0, environment);
    record.key = decision.key;
    record.variant = decision.ranked.front().variant;
    return record;
  }

  TemporaryFolder folder;
  Environment environment = some_environment();
  Store store{folder / "a.db"};
};

TEST_F(Failures, AreCountedPerTrialAndSweep) {
  store.begin_sweep(some_sweep("sweep-2", environment));
  FailureRecord first = some_failure(0, environment);
  FailureRecord other_key = first;
  other_key.key = some_key(1 << 20, environment);
  FailureRecord other_sweep = first;
  other_sweep.sweep_uuid = "sweep-2";
  FailureRecord again = first;
  again.outcome = Outcome::failed;
  again.detail = "another time";
  EXPECT_EQ(store.record_failure(first), 1);
  EXPECT_EQ(store.record_failure(some_failure(1, environment)), 1);
  EXPECT_EQ(store.record_failure(other_key), 1);
  EXPECT_EQ(store.record_failure(other_sweep), 1);
  EXPECT_EQ(store.record_failure(again), 2);
  EXPECT_EQ(reader().failures(),
            (std::vector{first, some_failure(1, environment), other_key, other_sweep, again}));
}

TEST_F(Failures, OfNoSweepOrNoFailureAreRefused) {
  FailureRecord failure = some_failure(0, environment);
  failure.sweep_uuid = "none";
  EXPECT_EQ(error_of([&] { (void)store.record_failure(failure); }), StatusCode::not_found);
  failure = some_failure(0, environment);
  for (const Outcome none : {Outcome::ok, Outcome::unavailable}) {
    failure.outcome = none;
    EXPECT_EQ(error_of([&] { (void)store.record_failure(failure); }), StatusCode::invalid_argument);
  }
  failure = some_failure(0, some_environment("never stored"));
  EXPECT_EQ(error_of([&] { (void)store.record_failure(failure); }),
            StatusCode::failed_precondition);
  store.finish_sweep("sweep-1", SweepState::complete, "t", "");
  EXPECT_EQ(error_of([&] { (void)store.record_failure(some_failure(0, environment)); }),
            StatusCode::failed_precondition);
  EXPECT_TRUE(reader().failures().empty());
}

TEST_F(Failures, SurviveAKill) {
  const TemporaryFolder other;
  for (int expected = 1; expected <= 3; ++expected) {
    Child owner([&](int pipe) {
      Store killed(other / "a.db");
      killed.put_environment(environment);
      if (expected == 1) killed.begin_sweep(some_sweep("sweep-1", environment));
      report(pipe, killed.record_failure(some_failure(0, environment)));
      pause();
    });
    EXPECT_EQ(owner.next(), expected);
    owner.kill_now();
  }
  EXPECT_EQ(StoreReader(other / "a.db").failures().size(), 3U);
}

TEST_F(Failures, AQuarantineHoldsAcrossSweepsAndOwnersUntilItIsReleased) {
  const QuarantineRecord one = some_quarantine(1, environment);
  const QuarantineRecord two = some_quarantine(2, environment);
  store.quarantine(one);
  store.quarantine(two);
  EXPECT_EQ(store.quarantines(), (std::vector{one, two}));
  store.finish_sweep("sweep-1", SweepState::complete, "t", "");
  store.begin_sweep(some_sweep("sweep-2", environment));
  { Store closed = std::move(store); }
  store = Store(folder / "a.db");
  EXPECT_EQ(store.quarantines(), (std::vector{one, two}));

  store.release_quarantine(one.key, one.variant, "2026-02-01T00:00:00Z");
  QuarantineRecord released = one;
  released.released_at = "2026-02-01T00:00:00Z";
  EXPECT_EQ(store.quarantines(), std::vector{two});
  EXPECT_EQ(reader().quarantines(), std::vector{two});
  EXPECT_EQ(reader().quarantine_history(), (std::vector{released, two}));
  EXPECT_EQ(error_of([&] { store.release_quarantine(one.key, one.variant, "t"); }),
            StatusCode::not_found);

  QuarantineRecord later = one;
  later.since = "2026-03-01T00:00:00Z";
  store.quarantine(later);
  EXPECT_EQ(store.quarantines(), (std::vector{two, later}));
  EXPECT_EQ(reader().quarantine_history(), (std::vector{released, two, later}));
}

TEST_F(Failures, AQuarantineInForceIsBroughtUpToDate) {
  const QuarantineRecord first = some_quarantine(1, environment);
  QuarantineRecord again = first;
  again.failures = 9;
  again.outcome = Outcome::crashed;
  again.reason = "again";
  again.since = "2026-05-01T00:00:00Z";
  store.quarantine(first);
  store.quarantine(again);
  again.since = first.since;
  EXPECT_EQ(reader().quarantine_history(), std::vector{again});
}

TEST_F(Failures, AQuarantineThatSaysNothingIsRefused) {
  const auto refused = [&](const auto& change) {
    QuarantineRecord record = some_quarantine(0, environment);
    change(record);
    return error_of([&] { store.quarantine(record); });
  };
  EXPECT_EQ(refused([](auto& record) { record.outcome = Outcome::ok; }),
            StatusCode::invalid_argument);
  EXPECT_EQ(refused([](auto& record) { record.outcome = Outcome::unavailable; }),
            StatusCode::invalid_argument);
  EXPECT_EQ(refused([](auto& record) { record.failures = 0; }), StatusCode::invalid_argument);
  EXPECT_EQ(refused([](auto& record) { record.released_at = "t"; }), StatusCode::invalid_argument);
  EXPECT_EQ(refused([](auto& record) { record.key.environment_digest = "never stored"; }),
            StatusCode::failed_precondition);
  const QuarantineRecord record = some_quarantine(0, environment);
  store.quarantine(record);
  EXPECT_EQ(error_of([&] { store.release_quarantine(record.key, record.variant, ""); }),
            StatusCode::invalid_argument);
  EXPECT_EQ(reader().quarantine_history(), std::vector{record});
}

TEST_F(Failures, KeysAreFoundByTheirDigest) {
  const std::vector keys{some_key(64, environment), some_key(128, environment)};
  store.put_keys(keys);
  store.put_keys(keys);
  for (const TuningKey& key : keys) EXPECT_EQ(store.find_key(digest_of_value(key)), key);
  EXPECT_EQ(store.find_key(digest_of_value(some_key(256, environment))), std::nullopt);
  const std::vector strange{some_key(64, some_environment("never stored"))};
  EXPECT_EQ(error_of([&] { store.put_keys(strange); }), StatusCode::failed_precondition);
}

TEST_F(Failures, PublishRefusesAQuarantinedVariantForItsKeyOnly) {
  const Decision decision = some_decision(1024, environment);
  const Decision elsewhere = some_decision(2048, environment);
  const QuarantineRecord quarantine = quarantine_of_winner(decision);
  store.quarantine(quarantine);
  std::string message;
  EXPECT_EQ(error_of(
                [&] {
                  store.publish(std::vector{elsewhere, decision}, "t");
                },
                &message),
            StatusCode::failed_precondition);
  for (const std::string& part : {to_string(quarantine.variant), quarantine.reason,
                                  quarantine.since, std::string("family 'open_mpi'")})
    EXPECT_NE(message.find(part), std::string::npos) << message;
  EXPECT_EQ(error_of([&] { (void)reader().published(); }), StatusCode::not_found);
  EXPECT_EQ(store.publish(std::vector{elsewhere}, "t").number, 1U);
  store.release_quarantine(quarantine.key, quarantine.variant, "t");
  EXPECT_EQ(store.publish(std::vector{decision}, "t").number, 2U);
  EXPECT_EQ(reader().published().decisions, (std::vector{decision, elsewhere}));
}

TEST_F(Failures, WhatIsCarriedOverGoesOnWithoutTheQuarantinedVariant) {
  const Decision decision = some_decision(1024, environment);
  const Decision untouched = some_decision(2048, environment);
  Decision alone = decision;
  alone.family = "alone";
  alone.ranked.resize(1);
  const Generation before = store.publish(std::vector{decision, untouched, alone}, "t1");
  store.quarantine(quarantine_of_winner(decision));
  const Generation after = store.publish({}, "t2");

  const PublishedTable newest = reader().published();
  ASSERT_EQ(newest.generation, after);
  ASSERT_EQ(newest.decisions.size(), 2U);  // of `alone` nothing is left
  const Decision& rest = newest.decisions.front();
  EXPECT_EQ(rest.key, decision.key);
  EXPECT_EQ(rest.ranked, std::vector{decision.ranked[1]});
  EXPECT_NE(rest.reason.find(decision.reason), std::string::npos);
  EXPECT_NE(rest.reason.find(to_string(decision.ranked[0].variant)), std::string::npos);
  EXPECT_EQ(newest.decisions[1], untouched);
  // What was published stays what it was.
  EXPECT_EQ(reader().published(before.number).decisions, (std::vector{alone, decision, untouched}));
  EXPECT_EQ(reader().published(before.number).generation, before);
  EXPECT_EQ(store.publish({}, "t3").content_digest, after.content_digest);
}

TEST(WithoutQuarantined, LeavesOutOnlyWhatIsInForceForTheKey) {
  const Environment environment = some_environment();
  const Decision decision = some_decision(1024, environment);
  QuarantineRecord record = some_quarantine(0, environment);
  record.variant = decision.ranked[0].variant;
  record.key = some_key(2048, environment);
  EXPECT_EQ(without_quarantined(decision, std::vector{record}), decision);
  record.key = decision.key;
  record.released_at = "t";
  EXPECT_EQ(without_quarantined(decision, std::vector{record}), decision);
  record.released_at.clear();
  const auto rest = without_quarantined(decision, std::vector{record});
  ASSERT_TRUE(rest);
  EXPECT_EQ(rest->ranked, std::vector{decision.ranked[1]});
  QuarantineRecord baseline = record;
  baseline.variant = decision.ranked[1].variant;
  EXPECT_EQ(without_quarantined(decision, std::vector{record, baseline}), std::nullopt);
}

TEST(DamagedFailures, ARowThatIsMissingOrChangedIsNamed) {
  struct Case {
    const char* sql;
    const char* named;
  };
  for (const Case& damage :
       {Case{"DELETE FROM failure WHERE id = 3", "table failure, row 3"},
        Case{"DELETE FROM failure WHERE id = 1", "table failure, row 2"},
        Case{"UPDATE failure SET outcome = 'wrong' WHERE id = 2", "table failure, row 2"},
        Case{"DELETE FROM quarantine WHERE id = 2", "table quarantine, row 2"},
        Case{"UPDATE quarantine SET released_at = 't' WHERE id = 2", "table quarantine, row 2"}}) {
    const TemporaryFolder folder;
    fill(folder / "a.db");
    db::Connection(folder / "a.db", db::OpenMode::owner).execute(damage.sql);
    std::string message;
    EXPECT_EQ(error_of([&] { (void)read_all(StoreReader(folder / "a.db")); }, &message),
              StatusCode::data_loss);
    EXPECT_NE(message.find(damage.named), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace colltune::test
