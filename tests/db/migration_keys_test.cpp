// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The step to version 8: keys with a regime, environments without what is only recorded.

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>

#include "colltune/vocabulary/canonical.h"
#include "samples.h"
#include "schema.h"

namespace colltune::test {
namespace {

using db::Connection;
using db::OpenMode;

/// A database as a program of version 7 left it.
void make(const std::filesystem::path& path, const char* name) {
  Connection connection(path, OpenMode::owner);
  std::ifstream file(std::filesystem::path(COLLTUNE_OLD_VERSIONS) / name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  connection.execute_script(text.str().c_str());
}

/// What version_7_regimes.sql holds of two environments that differ only in the patch level of the
/// kernel and in the build.
Environment united() {
  Environment environment = some_environment("CPU three");
  environment.kernel = "6.1 huge_pages=never";
  return environment;
}
Provenance provenance_of(const std::string& version, const std::string& kernel_release) {
  return {.colltune_version = version,
          .build = "gcc " + version,
          .operating_system = "Some Linux " + version,
          .kernel_release = kernel_release};
}

TuningKey key_of(std::uint64_t size, InputMode input) {
  TuningKey key = some_key(size, united());
  key.problem.graph_capture = false;
  key.input = input;
  return key;
}

/// The winners of a generation by input, all of one key but for that.
std::map<InputMode, std::string> winners_of(const StoreReader& reader, std::uint64_t generation) {
  std::map<InputMode, std::string> winners;
  for (const Decision& decision : reader.published(generation).decisions) {
    EXPECT_EQ(decision.key, key_of(1024, decision.key.input));
    winners[decision.key.input] = decision.ranked.front().variant.implementation;
    EXPECT_EQ(decision.ranked.size(), 2U);
  }
  return winners;
}

class MigratedKeys : public testing::Test {
 protected:
  MigratedKeys() {
    make(folder / "a.db", "version_7_regimes.sql");
    const Store migrated(folder / "a.db");
  }

  TemporaryFolder folder;
};

TEST(Migration, AFileOfVersion7KeepsEverything) {
  const TemporaryFolder folder;
  make(folder / "a.db", "version_7.sql");
  { const Store store(folder / "a.db"); }
  fill(folder / "new.db");
  Contents expected = read_all(StoreReader(folder / "new.db"));
  const Contents found = read_all(StoreReader(folder / "a.db"));
  expected.generation.store_uuid = found.generation.store_uuid;
  EXPECT_EQ(found, expected);
}

TEST_F(MigratedKeys, EnvironmentsThatDifferInWhatIsRecordedAreOne) {
  const StoreReader reader(folder / "a.db");
  const auto environments = reader.environments();
  ASSERT_EQ(environments.size(), 2U);
  EXPECT_EQ(environments[1], (EnvironmentRecord{digest_of(united()), united()}));
  std::map<std::string, Provenance> recorded;
  for (const SweepRecord& sweep : reader.sweeps()) {
    EXPECT_EQ(sweep.environment_digest, digest_of(united())) << sweep.uuid;
    recorded[sweep.uuid] = sweep.provenance;
  }
  EXPECT_EQ(recorded.at("hot-first"), provenance_of("0.1.0", "6.1.0-18-amd64"));
  EXPECT_EQ(recorded.at("hot-patched"), provenance_of("0.2.0", "6.1.0-21-amd64"));
}

TEST_F(MigratedKeys, MeasurementsAndFailuresHaveTheRegimeInWhichTheyWereMade) {
  const StoreReader reader(folder / "a.db");
  const auto key_in = [&](const char* sweep) { return reader.measurements(sweep).at(0).key; };
  EXPECT_EQ(key_in("hot-first"), key_of(1024, InputMode::hot));
  EXPECT_EQ(key_in("plain-first"), key_of(1024, InputMode::rewritten));
  EXPECT_EQ(key_in("plain-patched"), key_of(1024, InputMode::rewritten));
  EXPECT_EQ(key_in("hot-patched"), key_of(1024, InputMode::hot));
  EXPECT_EQ(key_in("unfinished"), key_of(2048, InputMode::rewritten));
  ASSERT_EQ(reader.failures().size(), 1U);
  EXPECT_EQ(reader.failures().front().key, key_of(4096, InputMode::hot));
}

TEST_F(MigratedKeys, EachGenerationKeepsTheDecisionThatWasPublishedLast) {
  const StoreReader reader(folder / "a.db");
  using Winners = std::map<InputMode, std::string>;
  EXPECT_EQ(winners_of(reader, 1), (Winners{{InputMode::hot, "mpi.one"}}));
  EXPECT_EQ(winners_of(reader, 2),
            (Winners{{InputMode::rewritten, "mpi.two"}, {InputMode::hot, "mpi.one"}}));
  EXPECT_EQ(winners_of(reader, 3), (Winners{{InputMode::hot, "mpi.three"}}));
  // The fourth is the second again, so what the third had replaced is back.
  EXPECT_EQ(winners_of(reader, 4), winners_of(reader, 2));
  const auto generations = reader.generations();
  ASSERT_EQ(generations.size(), 4U);
  EXPECT_EQ(generations[2].decisions, 1U);
  EXPECT_EQ(generations[3].decisions, 2U);
}

TEST_F(MigratedKeys, QuarantinesHoldForAllInputsAndAreUnited) {
  const auto quarantines = StoreReader(folder / "a.db").quarantines();
  ASSERT_EQ(quarantines.size(), 3U);
  EXPECT_EQ(quarantines[0].key, key_of(4096, InputMode::hot));
  EXPECT_EQ(quarantines[0].since, "2026-01-02T03:40:00Z");
  EXPECT_EQ(quarantines[0].reason, "again");
  EXPECT_EQ(quarantines[0].failures, 7);
  EXPECT_EQ(quarantines[1].variant, quarantines[2].variant);
  const std::vector keys{quarantines[1].key, quarantines[2].key};
  for (const InputMode input : {InputMode::rewritten, InputMode::hot})
    EXPECT_EQ(std::ranges::count(keys, key_of(1024, input)), 1);
}

TEST_F(MigratedKeys, AnUnfinishedSweepGoesOnWithTheSameProgram) {
  Store store(folder / "a.db");
  const auto find = [&](const Provenance& provenance) {
    return store.unfinished_sweep(R"({"version": 1})", digest_of(united()), provenance,
                                  "8 ranks on 2 nodes");
  };
  EXPECT_FALSE(find(provenance_of("0.1.0", "6.1.0-18-amd64")));
  const auto found = find(provenance_of("0.2.0", "6.1.0-21-amd64"));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->uuid, "unfinished");
  store.resume_sweep(found->uuid);
  const std::vector stored = store.measurements(found->uuid);
  EXPECT_EQ(error_of([&] { store.append(found->uuid, stored); }), StatusCode::already_exists);
}

TEST_F(MigratedKeys, DecisionsOfAnotherRegimeJoinAndReplaceNothing) {
  Decision each = some_decision(1024, united(), "mpi.four");
  each.key = key_of(1024, InputMode::hot);
  each.key.calling = Calling::each;
  each.sweep_uuid = "hot-patched";
  Store store(folder / "a.db");
  store.publish(std::vector{each}, "t");
  const auto decisions = StoreReader(folder / "a.db").published().decisions;
  EXPECT_EQ(decisions.size(), 3U);
  EXPECT_NE(std::ranges::find(decisions, each), decisions.end());
  EXPECT_EQ(std::ranges::count(decisions, Calling::persistent,
                               [](const Decision& decision) { return decision.key.calling; }),
            2);
}

TEST(MigrationOfKeys, DamageStopsTheStep) {
  for (const char* damage :
       {"DELETE FROM environment WHERE id = 3", "DELETE FROM quarantine WHERE id = 3",
        "UPDATE decision SET valid_to = 3 WHERE id = 1", "DELETE FROM decision WHERE id = 1",
        "UPDATE measurement SET input_mode = 'hot'", "UPDATE sweep SET configuration = '{}'",
        "DELETE FROM measurement WHERE id = 5"}) {
    const TemporaryFolder folder;
    make(folder / "a.db", "version_7_regimes.sql");
    {
      Connection connection(folder / "a.db", OpenMode::owner);
      connection.execute("PRAGMA foreign_keys=OFF");
      connection.execute(damage);
    }
    EXPECT_EQ(error_of([&] { const Store store(folder / "a.db"); }), StatusCode::data_loss)
        << damage;
    Connection connection(folder / "a.db", OpenMode::reader);
    EXPECT_EQ(connection.integer("PRAGMA user_version"), 7) << damage;
  }
}

}  // namespace
}  // namespace colltune::test
