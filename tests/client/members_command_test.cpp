// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// `colltune show members`, `lookup --members`, and results files of worlds of unlike ranks.

#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "cli_fixture.h"
#include "colltune/json/json.h"
#include "unlike_worlds.h"

namespace colltune::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const MemberKind plain{.architecture = "x86_64-avx2", .features = {"cpu.cores=8"}};
const MemberKind able{.architecture = "x86_64-avx512", .features = {"avx512", "cpu.cores=8"}};
const Members able_first = members_of({able, plain});
const Members both_able = members_of({able, able});
const Members both_plain = members_of({plain, plain});

class MembersCommand : public Cli {
 protected:
  /// One world of unlike ranks, and where asked another one of like ones.
  void fill_unlike(bool with_second_world = false) const {
    Store store(database);
    store.put_environment(test_environment());
    store.begin_sweep(sweep("sweep-1", "2026-01-01T00:00:00Z"));
    store.note_members("sweep-1", test_topology(), able_first);
    store.note_compositions(std::array{composition_for(able_first)});
    std::vector<Decision> decisions{unlike_decision("sweep-1", 1024, test_topology(), able_first)};
    if (with_second_world) {
      store.note_members("sweep-1", topology_of(2, "other"), both_plain);
      Decision other =
          decision(test_key(1024, topology_of(2, "other")), {ranked("mpi.default", 2000, 1.0)});
      decisions.push_back(other);
    }
    store.finish_sweep("sweep-1", SweepState::complete, "2026-01-01T00:01:00Z", "{}");
    store.publish(decisions, "2026-01-01T00:01:00Z");
  }

  std::string members_file(const Members& members) const {
    return write("members.json", to_json_value(members).dump());
  }

  Result lookup_for(const Members& members, std::vector<std::string> more = {}) const {
    std::vector<std::string> arguments{"--bytes", "1K",        "--db",
                                       database,  "--members", members_file(members)};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return lookup(arguments);
  }
};

TEST_F(MembersCommand, SameMembersAreToldWhatEachKindRuns) {
  fill_unlike();
  const Result result = lookup_for(able_first);
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.out, HasSubstr("winner       " + composed_variant(able_first)));
  EXPECT_THAT(result.out, HasSubstr("members      same"));
  EXPECT_THAT(result.out, HasSubstr("whole  cpu.ring{kind=0}"));
  EXPECT_THAT(result.out, HasSubstr("rank 1: x86_64-avx2\n"));
  EXPECT_THAT(result.out, HasSubstr("whole  cpu.ring{kind=1}"));
  EXPECT_THAT(result.out, HasSubstr("rank 0: x86_64-avx512, avx512\n"));

  const auto json = nlohmann::json::parse(lookup_for(able_first, {"--json"}).out);
  EXPECT_EQ(json["members"], "same");
  const std::string name = parts_name(composition_for(able_first));
  EXPECT_EQ(json["compositions"][name]["mode"], "substituted");
  EXPECT_EQ(json["compositions"][name]["parts"].size(), 2U);
}

TEST_F(MembersCommand, MoreMembersAreToldWhatTheMeasuredLack) {
  fill_unlike();
  const Result result = lookup_for(both_able);
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.out, HasSubstr("winner       cpu.one_shot{n=2}"));
  EXPECT_THAT(result.out, HasSubstr("members      less: the asking members can do more"));
  EXPECT_THAT(result.out, HasSubstr("there rank 1 lacks avx512"));
  // Neither in the ranking nor explained behind it.
  EXPECT_THAT(result.out, HasSubstr("   1      1.00  0.99  1.01     2.00x  cpu.one_shot{n=2}\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("\nparts=")));
}

TEST_F(MembersCommand, LesserMembersGetTheBaseline) {
  fill_unlike();
  const Result result = lookup_for(both_plain);
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.out, HasSubstr("winner       mpi.default"));
  EXPECT_THAT(result.out, HasSubstr("source       baseline, match"));
  EXPECT_THAT(result.out, HasSubstr("members      unknown"));
  EXPECT_THAT(result.out, HasSubstr("rank 0 lacks avx512"));
  const Result explained = colltune({"explain", "all_reduce", "--dtype", "f32", "--bytes", "1K",
                                     "--db", database, "--members", members_file(both_plain)});
  EXPECT_EQ(explained.code, 0) << explained.errors;
  EXPECT_THAT(explained.out, HasSubstr("nothing was measured that could answer"));
}

TEST_F(MembersCommand, WithoutMembersNothingIsSaidOfThem) {
  fill_unlike();
  const Result result = lookup({"--bytes", "1K", "--db", database});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.out, HasSubstr("winner       cpu.one_shot{n=2}"));
  EXPECT_THAT(result.out, Not(HasSubstr("\nmembers ")));
}

TEST_F(MembersCommand, AFileThatIsNoneIsRefusedByName) {
  fill_unlike();
  const auto lookup_by = [&](const std::string& file) {
    return lookup({"--bytes", "1K", "--db", database, "--members", file});
  };
  expect_failure(lookup_by(folder.file("none.json")), 2, "none.json cannot be read");
  expect_failure(lookup_by(write("a.json", "{")), 2, "a.json is no JSON");
  expect_failure(lookup_by(write("b.json", "{}")), 2, "b.json: key 'kinds' is missing");
  expect_failure(lookup_by(write("c.json", R"({"kinds": [], "kind_of_rank": []})")), 2,
                 "there is no rank");
  Members three = able_first;
  three.kind_of_rank.push_back(0);
  expect_failure(lookup_for(three), 2, "there are 3 ranks");
}

TEST_F(MembersCommand, ShowPrintsThemAndLookupReadsThem) {
  fill_unlike();
  const Result shown = colltune({"show", "members", "--db", database});
  EXPECT_EQ(shown.code, 0) << shown.errors;
  EXPECT_THAT(shown.out, HasSubstr("topology " + digest_of_value(test_topology())));
  EXPECT_THAT(shown.out, HasSubstr("  rank 0: x86_64-avx512, avx512\n"));
  EXPECT_THAT(shown.out, HasSubstr("  all: cpu.cores=8\n"));

  const Result json = colltune({"show", "members", "--db", database, "--json"});
  EXPECT_EQ(json.code, 0) << json.errors;
  const Result answer =
      lookup({"--bytes", "1K", "--db", database, "--members", write("shown.json", json.out)});
  EXPECT_THAT(answer.out, HasSubstr("members      same"));
}

TEST_F(MembersCommand, ShowOfSeveralWorldsWantsOneNamed) {
  fill_unlike(true);
  expect_failure(colltune({"show", "members", "--db", database, "--json"}), 2, "--topology");
  const Result one = colltune({"show", "members", "--db", database, "--json", "--topology",
                               digest_of_value(topology_of(2, "other")).substr(0, 12)});
  EXPECT_EQ(from_json_value<Members>(nlohmann::json::parse(one.out), "out"), both_plain);
  expect_failure(colltune({"show", "members", "--db", database, "--sweep", "sweep-9"}), 3,
                 "stored");
}

TEST_F(MembersCommand, ShowOfADatabaseWithoutMembersSaysSo) {
  fill();
  expect_failure(colltune({"show", "members", "--db", database}), 3, "stored");
}

/// The results file of a sweep in an unlike world; without its composition where asked.
std::string unlike_results(const std::optional<Composition>& composition,
                           const Members& members = able_first) {
  std::ostringstream out;
  JournalLineWriter writer(out, "results");
  SweepRecord record = sweep("sweep-1", "2026-01-01T00:00:00Z");
  writer.write(JournalRecord::environment, test_environment());
  writer.write(JournalRecord::sweep, record);
  writer.write(JournalRecord::members,
               WorldMembers{"sweep-1", digest_of_value(test_topology()), members});
  writer.write(JournalRecord::measurement, measurement(test_key(1024), "mpi.default", 2000));
  if (composition) writer.write(JournalRecord::composition, *composition);
  writer.write(JournalRecord::decision,
               unlike_decision("sweep-1", 1024, test_topology(), able_first));
  record.state = SweepState::complete;
  record.finished_at = record.started_at;
  record.summary = "{}";
  writer.write(JournalRecord::end, record);
  return out.str();
}

TEST_F(MembersCommand, ImportTakesThemWithTheirCompositions) {
  const std::string file = write("results.jsonl", unlike_results(composition_for(able_first)));
  for (int time = 0; time < 2; ++time) {
    const Result result = colltune({"import", file, "--db", database});
    EXPECT_EQ(result.code, 0) << result.errors;
    EXPECT_THAT(lookup_for(able_first).out, HasSubstr("members      same"));
  }
  EXPECT_EQ(StoreReader(database).members("sweep-1").size(), 1U);
}

TEST_F(MembersCommand, ImportRefusesADecisionWithoutItsComposition) {
  const std::string file = write("results.jsonl", unlike_results(std::nullopt));
  expect_failure(colltune({"import", file, "--db", database}), 2,
                 "results.jsonl:5: the composition that substituted.cpu.ring{parts=");
  EXPECT_FALSE(std::filesystem::exists(database));
}

TEST_F(MembersCommand, ImportRefusesACompositionForOthersThanTheMembers) {
  const auto import = [&](const Members& members) {
    return colltune({"import",
                     write("results.jsonl", unlike_results(composition_for(able_first), members)),
                     "--db", database});
  };
  expect_failure(import(both_able), 2,
                 "results.jsonl:6: the composition that substituted.cpu.ring");
  expect_failure(import(members_of({able, plain, plain})), 2,
                 "results.jsonl:6: the decision is for 2 ranks, and its world's members are 3");
  EXPECT_FALSE(std::filesystem::exists(database));
}

TEST_F(MembersCommand, WhatIsImportedIsExportedWithItsParts) {
  const std::string file = write("results.jsonl", unlike_results(composition_for(able_first)));
  EXPECT_EQ(colltune({"import", file, "--db", database}).code, 0);
  const auto json = nlohmann::json::parse(colltune({"export", "json", "--db", database}).out);
  EXPECT_EQ(json["compositions"][parts_name(composition_for(able_first))],
            to_json_value(composition_for(able_first)));
  ASSERT_EQ(json["worlds"].size(), 1U);
  EXPECT_EQ(json["worlds"][0]["kind_of_rank"], (nlohmann::json{1, 0}));
  EXPECT_EQ(json["kinds"][digest_of_value(able)], to_json_value(able));
}

}  // namespace
}  // namespace colltune::testing
