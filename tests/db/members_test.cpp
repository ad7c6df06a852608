// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// What members can do and what they run together: stored once, published with the decisions.

#include <array>

#include "colltune/vocabulary/canonical.h"
#include "samples.h"
#include "schema.h"

namespace colltune::test {
namespace {

using db::OpenMode;
using db::Connection;

const Environment& environment() {
  static const Environment value = some_environment("CPU one");
  return value;
}

Topology topology() { return some_key(1024, environment()).topology; }

Variant composed_variant() {
  return parse_variant("substituted.cpu.ring{parts=" + parts_name(some_composition()) + "}");
}

Decision composed_decision() {
  Decision decision = some_decision(1024, environment());
  decision.ranked.front().variant = composed_variant();
  return decision;
}

/// Runs SQL on the file as somebody who is not the owner.
void damage(const std::filesystem::path& path, const std::string& sql) {
  Connection connection(path, OpenMode::owner);
  connection.execute("PRAGMA foreign_keys=OFF");
  connection.execute(sql);
}

class StoredMembers : public testing::Test {
 protected:
  StoredMembers() { reopen(); }

  void reopen() {
    store_.reset();
    store_.emplace(path());
    if (is_begun_) return;
    store_->put_environment(environment());
    store_->begin_sweep(some_sweep("sweep-1", environment()));
    is_begun_ = true;
  }

  [[nodiscard]] std::filesystem::path path() const { return folder_ / "a.db"; }
  [[nodiscard]] Store& store() { return *store_; }
  [[nodiscard]] StoreReader reader() const { return StoreReader(path()); }

  StatusCode error_of_noting(const std::string& sweep, const Members& members,
                             std::string* message = nullptr) {
    return error_of([&] { store().note_members(sweep, topology(), members); }, message);
  }

 private:
  TemporaryFolder folder_;
  std::optional<Store> store_;
  bool is_begun_ = false;
};

TEST_F(StoredMembers, AreReadAsTheyWereNoted) {
  EXPECT_TRUE(reader().members("sweep-1").empty());
  Topology other = topology();
  other.layout_digest = "other";
  Members alike{.kinds = {{.architecture = "x86_64-avx2", .features = {}}},
                .kind_of_rank = {0, 0, 0, 0, 0, 0, 0, 0}};
  store().note_members("sweep-1", topology(), some_members());
  store().note_members("sweep-1", other, alike);
  reopen();
  const std::vector<WorldMembers> expected{{"sweep-1", digest_of_value(topology()), some_members()},
                                           {"sweep-1", digest_of_value(other), alike}};
  EXPECT_EQ(reader().members("sweep-1"), expected);
  EXPECT_TRUE(reader().members("sweep-2").empty());
}

TEST_F(StoredMembers, AreNotedOnce) {
  store().note_members("sweep-1", topology(), some_members());
  store().note_members("sweep-1", topology(), some_members());
  EXPECT_EQ(reader().members("sweep-1").size(), 1U);
  Members others = some_members();
  others.kinds.front().features.clear();
  std::string message;
  EXPECT_EQ(error_of_noting("sweep-1", others, &message), StatusCode::already_exists);
  EXPECT_NE(message.find("sweep-1"), std::string::npos) << message;
  EXPECT_EQ(reader().members("sweep-1").front().members, some_members());
}

TEST_F(StoredMembers, MustBelongToTheSweepAndFitTheWorld) {
  EXPECT_EQ(error_of_noting("sweep-2", some_members()), StatusCode::not_found);
  Members fewer = some_members();
  fewer.kind_of_rank.pop_back();
  std::string message;
  EXPECT_EQ(error_of_noting("sweep-1", fewer, &message), StatusCode::invalid_argument);
  EXPECT_NE(message.find("7 ranks"), std::string::npos) << message;
  Members malformed = some_members();
  std::swap(malformed.kinds[0], malformed.kinds[1]);
  EXPECT_EQ(error_of_noting("sweep-1", malformed), StatusCode::invalid_argument);
  EXPECT_TRUE(reader().members("sweep-1").empty());
}

TEST_F(StoredMembers, ThatDecisionsReferToArePublished) {
  Topology other = topology();
  other.layout_digest = "other";
  SweepRecord later = some_sweep("sweep-2", environment());
  store().begin_sweep(later);
  store().note_members("sweep-1", topology(), some_members());
  store().note_members("sweep-1", other, some_members());
  store().note_members("sweep-2", topology(), some_members());
  store().publish(std::vector{some_decision(1024, environment())}, "t");
  const std::vector<WorldMembers> expected{
      {"sweep-1", digest_of_value(topology()), some_members()}};
  EXPECT_EQ(reader().published().members, expected);
  EXPECT_EQ(StoreReader(snapshot_path(path())).published().members, expected);
}

TEST_F(StoredMembers, OfADecisionMayBeUnknown) {
  store().publish(std::vector{some_decision(1024, environment())}, "t");
  EXPECT_TRUE(reader().published().members.empty());
}

TEST_F(StoredMembers, ThatWereLostOrChangedAreNoticed) {
  store().note_members("sweep-1", topology(), some_members());
  Topology other = topology();
  other.layout_digest = "other";
  store().note_members("sweep-1", other, some_members());
  store().publish(std::vector{some_decision(1024, environment())}, "t");
  for (const char* sql :
       {"UPDATE world_members SET sweep_uuid = 'sweep-2' WHERE id = 1",
        "UPDATE world_members SET members = '{}' WHERE id = 1",
        "DELETE FROM world_members WHERE id = 1", "DELETE FROM world_members WHERE id = 2"}) {
    std::filesystem::copy_file(snapshot_path(path()), path().string() + ".copy",
                               std::filesystem::copy_options::overwrite_existing);
    damage(path().string() + ".copy", sql);
    const StoreReader damaged(path().string() + ".copy");
    std::string message;
    EXPECT_EQ(error_of([&] { (void)damaged.published(); }, &message), StatusCode::data_loss) << sql;
    EXPECT_NE(message.find("table world_members, row"), std::string::npos) << message;
    EXPECT_EQ(error_of([&] { (void)damaged.members("sweep-1"); }), StatusCode::data_loss) << sql;
  }
}

TEST_F(StoredMembers, CompositionsAreReadAsTheyWereNotedAndOnce) {
  Composition grouped{
      .mode = CompositionMode::grouped,
      .parts = {{.role = PartRole::before,
                 .kinds = {"00", "11"},
                 .variant = parse_variant("cpu.tree{fan=2}")},
                {.role = PartRole::bridge, .kinds = {}, .variant = parse_variant("mpi.baseline")}}};
  store().note_compositions(std::array{some_composition()});
  store().note_compositions(std::array{grouped});
  store().note_compositions(std::array{some_composition()});
  reopen();
  EXPECT_EQ(reader().compositions(), (std::vector{some_composition(), grouped}));
  // What could not be read again is not stored.
  EXPECT_EQ(error_of([&] { store().note_compositions(std::array{Composition{}}); }),
            StatusCode::invalid_argument);
  EXPECT_EQ(error_of([&] {
              store().note_compositions(
                  std::array{Composition{.mode = CompositionMode::grouped, .parts = {{}}}});
            }),
            StatusCode::invalid_argument);
  EXPECT_EQ(reader().compositions().size(), 2U);
}

TEST_F(StoredMembers, NothingIsPublishedWithoutItsComposition) {
  std::string message;
  EXPECT_EQ(error_of([&] { store().publish(std::vector{composed_decision()}, "t"); }, &message),
            StatusCode::failed_precondition);
  EXPECT_NE(message.find(to_string(composed_variant())), std::string::npos) << message;
  EXPECT_NE(message.find("note_composition"), std::string::npos) << message;

  store().note_compositions(std::array{some_composition()});
  Composition other = some_composition();
  other.mode = CompositionMode::grouped;
  store().note_compositions(std::array{other});
  store().publish(std::vector{composed_decision()}, "t");
  // Only the one that is named.
  EXPECT_EQ(reader().published().compositions, std::vector{some_composition()});
  EXPECT_EQ(StoreReader(snapshot_path(path())).published().compositions,
            std::vector{some_composition()});
  // A generation that carries it over has it, too.
  store().publish(std::vector{some_decision(2048, environment())}, "t");
  EXPECT_EQ(reader().published().compositions, std::vector{some_composition()});
}

TEST_F(StoredMembers, CompositionsThatWereLostOrChangedAreNoticed) {
  store().note_compositions(std::array{some_composition()});
  store().publish(std::vector{composed_decision()}, "t");
  for (const char* sql :
       {"DELETE FROM composition", "UPDATE composition SET parts_name = 'p0'",
        "UPDATE composition SET composition = replace(composition, 'up', 'on')"}) {
    std::filesystem::copy_file(snapshot_path(path()), path().string() + ".copy",
                               std::filesystem::copy_options::overwrite_existing);
    damage(path().string() + ".copy", sql);
    const StoreReader damaged(path().string() + ".copy");
    std::string message;
    EXPECT_EQ(error_of([&] { (void)damaged.published(); }, &message), StatusCode::data_loss) << sql;
    EXPECT_NE(message.find("table composition, row"), std::string::npos) << message;
  }
}

/// Also where the counts were made to fit: a decision that names a composition needs it.
TEST_F(StoredMembers, AMissingCompositionIsDamageWhateverTheCountSays) {
  store().note_compositions(std::array{some_composition()});
  store().publish(std::vector{composed_decision()}, "t");
  const auto copy = path().string() + ".copy";
  std::filesystem::copy_file(snapshot_path(path()), copy);
  {
    Connection connection(copy, OpenMode::owner);
    connection.execute("DELETE FROM composition");
    db::Meta meta = db::read_meta(connection);
    meta.composition_count = 0;
    db::write_meta(connection, meta);
  }
  std::string message;
  EXPECT_EQ(error_of([&] { (void)StoreReader(copy).published(); }, &message),
            StatusCode::data_loss);
  EXPECT_NE(message.find(parts_name(some_composition())), std::string::npos) << message;
}

}  // namespace
}  // namespace colltune::test
