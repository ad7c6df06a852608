// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Worlds of unlike ranks: every rank of a communicator gets one answer that all its members can
// run, from the file and from the daemon, whatever availability they have.

#include "unlike_worlds.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <sstream>

#include "ask_in_c.h"
#include "colltune/client/client.h"
#include "colltune/db/store.h"
#include "colltune/json/json.h"
#include "colltune/table/decision_table.h"
#include "daemon.h"
#include "process.h"

namespace colltune {
namespace {

using namespace testing;

constexpr int ranks = 4;
constexpr int stored_worlds = 8;
constexpr int asking = 1000;

/// Each of six features with that probability.
Members random_members(std::mt19937& random, double probability) {
  std::bernoulli_distribution has(probability);
  std::vector<MemberKind> kinds;
  for (int rank = 0; rank < ranks; ++rank) {
    MemberKind kind{.architecture = "x86_64-avx2", .features = {}};
    for (const char feature : std::string("abcdef"))
      if (has(random)) kind.features.push_back(std::string("feature.") + feature);
    kinds.push_back(std::move(kind));
  }
  return members_of(kinds);
}

bool has(const MemberKind& kind, const std::string& feature) {
  return std::ranges::find(kind.features, feature) != kind.features.end();
}

const MemberKind& kind_of(const Members& members, std::size_t rank) {
  return members.kinds[static_cast<std::size_t>(members.kind_of_rank[rank])];
}

/// By the features themselves, not by the program's own comparison.
bool can_do_all_of(const Members& own, const Members& others) {
  for (std::size_t rank = 0; rank < ranks; ++rank)
    for (const std::string& feature : kind_of(others, rank).features)
      if (!has(kind_of(own, rank), feature)) return false;
  return true;
}

LookupQuery question(const Members& members, std::uint64_t bytes) {
  return {.problem = test_key(bytes).problem, .ranks_per_node = ranks, .members = members};
}

/// The same question answered by: a table of the file that each rank reads for itself, the daemon
/// that each rank asks over a connection of its own, and the table that each fetches from it.
class UnlikeWorlds : public ::testing::Test {
 protected:
  UnlikeWorlds() {
    std::mt19937 random(20260301);
    Store store(database_);
    store.put_environment(test_environment());
    std::vector<Decision> decisions;
    for (int world = 0; world < stored_worlds; ++world) {
      const std::string sweep = "sweep-" + std::to_string(world);
      const Topology topology = topology_of(ranks, "layout-" + std::to_string(world));
      store.begin_sweep({.uuid = sweep,
                         .started_at = "2026-01-01T00:00:00Z",
                         .configuration = "{}",
                         .environment_digest = digest_of(test_environment())});
      Members members = random_members(random, 0.25);
      store.note_compositions(std::array{composition_for(members)});
      for (const std::uint64_t bytes : {1024, 4096, 65536})
        decisions.push_back(unlike_decision(sweep, bytes, topology, members));
      if (world == 0) continue;  // of this one the members are not known
      store.note_members(sweep, topology, members);
      worlds_.emplace(sweep, std::move(members));
    }
    store.publish(decisions, "2026-01-01T00:01:00Z");
    daemon_.emplace(folder_, database_);
    daemon_->wait_until_ready();
    for (int rank = 0; rank < ranks; ++rank) {
      PublishedTable table = StoreReader(snapshot_path(database_)).published();
      files_.push_back(std::make_unique<const DecisionTable>(std::move(table)));
      clients_.push_back(std::make_unique<Client>(daemon_->address, std::chrono::seconds(60)));
      fetched_.push_back(clients_.back()->fetch_table());
    }
  }

  /// The one answer of all ranks by every way; a test failure where they differ.
  LookupAnswer ask_all(const LookupQuery& query) {
    const LookupAnswer answer = files_.front()->find(query);
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      EXPECT_EQ(files_[rank]->find(query), answer) << "rank " << rank;
      EXPECT_EQ(clients_[rank]->lookup_once(query).answer, answer) << "rank " << rank;
      EXPECT_EQ(fetched_[rank].find(query), answer) << "rank " << rank;
    }
    return answer;
  }

  /// What any answer must be, by the features of the stored worlds.
  void check_answer(const LookupAnswer& answer, const Members& members) const {
    const bool is_composed = std::ranges::any_of(answer.decision.ranked, [](const auto& ranked) {
      return !parts_named_by(ranked.variant).empty();
    });
    EXPECT_EQ(is_composed, answer.members == MembersMatch::same);
    EXPECT_EQ(is_composed, !answer.compositions.empty());
    if (answer.members == MembersMatch::unknown) {
      EXPECT_EQ(answer.source, Source::baseline);
      ASSERT_EQ(answer.decision.ranked.size(), 1U);
      EXPECT_TRUE(answer.decision.ranked.front().is_baseline);
      for (const auto& [sweep, stored] : worlds_)
        EXPECT_FALSE(can_do_all_of(members, stored)) << sweep << " could have answered";
      return;
    }
    const auto world = worlds_.find(answer.decision.sweep_uuid);
    ASSERT_NE(world, worlds_.end()) << answer.decision.sweep_uuid;
    EXPECT_TRUE(can_do_all_of(members, world->second)) << answer.decision.reason;
    EXPECT_EQ(answer.members == MembersMatch::same, world->second == members);
    // None that can do more than the one that answers, and yet no more than the asking ones.
    if (answer.members == MembersMatch::less) {
      for (const auto& [sweep, stored] : worlds_)
        EXPECT_FALSE(can_do_all_of(members, stored) && stored != world->second &&
                     can_do_all_of(stored, world->second))
            << sweep;
    }
  }

  [[nodiscard]] bool is_stored(const Members& members) const {
    return std::ranges::any_of(worlds_, [&](const auto& world) { return world.second == members; });
  }

  const std::map<std::string, Members>& worlds() const { return worlds_; }
  const std::string& address() const { return daemon_->address; }
  const TemporaryFolder& folder() const { return folder_; }
  const std::string& database() const { return database_; }
  const LocalTable& fetched() const { return fetched_.front(); }

 private:
  TemporaryFolder folder_;
  std::string database_ = folder_.file("tuning.db");
  std::map<std::string, Members> worlds_;  ///< by sweep
  std::optional<DaemonProcess> daemon_;
  std::vector<std::unique_ptr<const DecisionTable>> files_;
  std::vector<std::unique_ptr<Client>> clients_;
  std::vector<LocalTable> fetched_;
};

TEST_F(UnlikeWorlds, AThousandAvailabilitiesNeverSeenGetAnswersThatAllMembersCanRun) {
  std::mt19937 random(20260302);
  std::map<MembersMatch, int> answered;
  std::set<std::string> sweeps;
  for (int i = 0; i < asking; ++i) {
    const Members members = random_members(random, i % 2 == 0 ? 0.8 : 0.5);
    ASSERT_FALSE(is_stored(members));
    SCOPED_TRACE("availability " + std::to_string(i));
    const std::uint64_t bytes = 512 + random() % 100'000;
    const LookupAnswer answer = ask_all(question(members, bytes));
    check_answer(answer, members);
    if (HasFailure()) return;
    ++answered[answer.members];
    sweeps.insert(answer.decision.sweep_uuid);
  }
  // Both outcomes are there, and not always by the same world.
  EXPECT_GT(answered[MembersMatch::less], 100);
  EXPECT_GT(answered[MembersMatch::unknown], 100);
  EXPECT_EQ(answered[MembersMatch::same], 0);
  EXPECT_GT(sweeps.size(), 3U);
}

TEST_F(UnlikeWorlds, AnAvailabilityThatWasMeasuredGetsWhatWasComposedForIt) {
  for (const auto& [sweep, members] : worlds()) {
    for (const std::uint64_t bytes : {1024, 3000, 65536, 1'000'000}) {
      const LookupAnswer answer = ask_all(question(members, bytes));
      check_answer(answer, members);
      EXPECT_EQ(answer.members, MembersMatch::same);
      EXPECT_EQ(to_string(answer.decision.ranked.front().variant), composed_variant(members));
      EXPECT_EQ(answer.compositions, std::vector{composition_for(members)});
    }
  }
}

/// What ask_for_members_in_c says.
struct AnswerInC {
  std::string match;
  std::string winner;
  std::array<std::string, ranks> kinds;
  std::string composition;
};

AnswerInC ask_in_c_for(const std::string& address, const Members& members) {
  std::array<char, 4096> text{};
  const std::string json = to_json_value(members).dump();
  EXPECT_EQ(ask_for_members_in_c(address.c_str(), json.c_str(), text.data(), text.size()), 0)
      << text.data();
  std::istringstream words(text.data());
  AnswerInC answer;
  words >> answer.match >> answer.winner;
  for (std::string& kind : answer.kinds) words >> kind;
  std::getline(words >> std::ws, answer.composition);
  return answer;
}

TEST_F(UnlikeWorlds, InCEveryMemberIsToldWhatItRuns) {
  for (const auto& [sweep, members] : worlds()) {
    const AnswerInC answer = ask_in_c_for(address(), members);
    EXPECT_EQ(answer.match, "same");
    EXPECT_EQ(answer.winner, composed_variant(members));
    const auto composition = nlohmann::json::parse(answer.composition);
    EXPECT_EQ(composition, to_json_value(composition_for(members)));
    for (std::size_t rank = 0; rank < ranks; ++rank) {
      std::vector<std::string> runs;
      for (const auto& part : composition["parts"])
        if (std::ranges::count(part["kinds"], nlohmann::json(answer.kinds.at(rank))) == 1)
          runs.push_back(part["variant"]);
      EXPECT_THAT(runs, ::testing::ElementsAre(
                            "cpu.ring{kind=" + std::to_string(members.kind_of_rank[rank]) + "}"));
    }
  }
}

TEST_F(UnlikeWorlds, InCOtherMembersGetWhatCppDoes) {
  std::mt19937 random(20260303);
  std::set<std::string> matches;
  for (int i = 0; i < 100; ++i) {
    const Members members = random_members(random, i % 2 == 0 ? 0.8 : 0.5);
    LookupQuery query = question(members, 1024);
    query.nodes = 1;
    const LookupAnswer expected = ask_all(query);
    const AnswerInC answer = ask_in_c_for(address(), members);
    EXPECT_EQ(answer.match, name_of(expected.members));
    EXPECT_EQ(answer.winner, to_string(expected.decision.ranked.front().variant));
    EXPECT_EQ(answer.composition, "-");
    matches.insert(answer.match);
  }
  EXPECT_THAT(matches, ::testing::ElementsAre("less", "unknown"));
}

TEST_F(UnlikeWorlds, AFetchedTableHasMembersAndCompositions) {
  EXPECT_EQ(fetched().set().members.size(), worlds().size());
  for (const auto& [sweep, members] : worlds()) {
    const auto found = std::ranges::find(fetched().set().members, sweep, &WorldMembers::sweep_uuid);
    ASSERT_NE(found, fetched().set().members.end());
    EXPECT_EQ(found->members, members);
    EXPECT_EQ(std::ranges::count(fetched().set().compositions, composition_for(members)), 1);
  }
}

TEST_F(UnlikeWorlds, TheDaemonsTableAndTheFileAreExportedAsOneDocument) {
  const Result by_server =
      run_process(folder(), {COLLTUNE_PROGRAM, "export", "json", "--server", address()});
  const Result by_file =
      run_process(folder(), {COLLTUNE_PROGRAM, "export", "json", "--db", database()});
  EXPECT_EQ(by_server.code, 0) << by_server.errors;
  EXPECT_EQ(by_server.out, by_file.out);
  const auto document = nlohmann::json::parse(by_file.out);
  EXPECT_EQ(document["worlds"].size(), worlds().size());
  for (const auto& [sweep, members] : worlds())
    EXPECT_EQ(document["compositions"][parts_name(composition_for(members))],
              to_json_value(composition_for(members)));
}

TEST_F(UnlikeWorlds, AQuestionWithoutMembersGetsNothingComposed) {
  for (const char* layout : {"layout-0", "layout-3"}) {
    LookupQuery query{.problem = test_key(4096).problem};
    query.layout_digest = layout;
    const LookupAnswer answer = ask_all(query);
    EXPECT_EQ(answer.members, MembersMatch::not_asked);
    EXPECT_EQ(to_string(answer.decision.ranked.front().variant), "cpu.one_shot{n=2}");
    EXPECT_TRUE(answer.compositions.empty());
  }
}

}  // namespace
}  // namespace colltune
