// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>
#include <fstream>
#include <limits>

#include "decisions.h"
#include "samples.h"
#include "sqlite/row.h"

namespace colltune::test {
namespace {

/// Changes the first row of the ranking to a time that no sweep writes, and makes the file sound
/// again: what a program before there were limits took.
void store_negative_time(const std::filesystem::path& file) {
  db::Connection connection(file, db::OpenMode::owner);
  connection.configure();
  db::Transaction transaction(connection, db::Transaction::Kind::write);
  const db::Table& table = db::ranked_variant_table();
  const auto column = std::ranges::find(table.columns, "median_ns") - table.columns.begin();
  std::int64_t first = 0;
  db::Row changed;
  db::for_each_row(connection, table, "ORDER BY id LIMIT 1", {},
                   [&](std::int64_t id, const db::Row& row) {
                     first = id;
                     changed = row;
                   });
  changed.at(static_cast<std::size_t>(column)) = std::int64_t{-5};
  db::update_row(connection, table, first, changed);
  db::restate_generations(connection);
  transaction.commit();
}

TEST(Publish, WhatNoReaderCanUseIsLeftOutAndCounted) {
  const TemporaryFolder folder;
  const Environment environment = some_environment();
  {
    Store store(folder / "a.db");
    store.put_environment(environment);
    store.publish(std::vector{some_decision(1024, environment), some_decision(4096, environment)},
                  "t1");
  }
  EXPECT_EQ(StoreReader(folder / "a.db").published().left_out, LeftOut{});
  store_negative_time(folder / "a.db");
  const PublishedTable table = StoreReader(folder / "a.db").published();
  EXPECT_EQ(table.decisions, std::vector{some_decision(4096, environment)});
  EXPECT_EQ(table.left_out.rows, 1U);
  EXPECT_NE(table.left_out.first.find("median_ns: -5 is negative"), std::string::npos)
      << table.left_out.first;
  EXPECT_NE(describe(table.left_out).find("1 stored values"), std::string::npos);
  // Its owner goes on, too.
  Store store(folder / "a.db");
  EXPECT_EQ(store.publish(std::vector{some_decision(8192, environment)}, "t2").number, 2U);
}

TEST(Publish, RefusesWhatTheWireDoesNotCarry) {
  const TemporaryFolder folder;
  const Environment environment = some_environment();
  Store store(folder / "a.db");
  store.put_environment(environment);
  Decision decision = some_decision(1024, environment);
  decision.ranked.front().limits.ranks_multiple_of = 0;
  std::string message;
  EXPECT_EQ(error_of([&] { store.publish(std::vector{decision}, "t"); }, &message),
            StatusCode::invalid_argument);
  EXPECT_NE(message.find("ranked[0].limits.ranks_multiple_of: 0 is not allowed"),
            std::string::npos)
      << message;
  Environment large = environment;
  large.variables = std::string(70'000, 'x');
  EXPECT_EQ(error_of([&] { store.put_environment(large); }), StatusCode::invalid_argument);
  large.variables = std::string(60'000, 'x');
  EXPECT_NO_THROW(store.put_environment(large));
}

TEST(Publish, ReplacesEqualKeyAndFamilyAndCarriesTheOthersOver) {
  const TemporaryFolder folder;
  const Environment environment = some_environment();
  Store store(folder / "a.db");
  store.put_environment(environment);
  std::vector<Decision> first{some_decision(4096, environment), some_decision(1024, environment)};
  const Generation one = store.publish(first, "t1");
  Decision other_family = some_decision(1024, environment);
  other_family.family = "any";
  const Decision replaced = some_decision(4096, environment, "cpu.one_shot");
  const std::vector<Decision> second{replaced, other_family};
  const Generation two = store.publish(second, "t2");

  EXPECT_EQ(one.number, 1U);
  EXPECT_EQ(two.number, 2U);
  EXPECT_EQ(two.store_uuid, store.uuid());
  EXPECT_NE(one.content_digest, two.content_digest);
  const StoreReader reader(snapshot_path(folder / "a.db"));
  const PublishedTable newest = reader.published();
  EXPECT_EQ(newest.generation, two);
  EXPECT_EQ(newest.published_at, "t2");
  EXPECT_EQ(newest.decisions, (std::vector<Decision>{other_family, first[1], replaced}));
  ASSERT_EQ(newest.environments.size(), 1U);
  EXPECT_EQ(newest.environments.front().second, environment);
  const PublishedTable older = reader.published(1);
  EXPECT_EQ(older.generation, one);
  EXPECT_EQ(older.published_at, "t1");
  EXPECT_EQ(older.decisions, (std::vector<Decision>{first[1], first[0]}));
  EXPECT_EQ(error_of([&] { (void)reader.published(3); }), StatusCode::not_found);
  EXPECT_EQ(error_of([&] { (void)reader.published(0); }), StatusCode::not_found);
}

TEST(Publish, EqualContentHasEqualDigestUnderANewNumber) {
  const TemporaryFolder folder;
  const Environment environment = some_environment();
  Store store(folder / "a.db");
  store.put_environment(environment);
  const std::vector<Decision> decisions{some_decision(1024, environment)};
  const Generation one = store.publish(decisions, "t1");
  const Generation two = store.publish(decisions, "t2");
  const Generation three = store.publish({}, "t3");
  EXPECT_EQ(two.number, 2U);
  EXPECT_EQ(three.number, 3U);
  EXPECT_EQ(one.content_digest, two.content_digest);
  EXPECT_EQ(one.content_digest, three.content_digest);
  EXPECT_EQ(StoreReader(folder / "a.db").published().decisions, decisions);
}

TEST(Publish, RefusesDecisionsThatCannotBeServed) {
  const TemporaryFolder folder;
  const Environment environment = some_environment();
  Store store(folder / "a.db");
  const auto refused = [&](const std::vector<Decision>& decisions) {
    return error_of([&] { store.publish(decisions, "t"); });
  };
  Decision decision = some_decision(1024, environment);
  EXPECT_EQ(refused({decision}), StatusCode::failed_precondition);  // environment not stored
  store.put_environment(environment);
  EXPECT_EQ(refused({decision, decision}), StatusCode::invalid_argument);
  Decision empty = decision;
  empty.ranked.clear();
  EXPECT_EQ(refused({empty}), StatusCode::invalid_argument);
  Decision nameless = decision;
  nameless.family.clear();
  EXPECT_EQ(refused({nameless}), StatusCode::invalid_argument);
  Decision infinite = decision;
  infinite.ranked[0].speedup_over_baseline = std::numeric_limits<double>::infinity();
  EXPECT_EQ(refused({infinite}), StatusCode::invalid_argument);
  EXPECT_EQ(error_of([&] { (void)StoreReader(folder / "a.db").published(); }),
            StatusCode::not_found);
  EXPECT_FALSE(std::filesystem::exists(snapshot_path(folder / "a.db")));
  EXPECT_EQ(store.publish(std::vector{decision}, "t").number, 1U);
}

TEST(Publish, AnOpenSnapshotStaysWhatItWas) {
  const TemporaryFolder folder;
  const Environment environment = some_environment();
  Store store(folder / "a.db");
  store.put_environment(environment);
  const Generation one = store.publish(std::vector{some_decision(1024, environment)}, "t1");
  const StoreReader old(snapshot_path(folder / "a.db"));
  const Generation two = store.publish(std::vector{some_decision(2048, environment)}, "t2");
  EXPECT_EQ(old.published().generation, one);
  EXPECT_EQ(StoreReader(snapshot_path(folder / "a.db")).published().generation, two);
}

TEST(Snapshot, HoldsEverythingAndNeedsNoFileBesideIt) {
  const TemporaryFolder folder;
  fill(folder / "a.db");
  const Contents live = read_all(StoreReader(folder / "a.db"));
  const TemporaryFolder elsewhere;
  std::filesystem::copy_file(snapshot_path(folder / "a.db"), elsewhere / "only file ?#%.db");
  EXPECT_EQ(read_all(StoreReader(elsewhere / "only file ?#%.db")), live);
  const auto files = std::distance(std::filesystem::directory_iterator(elsewhere.path()), {});
  EXPECT_EQ(files, 1);
}

TEST(Snapshot, IsHealedByTheNextOwner) {
  const TemporaryFolder folder;
  const auto snapshot = snapshot_path(folder / "a.db");
  fill(folder / "a.db");
  const Generation newest = StoreReader(snapshot).published().generation;

  std::filesystem::remove(snapshot);  // killed between the commit and the first rename
  { Store store(folder / "a.db"); }
  EXPECT_EQ(StoreReader(snapshot).published().generation, newest);

  std::filesystem::copy_file(snapshot, folder / "old");
  const Environment environment = some_environment("CPU one");
  Generation after;
  {
    Store store(folder / "a.db");
    after = store.publish(std::vector{some_decision(64, environment)}, "t");
  }
  std::filesystem::rename(folder / "old", snapshot);  // killed before a later rename
  std::ofstream(snapshot.string() + ".tmp") << "half written";
  { Store store(folder / "a.db"); }
  EXPECT_EQ(StoreReader(snapshot).published().generation, after);
  EXPECT_FALSE(std::filesystem::exists(snapshot.string() + ".tmp"));

  std::ofstream(snapshot, std::ios::trunc) << "damaged";
  { Store store(folder / "a.db"); }
  EXPECT_EQ(StoreReader(snapshot).published().generation, after);
}

TEST(Snapshot, ARestoredDatabaseNeverUsesANumberAgain) {
  const TemporaryFolder folder;
  const Environment environment = some_environment("CPU one");
  fill(folder / "a.db");
  std::filesystem::copy_file(folder / "a.db", folder / "backup");  // closed: no -wal beside it
  {
    Store store(folder / "a.db");
    EXPECT_EQ(store.publish(std::vector{some_decision(64, environment)}, "t").number, 3U);
  }
  std::filesystem::rename(folder / "backup", folder / "a.db");
  Store store(folder / "a.db");
  EXPECT_EQ(StoreReader(snapshot_path(folder / "a.db")).published().generation.number, 2U);
  EXPECT_EQ(store.publish(std::vector{some_decision(128, environment)}, "t").number, 4U);
  EXPECT_EQ(error_of([&] { (void)StoreReader(folder / "a.db").published(3); }),
            StatusCode::not_found);
}

TEST(Snapshot, CanTakeThePlaceOfTheDatabase) {
  const TemporaryFolder folder;
  fill(folder / "a.db");
  const Contents before = read_all(StoreReader(folder / "a.db"));
  std::filesystem::rename(snapshot_path(folder / "a.db"), folder / "b.db");
  { Store store(folder / "b.db"); }
  EXPECT_EQ(read_all(StoreReader(folder / "b.db")), before);
  EXPECT_EQ(read_all(StoreReader(snapshot_path(folder / "b.db"))), before);
}

}  // namespace
}  // namespace colltune::test
