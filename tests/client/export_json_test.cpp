// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/export_json.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>

#include "colltune/export/decision_json.h"
#include "literal_decisions.h"
#include "unlike_worlds.h"

namespace colltune {
namespace {

using testing::decision;
using testing::ranked;
using testing::test_environment;
using testing::test_key;
using testing::test_topology;
using valijson::adapters::NlohmannJsonAdapter;

const Generation generation{.store_uuid = "store-1", .number = 7, .content_digest = "abc"};

std::vector<std::pair<std::string, Environment>> environments() {
  return {{digest_of(test_environment()), test_environment()},
          {"unused", Environment{.cpu_model = "another"}}};
}

std::vector<Decision> decisions() {
  std::vector<Decision> all;
  for (const std::uint64_t bytes : {64u, 1024u, 16384u})
    for (const char* architecture : {"x86_64-avx2", "sm_90"})
      all.push_back(
          decision(test_key(bytes, test_topology(architecture)),
                   {ranked(bytes < 1000 ? "cpu.one_shot{chunk=64}" : "cpu.two_shot", 1000, 2.0,
                           {.max_message = {1u << 20}, .data_types = {DataType::f32}}),
                    ranked("mpi.default", 2000, 1.0)}));
  all.push_back(decision(test_key(64), {ranked("mpi.default", 2000, 1.0)}, "openmpi"));
  Decision in_place = decision(test_key(64), {ranked("mpi.default", 2000, 1.0)});
  in_place.key.problem.in_place = true;
  all.push_back(in_place);
  return all;
}

using Environments = std::vector<std::pair<std::string, Environment>>;

nlohmann::json exported(const std::vector<Decision>& decisions, const Environments& environments) {
  return export_json(
      {.generation = generation, .decisions = decisions, .environments = environments});
}

/// What the schema has against `document`; empty where it is valid.
std::string violations(const nlohmann::json& document) {
  std::ifstream file(COLLTUNE_EXPORT_SCHEMA);
  const nlohmann::json schema_json = nlohmann::json::parse(file);
  valijson::Schema schema;
  valijson::SchemaParser parser;
  parser.populateSchema(NlohmannJsonAdapter(schema_json), schema);
  valijson::Validator validator;
  valijson::ValidationResults results;
  validator.validate(schema, NlohmannJsonAdapter(document), &results);
  std::string text;
  for (valijson::ValidationResults::Error error; results.popError(error);) {
    for (const auto& step : error.context) text += step;
    text += ": " + error.description + "\n";
  }
  return text;
}

TEST(ExportJson, FollowsItsSchema) {
  EXPECT_EQ(violations(exported(decisions(), environments())), "");
  EXPECT_EQ(violations(exported({}, {})), "");
}

TEST(ExportJson, TheSchemaRefusesWhatIsNotOurs) {
  const nlohmann::json valid = exported(decisions(), environments());
  const auto with = [&](const char* pointer, const nlohmann::json& value) {
    nlohmann::json changed = valid;
    changed[nlohmann::json::json_pointer(pointer)] = value;
    return violations(changed);
  };
  EXPECT_NE(with("/version", 2), "");
  EXPECT_NE(with("/version", 4), "");
  EXPECT_NE(with("/decisions/0/evidence/apply/by", "magic"), "");
  EXPECT_NE(with("/decisions/0/evidence/apply/variables/0", "NO VALUE"), "");
  EXPECT_NE(with("/decisions/0/alternatives/0/apply", nullptr), "");
  EXPECT_NE(with("/decisions/0/key/calling", "often"), "");
  EXPECT_NE(with("/tables/0/input", "cold"), "");
  EXPECT_NE(with("/surprise", 1), "");
  EXPECT_NE(with("/decisions/0/median_ns", "fast"), "");
  EXPECT_NE(with("/decisions/0/winner", "no variant"), "");
  EXPECT_NE(with("/decisions/0/evidence/limits/unknown", 1), "");
  EXPECT_NE(with("/tables/0/ranges/0/max_bytes", "all"), "");
  EXPECT_NE(with("/tables/0/ranges", nlohmann::json::array()), "");
}

TEST(ExportJson, IsTheSameForDecisionsInAnyOrder) {
  auto shuffled = decisions();
  std::ranges::reverse(shuffled);
  EXPECT_EQ(exported(decisions(), environments()).dump(),
            exported(shuffled, environments()).dump());
}

TEST(ExportJson, CarriesEveryDecisionWithEvidenceAndOnlyTheEnvironmentsInUse) {
  const auto document = exported(decisions(), environments());
  EXPECT_EQ(document["decisions"].size(), decisions().size());
  EXPECT_EQ(document["generation"]["number"], 7);
  ASSERT_EQ(document["environments"].size(), 1u);
  EXPECT_EQ(document["environments"][digest_of(test_environment())]["cpu_model"], "Test CPU");
  for (const auto& entry : document["decisions"]) {
    EXPECT_EQ(entry["evidence"]["variant"], entry["winner"]);
    EXPECT_EQ(entry["evidence"]["median_ns"], entry["median_ns"]);
    EXPECT_EQ(entry["evidence"]["samples"], 200);
  }
}

TEST(ExportJson, OneTablePerWorldProblemAndFamily) {
  const auto document = exported(decisions(), environments());
  ASSERT_EQ(document["tables"].size(), 4u);  // two architectures, one more family, one in place
  int wide = 0;
  for (const auto& table : document["tables"]) {
    EXPECT_FALSE(table["problem"].contains("message_size_bytes"));
    EXPECT_TRUE(table["ranges"].back()["max_bytes"].is_null());
    EXPECT_TRUE(table["ranges"].back()["extrapolated"]);
    if (table["ranges"].size() < 4) continue;
    ++wide;
    EXPECT_EQ(table["ranges"][1]["max_bytes"], 256);
    EXPECT_EQ(table["ranges"][2]["measured_sizes_bytes"], (nlohmann::json{1024, 16384}));
    EXPECT_EQ(table["ranges"][3]["max_bytes"], 1 << 20);  // the winner's limit
    EXPECT_EQ(table["ranges"][4]["winner"], "mpi.default");
  }
  EXPECT_EQ(wide, 2);
}

TEST(ExportJson, RefusesADecisionWhoseEnvironmentIsNotThere) {
  try {
    (void)exported(decisions(), {});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::data_loss);
    EXPECT_NE(std::string(error.what()).find(digest_of(test_environment())), std::string::npos);
  }
}

TEST(ExportJson, RefusesTheSameKeyTwice) {
  auto twice = decisions();
  twice.push_back(twice.front());
  EXPECT_THROW((void)exported(twice, environments()), Error);
}

/// Two worlds of unlike ranks with the decisions of their sweeps, and a third whose members are not
/// known.
class ExportOfUnlikeRanks : public ::testing::Test {
 protected:
  ExportOfUnlikeRanks() {
    const std::vector<MemberKind> ranks{wide_, narrow_, wide_, narrow_};
    add("sweep-a", testing::topology_of(4, "a"), testing::members_of(ranks));
    add("sweep-b", testing::topology_of(2, "b"),
        testing::members_of({narrow_, {.architecture = "sm_90", .features = {}}}));
    decisions_.push_back(decision(test_key(64), {ranked("mpi.default", 2000, 1.0)}));
    // What no decision names.
    members_.push_back({"sweep-a", "another topology", members_.front().members});
    members_.push_back({"another sweep", members_.front().topology_digest, members_[1].members});
    compositions_.push_back({.mode = CompositionMode::substituted,
                             .parts = {{.role = PartRole::whole,
                                        .kinds = {"nobody"},
                                        .variant = parse_variant("cpu.other")}}});
  }

  void add(const std::string& sweep, const Topology& topology, const Members& members) {
    for (const std::uint64_t bytes : {64u, 1024u})
      decisions_.push_back(testing::unlike_decision(sweep, bytes, topology, members));
    members_.push_back({sweep, digest_of_value(topology), members});
    compositions_.push_back(testing::composition_for(members));
  }

  [[nodiscard]] nlohmann::json document() const {
    return export_json({.generation = generation,
                        .decisions = decisions_,
                        .environments = environments_,
                        .members = members_,
                        .compositions = compositions_});
  }

  MemberKind wide_{.architecture = "x86_64-avx512", .features = {"avx512f", "memory.bytes=1"}};
  MemberKind narrow_{.architecture = "x86_64-avx2", .features = {"memory.bytes=1"}};
  Environments environments_ = environments();
  std::vector<Decision> decisions_;
  std::vector<WorldMembers> members_;
  std::vector<Composition> compositions_;
};

TEST_F(ExportOfUnlikeRanks, AReaderCanRunWhatIsComposed) {
  const nlohmann::json json = document();
  EXPECT_EQ(violations(json), "");
  EXPECT_EQ(json["compositions"].size(), 2u);
  EXPECT_EQ(json["worlds"].size(), 2u);
  EXPECT_EQ(json["kinds"].size(), 3u);
  // From the document alone: who of each composed winner's ranks runs what.
  int found = 0;
  for (const auto& entry : json["decisions"]) {
    const Variant winner = parse_variant(entry["winner"].get<std::string>());
    if (parts_named_by(winner).empty()) continue;
    const auto& composition = json["compositions"].at(std::string(parts_named_by(winner)));
    EXPECT_EQ(composition["mode"], "substituted");
    const auto world = std::ranges::find_if(json["worlds"], [&](const auto& one) {
      return one["sweep_uuid"] == entry["sweep_uuid"] &&
             one["topology"] == entry["key"]["topology"];
    });
    ASSERT_NE(world, json["worlds"].end());
    std::vector<std::string> architectures;
    std::vector<std::string> runs;
    for (const auto& kind : (*world)["kind_of_rank"]) {
      const auto digest = (*world)["kinds"][kind.get<std::size_t>()].get<std::string>();
      architectures.push_back(json["kinds"].at(digest)["architecture"]);
      for (const auto& part : composition["parts"])
        if (std::ranges::count(part["kinds"], nlohmann::json(digest)) == 1)
          runs.push_back(part["variant"]);
    }
    const std::vector<std::string> of_four{"x86_64-avx512", "x86_64-avx2", "x86_64-avx512",
                                           "x86_64-avx2"};
    const std::vector<std::string> of_two{"x86_64-avx2", "sm_90"};
    EXPECT_EQ(architectures, entry["sweep_uuid"] == "sweep-a" ? of_four : of_two);
    const std::vector<std::string> first{"cpu.ring{kind=1}", "cpu.ring{kind=0}", "cpu.ring{kind=1}",
                                         "cpu.ring{kind=0}"};
    const std::vector<std::string> second{"cpu.ring{kind=1}", "cpu.ring{kind=0}"};
    EXPECT_EQ(runs, entry["sweep_uuid"] == "sweep-a" ? first : second);
    ++found;
  }
  EXPECT_EQ(found, 4);
  for (const auto& table : json["tables"])
    for (const auto& range : table["ranges"])
      EXPECT_TRUE(parts_named_by(parse_variant(range["winner"].get<std::string>())).empty());
}

TEST_F(ExportOfUnlikeRanks, IsTheSameInAnyOrder) {
  const std::string expected = document().dump();
  std::ranges::reverse(decisions_);
  std::ranges::reverse(members_);
  std::ranges::reverse(compositions_);
  EXPECT_EQ(document().dump(), expected);
}

TEST_F(ExportOfUnlikeRanks, TheSchemaRefusesPartsThatAreNotOurs) {
  const nlohmann::json valid = document();
  const std::string first = valid["compositions"].begin().key();
  const auto with = [&](const std::string& pointer, const nlohmann::json& value) {
    nlohmann::json changed = valid;
    changed[nlohmann::json::json_pointer(pointer)] = value;
    return violations(changed);
  };
  EXPECT_NE(with("/compositions/" + first + "/mode", "partial"), "");
  EXPECT_NE(with("/compositions/" + first + "/parts/0/role", "leader"), "");
  EXPECT_NE(with("/compositions/" + first + "/parts/0/variant", "no variant"), "");
  EXPECT_NE(with("/worlds/0/kind_of_rank/0", "narrow"), "");
  EXPECT_NE(with("/kinds/x", nlohmann::json{{"architecture", "x"}}), "");
}

TEST_F(ExportOfUnlikeRanks, RefusesACompositionWhosePartsAreNotThere) {
  compositions_.erase(compositions_.begin());
  try {
    (void)document();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::data_loss);
    EXPECT_NE(std::string(error.what()).find(to_string(decisions_[0].ranked[0].variant)),
              std::string::npos)
        << error.what();
  }
}

TEST(DecisionJson, AnAnswerSaysHowItWasFound) {
  const LookupAnswer answer{.decision = decisions().front(),
                            .source = Source::interpolated,
                            .match = MatchLevel::nearest_size,
                            .measured_sizes = {{64}, {1024}},
                            .generation = generation};
  const auto json = answer_to_json(answer, test_environment());
  EXPECT_EQ(json["source"], "interpolated");
  EXPECT_EQ(json["match"], "nearest_size");
  EXPECT_EQ(json["measured_sizes_bytes"], (nlohmann::json{64, 1024}));
  EXPECT_EQ(json["environment"]["mpi_library"], "Open MPI 4.1.4");
  EXPECT_EQ(json["winner"], "cpu.one_shot{chunk=64}");
  EXPECT_EQ(json["median_ns"], 1000);
  EXPECT_EQ(json["speedup_over_baseline"], 2.0);
  EXPECT_EQ(json["generation"]["store_uuid"], "store-1");
  ASSERT_EQ(json["alternatives"].size(), 1u);
  EXPECT_EQ(json["alternatives"][0]["variant"], "mpi.default");
  EXPECT_EQ(json["key"]["problem"]["message_size_bytes"], 64);
  EXPECT_FALSE(answer_to_json(answer, std::nullopt).contains("environment"));
}

TEST(DecisionJson, SaysWhatMakesEachVariantRun) {
  Decision one =
      decision(test_key(64), {ranked("cpu.one_shot", 1000, 2.0),
                              ranked("mpi.all_reduce_tuned{algorithm=ring}", 1500, 1.3)});
  one.ranked[1].family = "mpi";
  Environment environment = test_environment();
  environment.mpi_library = "Open MPI v5.0.7";
  const auto json = decision_to_json(one, generation, &environment);
  EXPECT_EQ(json["evidence"]["apply"]["by"], "colltune");
  const auto& other = json["alternatives"][0]["apply"];
  EXPECT_EQ(other["by"], "environment");
  EXPECT_EQ(other["variables"], (nlohmann::json{"OMPI_MCA_coll_tuned_use_dynamic_rules=1",
                                                "OMPI_MCA_coll_tuned_allreduce_algorithm=4",
                                                "OMPI_MCA_coll_han_priority=0"}));
}

TEST(DecisionJson, ADecisionWithoutVariantsIsAnError) {
  EXPECT_THROW((void)decision_to_json(decision(test_key(8), {}), generation, nullptr), Error);
}

}  // namespace
}  // namespace colltune
