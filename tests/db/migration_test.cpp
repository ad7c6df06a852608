// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Files of older versions: everything in them survives, whatever happens meanwhile.

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <sstream>

#include "child.h"
#include "reading.h"
#include "samples.h"
#include "schema.h"

namespace colltune::test {
namespace {

using db::Connection;
using db::Migration;
using db::OpenMode;

constexpr std::int64_t version_now = 10;

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// A database as the program of `version` left it, in WAL mode; its snapshot too where asked.
void make_version(int version, const std::filesystem::path& path, bool with_snapshot = false) {
  {
    Connection connection(path, OpenMode::owner);
    const auto name = "version_" + std::to_string(version) + ".sql";
    connection.execute_script(
        read_file(std::filesystem::path(COLLTUNE_OLD_VERSIONS) / name).c_str());
    ASSERT_EQ(connection.text("PRAGMA journal_mode=WAL"), "wal");
  }
  if (!with_snapshot) return;
  Connection connection(path, OpenMode::owner);
  connection.execute("VACUUM INTO ?", {snapshot_path(path).string()});
}

void make_version_1(const std::filesystem::path& path, bool with_snapshot = false) {
  make_version(1, path, with_snapshot);
}

/// What `fill` writes, without that which `version` did not have, under the name of another store.
Contents contents_of(int version, const std::string& store_uuid) {
  const TemporaryFolder folder;
  fill(folder / "new.db", version >= 5   ? Fields::all
                          : version == 4 ? Fields::of_version_4
                          : version == 3 ? Fields::of_version_3
                                         : Fields::of_version_2);
  Contents contents = read_all(StoreReader(folder / "new.db"));
  contents.generation.store_uuid = store_uuid;
  if (version == 1) {
    contents.failures.clear();
    contents.quarantines.clear();
  }
  return contents;
}

std::int64_t version_of(const std::filesystem::path& path) {
  Connection connection(path, OpenMode::reader);
  return connection.integer("PRAGMA user_version");
}

std::string uuid_in(const std::filesystem::path& path) {
  Connection connection(path, OpenMode::reader);
  return db::read_meta_of_any_version(connection).store_uuid;
}

/// The history of a later program: one more step.
std::vector<Migration> history_with(void (*step)(Connection&)) {
  const auto released = db::schema_history();
  std::vector<Migration> history(released.begin(), released.end());
  history.push_back({version_now + 1, step});
  return history;
}

void add_later_table(Connection& connection) {
  connection.execute_script(
      "CREATE TABLE later (id INTEGER PRIMARY KEY, note TEXT NOT NULL) STRICT;"
      "INSERT INTO later VALUES (1, 'from the migration');");
}

TEST(Migration, TheHistoryAscendsToTheVersionOfToday) {
  std::int64_t version = 0;
  for (const Migration& step : db::schema_history()) EXPECT_EQ(step.to_version, ++version);
  EXPECT_EQ(version, version_now);
}

TEST(Migration, AFileOfVersion1KeepsEverythingAndTakesMore) {
  const TemporaryFolder folder;
  make_version_1(folder / "a.db", true);
  const std::string uuid = uuid_in(folder / "a.db");
  const Contents before = contents_of(1, uuid);
  const Environment environment = some_environment("CPU one");
  {
    Store store(folder / "a.db");
    EXPECT_EQ(store.uuid(), uuid);
    EXPECT_TRUE(store.quarantines().empty());
  }
  EXPECT_EQ(version_of(folder / "a.db"), version_now);
  EXPECT_EQ(read_all(StoreReader(folder / "a.db")), before);
  EXPECT_EQ(version_of(folder / "a.db.v1.backup"), 1);
  EXPECT_EQ(uuid_in(folder / "a.db.v1.backup"), uuid);
  // Readers of today open the snapshot, so it is written anew.
  EXPECT_EQ(version_of(snapshot_path(folder / "a.db")), version_now);
  EXPECT_EQ(read_all(StoreReader(snapshot_path(folder / "a.db"))), before);

  SweepRecord sweep = some_sweep("sweep-1", environment);
  sweep.uuid = "sweep-2";
  {
    Store store(folder / "a.db");
    store.begin_sweep(sweep);
    FailureRecord failure = some_failure(0, environment);
    failure.sweep_uuid = sweep.uuid;
    EXPECT_EQ(store.record_failure(failure), 1);
    store.quarantine(some_quarantine(0, environment));
    EXPECT_EQ(store.publish({}, "t").number, before.generation.number + 1);
  }
  const StoreReader reader(folder / "a.db");
  EXPECT_EQ(reader.failures().size(), 1U);
  EXPECT_EQ(reader.quarantines(), std::vector{some_quarantine(0, environment)});
  EXPECT_EQ(reader.measurements(), before.measurements);
}

TEST(Migration, AFileOfVersion2KeepsEverythingAndTakesMore) {
  const TemporaryFolder folder;
  make_version(2, folder / "a.db", true);
  const std::string uuid = uuid_in(folder / "a.db");
  const Contents before = contents_of(2, uuid);
  ASSERT_EQ(before.failures.size(), 3U);
  { Store store(folder / "a.db"); }
  EXPECT_EQ(read_all(StoreReader(folder / "a.db")), before);
  EXPECT_EQ(version_of(folder / "a.db.v2.backup"), 2);
  EXPECT_EQ(read_all(StoreReader(snapshot_path(folder / "a.db"))), before);
  {
    // The older generation is whole as well, with the decision that the newest has no more.
    const StoreReader reader(folder / "a.db");
    EXPECT_EQ(reader.published(1).decisions.size(), 11U);
  }

  // A journal that goes on, and another generation.
  const Environment environment = some_environment("CPU one");
  SweepRecord sweep = some_sweep("sweep-2", environment);
  sweep.purpose = SweepPurpose::confirm;
  sweep.confirmation = "confirmation-1";
  const std::vector trial{some_measurement(1, environment)};
  const Decision decision = some_decision(4096, environment);
  {
    Store store(folder / "a.db");
    store.begin_sweep(sweep);
    store.append("sweep-2", trial);
    EXPECT_EQ(store.publish(std::vector{decision}, "t").number, before.generation.number + 1);
  }
  const StoreReader reader(folder / "a.db");
  EXPECT_EQ(reader.measurements("sweep-1"), before.measurements);
  EXPECT_EQ(reader.measurements("sweep-2"), trial);
  EXPECT_EQ(reader.sweeps().back(), sweep);
  const auto decisions = reader.published().decisions;
  EXPECT_NE(std::ranges::find(decisions, decision), decisions.end());
}

TEST(Migration, AFileOfVersion3KeepsEverythingAndTakesFurtherPasses) {
  const TemporaryFolder folder;
  make_version(3, folder / "a.db", true);
  const Contents before = contents_of(3, uuid_in(folder / "a.db"));
  { Store store(folder / "a.db"); }
  EXPECT_EQ(read_all(StoreReader(folder / "a.db")), before);
  EXPECT_EQ(version_of(folder / "a.db.v3.backup"), 3);
  EXPECT_EQ(read_all(StoreReader(snapshot_path(folder / "a.db"))), before);

  const Environment environment = some_environment("CPU one");
  Measurement first = some_measurement(0, environment);
  Measurement second = first;
  second.pass = 1;
  {
    Store store(folder / "a.db");
    store.begin_sweep(some_sweep("sweep-2", environment));
    store.append("sweep-2", std::vector{first});
    store.append("sweep-2", std::vector{second});
    std::string message;
    EXPECT_EQ(error_of([&] { store.append("sweep-2", std::vector{second}); }, &message),
              StatusCode::already_exists);
    EXPECT_NE(message.find("in pass 1"), std::string::npos) << message;
  }
  EXPECT_EQ(StoreReader(folder / "a.db").measurements("sweep-2"), (std::vector{first, second}));
}

TEST(Migration, AFileOfVersion4KeepsEverythingAndTakesMembersAndCompositions) {
  const TemporaryFolder folder;
  make_version(4, folder / "a.db", true);
  const Contents before = contents_of(4, uuid_in(folder / "a.db"));
  ASSERT_FALSE(before.measurements.at(1).pass == 0);
  const Environment environment = some_environment("CPU one");
  {
    Store store(folder / "a.db");
    EXPECT_EQ(read_all(StoreReader(folder / "a.db")), before);
    EXPECT_EQ(version_of(folder / "a.db.v4.backup"), 4);
    EXPECT_EQ(read_all(StoreReader(snapshot_path(folder / "a.db"))), before);
    store.note_members("sweep-1", some_key(1024, environment).topology, some_members());
    store.note_compositions(std::array{some_composition()});
  }
  const StoreReader reader(folder / "a.db");
  EXPECT_EQ(reader.compositions(), std::vector{some_composition()});
  // Also what was published before it was noted is of these members.
  ASSERT_EQ(reader.published().members.size(), 1U);
  EXPECT_EQ(reader.published().members.front().members, some_members());
}

TEST(Migration, AFileOfVersion5KeepsEverythingAndTakesMeshReductions) {
  const TemporaryFolder folder;
  make_version(5, folder / "a.db", true);
  const Contents before = contents_of(5, uuid_in(folder / "a.db"));
  const Environment environment = some_environment("CPU one");
  Measurement plain = some_measurement(0, environment);
  Measurement meshed = plain;
  meshed.key.problem.kind = ProblemKind::mesh_reduce;
  meshed.key.problem.collective = Collective::all_reduce;
  meshed.key.problem.reduce_op = ReduceOp::none;
  meshed.key.problem.mesh = parse_mesh("2x4", "0:sum,{0-3|4,7}:avg");
  meshed.conditions.communicators = std::chrono::microseconds(321);
  Measurement other_mesh = meshed;
  other_mesh.key.problem.mesh = parse_mesh("2x4", "1:sum");
  Decision decision = some_decision(4096, environment);
  decision.key = meshed.key;
  {
    Store store(folder / "a.db");
    EXPECT_EQ(read_all(StoreReader(folder / "a.db")), before);
    EXPECT_EQ(version_of(folder / "a.db.v5.backup"), 5);
    EXPECT_EQ(read_all(StoreReader(snapshot_path(folder / "a.db"))), before);
    store.begin_sweep(some_sweep("sweep-2", environment));
    for (const Measurement* one : {&plain, &meshed, &other_mesh})
      store.append("sweep-2", std::vector{*one});
    store.publish(std::vector{decision}, "t");
  }
  const StoreReader reader(folder / "a.db");
  EXPECT_EQ(reader.measurements("sweep-1"), before.measurements);
  EXPECT_EQ(reader.measurements("sweep-2"), (std::vector{plain, meshed, other_mesh}));
  const auto decisions = reader.published().decisions;
  EXPECT_NE(std::ranges::find(decisions, decision), decisions.end());
}

TEST(Migration, AFileOfVersion6KeepsEverythingAndTakesVariables) {
  const TemporaryFolder folder;
  make_version(6, folder / "a.db", true);
  const Contents before = contents_of(6, uuid_in(folder / "a.db"));
  const Environment plain = some_environment("CPU one");
  Environment set = plain;
  set.variables = "NCCL_BUFFSIZE=8388608";
  {
    Store store(folder / "a.db");
    EXPECT_EQ(read_all(StoreReader(folder / "a.db")), before);
    EXPECT_EQ(version_of(folder / "a.db.v6.backup"), 6);
    EXPECT_EQ(read_all(StoreReader(snapshot_path(folder / "a.db"))), before);
    // An environment without variables is the one that it was; with them it is another.
    store.put_environment(plain);
    store.put_environment(set);
    store.begin_sweep(some_sweep("sweep-2", set));
  }
  const StoreReader reader(folder / "a.db");
  const auto environments = reader.environments();
  ASSERT_EQ(environments.size(), before.environments.size() + 1);
  EXPECT_EQ(environments.back(), (EnvironmentRecord{digest_of(set), set}));
  EXPECT_NE(digest_of(set), digest_of(plain));
  EXPECT_EQ(reader.sweeps().back().environment_digest, digest_of(set));
}

TEST(Migration, AFileOfVersion8KeepsEverythingAndTakesFits) {
  const TemporaryFolder folder;
  make_version(8, folder / "a.db", true);
  const Contents before = contents_of(8, uuid_in(folder / "a.db"));
  const VariantFit fit{.key = before.decisions.front().key,
                       .variant = before.decisions.front().ranked.front().variant,
                       .model = "some_model",
                       .segments = {{.from = before.decisions.front().key.problem.message_size,
                                     .alpha = 1.5,
                                     .beta = 0.25},
                                    {.from = {1ULL << 40U}, .alpha = -2, .beta = 0.5}},
                       .inside = {},
                       .below = {},
                       .beyond = {}};
  Store store(folder / "a.db");
  EXPECT_EQ(read_all(StoreReader(folder / "a.db")), before);
  EXPECT_TRUE(StoreReader(folder / "a.db").published().fits.empty());
  EXPECT_EQ(version_of(folder / "a.db.v8.backup"), 8);
  EXPECT_EQ(read_all(StoreReader(snapshot_path(folder / "a.db"))), before);
  store.publish(std::vector<Decision>(), "t",
                [&](std::span<const Decision>) { return std::vector{fit}; });
  const StoreReader reader(folder / "a.db");
  EXPECT_EQ(reader.published().fits, std::vector{fit});
  EXPECT_EQ(reader.published().decisions, before.decisions);
  EXPECT_TRUE(reader.published(before.generation.number).fits.empty());
}

TEST(Migration, DamageInAGenerationOfVersion8StopsTheStep) {
  const TemporaryFolder folder;
  make_version(8, folder / "a.db");
  {
    Connection connection(folder / "a.db", OpenMode::owner);
    connection.execute("UPDATE generation SET published_at = 'never' WHERE id = 1");
  }
  std::string message;
  EXPECT_EQ(error_of([&] { Store store(folder / "a.db"); }, &message), StatusCode::data_loss);
  EXPECT_NE(message.find("table generation, row 1"), std::string::npos) << message;
  EXPECT_EQ(version_of(folder / "a.db"), 8);
}

TEST(Migration, DamageInAnEnvironmentOfVersion6StopsTheStep) {
  for (const char* damage : {"UPDATE environment SET fabric = 'none at all' WHERE id = 2",
                             "DELETE FROM environment WHERE id = 1"}) {
    const TemporaryFolder folder;
    make_version(6, folder / "a.db");
    {
      Connection connection(folder / "a.db", OpenMode::owner);
      connection.execute("PRAGMA foreign_keys=OFF");
      connection.execute(damage);
    }
    EXPECT_EQ(error_of([&] { Store store(folder / "a.db"); }), StatusCode::data_loss) << damage;
    EXPECT_EQ(version_of(folder / "a.db"), 6) << damage;
  }
}

TEST(Migration, DamageInAKeyOfVersion5StopsTheStep) {
  for (const char* damage :
       {"UPDATE tuning_key SET ranks = 3 WHERE id = 2", "DELETE FROM tuning_key WHERE id = 3"}) {
    const TemporaryFolder folder;
    make_version(5, folder / "a.db");
    {
      Connection connection(folder / "a.db", OpenMode::owner);
      connection.execute("PRAGMA foreign_keys=OFF");
      connection.execute(damage);
    }
    EXPECT_EQ(error_of([&] { Store store(folder / "a.db"); }), StatusCode::data_loss) << damage;
    EXPECT_EQ(version_of(folder / "a.db"), 5) << damage;
  }
}

TEST(Migration, DamageInAMeasurementOfVersion3StopsTheStep) {
  for (const char* damage :
       {"UPDATE measurement SET verified_calls = 98 WHERE id = 3",
        "DELETE FROM measurement WHERE id = 12", "UPDATE sweep SET launch = ''"}) {
    const TemporaryFolder folder;
    make_version(3, folder / "a.db");
    {
      Connection connection(folder / "a.db", OpenMode::owner);
      connection.execute(damage);
    }
    EXPECT_EQ(error_of([&] { Store store(folder / "a.db"); }), StatusCode::data_loss) << damage;
    EXPECT_EQ(version_of(folder / "a.db"), 3) << damage;
  }
}

TEST(Migration, OldDecisionsSayWhatTheirRankingSaid) {
  struct Case {
    std::vector<int> baselines;
    Verdict verdict;
  };
  for (const Case& expected : {Case{{0, 1}, Verdict::displaced}, Case{{1, 0}, Verdict::kept},
                               Case{{1, 1}, Verdict::kept}, Case{{0, 0}, Verdict::no_baseline}}) {
    const TemporaryFolder folder;
    make_version(2, folder / "a.db");
    {
      Connection connection(folder / "a.db", OpenMode::owner);
      const db::Table table = db::present_table(connection, "ranked_variant");
      const auto column = std::ranges::find(table.columns, "is_baseline") - table.columns.begin();
      std::map<std::int64_t, db::Row> rows;
      db::for_each_row(connection, table, "", {},
                       [&](std::int64_t id, const db::Row& row) { rows.emplace(id, row); });
      for (auto& [id, row] : rows) {
        row.at(static_cast<std::size_t>(column)) =
            std::int64_t{expected.baselines.at(static_cast<std::size_t>((id - 1) % 2))};
        db::update_row(connection, table, id, row);
      }
    }
    { Store store(folder / "a.db"); }
    for (const Decision& decision : StoreReader(folder / "a.db").published().decisions) {
      EXPECT_EQ(decision.verdict, expected.verdict);
      EXPECT_EQ(decision.status, DecisionStatus::provisional);
      EXPECT_EQ(decision.confirmation, Confirmation{});
    }
  }
}

/// Whatever is damaged in a file of version 2, the step does not write a new checksum over it.
TEST(Migration, DamageInTheRowsThatAreRewrittenStopsIt) {
  const std::map<std::string, std::string> damages{
      {"UPDATE measurement SET verified_calls = 98 WHERE id = 3", "table measurement, row 3"},
      {"DELETE FROM measurement WHERE id = 12", "table sweep, row 1"},
      {"UPDATE measurement SET sweep_id = 2 WHERE id = 12", "table measurement, row 12"},
      {"UPDATE sweep SET launch = ''", "table sweep, row 1"},
      {"UPDATE decision SET reason = '' WHERE id = 4", "table decision, row 4"},
      {"DELETE FROM decision WHERE id = 4", "table decision, row 5 follows a gap"},
      {"DELETE FROM decision WHERE id = 13", "table generation, row 2"},
      {"UPDATE ranked_variant SET median_ns = 1 WHERE id = 7", "table ranked_variant, row 7"},
      {"DELETE FROM ranked_variant WHERE id = 7", "table ranked_variant, row 8 follows a gap"},
      {"DELETE FROM ranked_variant WHERE id > 24", "table decision, row 13"},
      {"UPDATE generation SET decision_count = 3", "table generation, row 1"}};
  for (const auto& [damage, where] : damages) {
    const TemporaryFolder folder;
    make_version(2, folder / "a.db");
    {
      Connection connection(folder / "a.db", OpenMode::owner);
      connection.execute("PRAGMA foreign_keys=OFF");
      connection.execute(damage);
    }
    std::string message;
    EXPECT_EQ(error_of([&] { Store store(folder / "a.db"); }, &message), StatusCode::data_loss);
    EXPECT_NE(message.find(where), std::string::npos) << damage << ": " << message;
    EXPECT_EQ(version_of(folder / "a.db"), 2) << damage;
  }
}

TEST(Migration, ANewFileAndMigratedOnesHaveTheSameSchema) {
  const TemporaryFolder folder;
  make_version(1, folder / "1.db");
  make_version(2, folder / "2.db");
  make_version(3, folder / "3.db");
  make_version(4, folder / "4.db");
  make_version(5, folder / "5.db");
  make_version(6, folder / "6.db");
  make_version(7, folder / "7.db");
  make_version(8, folder / "8.db");
  for (const char* name :
       {"1.db", "2.db", "3.db", "4.db", "5.db", "6.db", "7.db", "8.db", "new.db"})
    Store store(folder / name);
  const auto digest = [&](const char* name) {
    Connection connection(folder / name, OpenMode::reader);
    return db::read_meta(connection).schema_digest;
  };
  EXPECT_EQ(digest("1.db"), digest("new.db"));
  EXPECT_EQ(digest("2.db"), digest("new.db"));
  EXPECT_EQ(digest("3.db"), digest("new.db"));
  EXPECT_EQ(digest("4.db"), digest("new.db"));
  EXPECT_EQ(digest("5.db"), digest("new.db"));
  EXPECT_EQ(digest("6.db"), digest("new.db"));
  EXPECT_EQ(digest("7.db"), digest("new.db"));
  EXPECT_EQ(digest("8.db"), digest("new.db"));
}

TEST(Migration, AnOlderBackupCanTakeThePlaceOfTheDatabase) {
  const TemporaryFolder folder;
  make_version_1(folder / "a.db", true);
  const Contents before = contents_of(1, uuid_in(folder / "a.db"));
  { Store store(folder / "a.db"); }
  std::filesystem::rename(folder / "a.db.v1.backup", folder / "b.db");
  { Store store(folder / "b.db"); }
  EXPECT_EQ(read_all(StoreReader(folder / "b.db")), before);
}

TEST(Migration, NumbersThatASnapshotOfVersion1HasUsedAreNotGivenAgain) {
  const TemporaryFolder folder;
  make_version_1(folder / "a.db", true);
  {
    // The database is a restored older copy: it knows of fewer generations than its snapshot.
    Connection connection(folder / "a.db", OpenMode::owner);
    db::Table meta{"meta",
                   {"store_uuid", "schema_version", "schema_digest", "newest_generation",
                    "generation_count", "highest_number", "environment_count", "sweep_count"}};
    db::Row row;
    db::for_each_row(connection, meta, "", {},
                     [&](std::int64_t, const db::Row& found) { row = found; });
    ASSERT_EQ(row.at(3), db::Value(std::int64_t{2}));
    connection.execute("DELETE FROM generation WHERE id = 2");
    row.at(3) = row.at(4) = row.at(5) = std::int64_t{1};
    db::update_row(connection, meta, 1, row);
  }
  Store store(folder / "a.db");
  EXPECT_EQ(db::read_meta(*db::open_for_reading(folder / "a.db")).highest_number, 2);
}

TEST(Migration, AKillInTheMiddleLosesNothing) {
  const TemporaryFolder folder;
  make_version_1(folder / "a.db");
  const Contents before = contents_of(1, uuid_in(folder / "a.db"));
  static int pipe_to_parent;
  {
    Child owner([&](int pipe) {
      pipe_to_parent = pipe;
      Connection connection(folder / "a.db", OpenMode::owner);
      // Killed when version 2's step has run and its transaction is open.
      db::prepare_owned(connection, history_with([](Connection& open) {
                          add_later_table(open);
                          report(pipe_to_parent, 1);
                          pause();
                        }));
    });
    ASSERT_EQ(owner.next(), 1);
    owner.kill_now();
  }
  EXPECT_EQ(version_of(folder / "a.db"), 1);
  EXPECT_EQ(version_of(folder / "a.db.v1.backup"), 1);
  { Store store(folder / "a.db"); }
  EXPECT_EQ(version_of(folder / "a.db"), version_now);
  EXPECT_EQ(read_all(StoreReader(folder / "a.db")), before);
}

TEST(Migration, AHalfWrittenBackupIsWrittenAnew) {
  const TemporaryFolder folder;
  make_version_1(folder / "a.db");
  std::ofstream(folder / "a.db.v1.backup.tmp") << "half written";
  { Store store(folder / "a.db"); }
  EXPECT_FALSE(std::filesystem::exists(folder / "a.db.v1.backup.tmp"));
  EXPECT_EQ(version_of(folder / "a.db.v1.backup"), 1);
}

TEST(Migration, ADamagedRowOfMetaStopsItBeforeAnythingChanges) {
  const TemporaryFolder folder;
  make_version_1(folder / "a.db");
  {
    Connection connection(folder / "a.db", OpenMode::owner);
    connection.execute("UPDATE meta SET sweep_count = 7");
  }
  std::string message;
  EXPECT_EQ(error_of([&] { Store store(folder / "a.db"); }, &message), StatusCode::data_loss);
  EXPECT_NE(message.find("table meta"), std::string::npos) << message;
  EXPECT_EQ(version_of(folder / "a.db"), 1);
}

TEST(Migration, AnOlderFileIsMigratedAfterABackup) {
  const TemporaryFolder folder;
  fill(folder / "a.db");
  const Contents before = read_all(StoreReader(folder / "a.db"));
  {
    Connection connection(folder / "a.db", OpenMode::owner);
    db::prepare_owned(connection, history_with(add_later_table));
    EXPECT_EQ(connection.integer("PRAGMA user_version"), version_now + 1);
    EXPECT_EQ(connection.text("SELECT note FROM later"), "from the migration");
    EXPECT_EQ(db::read_meta(connection).schema_version, version_now + 1);
  }
  EXPECT_EQ(read_all(StoreReader(folder / "a.db.v10.backup")), before);
  {
    Connection connection(folder / "a.db", OpenMode::owner);
    db::prepare_owned(connection, history_with(add_later_table));  // nothing more to do
    EXPECT_EQ(connection.integer("SELECT count(*) FROM later"), 1);
  }
  // The program of today meets the file of tomorrow.
  std::string message;
  EXPECT_EQ(error_of([&] { Store store(folder / "a.db"); }, &message),
            StatusCode::failed_precondition);
  EXPECT_NE(message.find("schema version " + std::to_string(version_now + 1)), std::string::npos)
      << message;
  EXPECT_NE(message.find("newer"), std::string::npos) << message;
  EXPECT_EQ(error_of([&] { StoreReader reader(folder / "a.db"); }),
            StatusCode::failed_precondition);
}

TEST(Migration, AStepThatFailsLeavesTheFileAsItWas) {
  const TemporaryFolder folder;
  fill(folder / "a.db");
  const Contents before = read_all(StoreReader(folder / "a.db"));
  const auto history = history_with([](Connection& connection) {
    add_later_table(connection);
    connection.execute("INSERT INTO no_such_table VALUES (1)");
  });
  {
    Connection connection(folder / "a.db", OpenMode::owner);
    EXPECT_THROW(db::prepare_owned(connection, history), Error);
  }
  EXPECT_EQ(read_all(StoreReader(folder / "a.db")), before);
  EXPECT_EQ(read_all(StoreReader(folder / "a.db.v10.backup")), before);
}

TEST(Migration, AReaderOfAnOlderFileSaysWhoMigratesIt) {
  const TemporaryFolder folder;
  make_version_1(folder / "a.db");
  std::string message;
  EXPECT_EQ(error_of([&] { StoreReader reader(folder / "a.db"); }, &message),
            StatusCode::failed_precondition);
  EXPECT_NE(message.find("version 1"), std::string::npos) << message;
  EXPECT_NE(message.find("colltune-agent"), std::string::npos) << message;
}

}  // namespace
}  // namespace colltune::test
