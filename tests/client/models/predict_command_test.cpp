// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <valijson/adapters/nlohmann_json_adapter.hpp>
#include <valijson/schema.hpp>
#include <valijson/schema_parser.hpp>
#include <valijson/validation_results.hpp>
#include <valijson/validator.hpp>
#include <vector>

#include "colltune/db/store.h"
#include "colltune/model/library/predictors.h"
#include "daemon.h"
#include "process.h"

namespace colltune::testing {
namespace {

using ::testing::HasSubstr;
using valijson::adapters::NlohmannJsonAdapter;

nlohmann::json one(const std::string& name, std::uint64_t bytes, bool asynchronous) {
  return {{"name", name},
          {"kind", "all_reduce"},
          {"bytes", bytes},
          {"data_type", "f32"},
          {"asynchronous", asynchronous}};
}

nlohmann::json document() {
  nlohmann::json with_all = one("chosen", 4096, true);
  with_all["reduce_op"] = "sum";
  with_all["replica_groups"] = {{0, 1, 2, 3}, {4, 5, 6, 7}};
  with_all["strategy"] = "two_shot";
  with_all["fallback"] = true;
  with_all["kernels"] = true;
  with_all["bytes_accessed"] = 8192;
  return {{"version", 1},
          {"device",
           {{"name", "NVIDIA H100 80GB HBM3"},
            {"platform", "cuda"},
            {"architecture", "sm_90"},
            {"memory_gb_per_s", 3350.0}}},
          {"nodes", 1},
          {"collectives",
           {one("small", 128 << 10, false), one("medium", 1 << 20, true),
            one("large", 8 << 20, false), with_all}}};
}

class Predict : public ::testing::Test {
 protected:
  Result predict(const nlohmann::json& input, std::vector<std::string> more = {}) const {
    std::ofstream(file) << input.dump();
    std::vector<std::string> command{COLLTUNE_PROGRAM, "predict", file};
    command.insert(command.end(), more.begin(), more.end());
    return run_process(folder, command);
  }
  void expect_refused(const nlohmann::json& input, const std::string& part) const {
    const Result result = predict(input);
    EXPECT_EQ(result.code, 2) << result.errors;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.errors, HasSubstr("collectives.json"));
    EXPECT_THAT(result.errors, HasSubstr(part));
  }

  TemporaryFolder folder;
  std::string file = folder.file("collectives.json");
};

bool is_valid(const nlohmann::json& json) {
  std::ifstream file(COLLTUNE_PREDICT_SCHEMA);
  const nlohmann::json schema_json = nlohmann::json::parse(file);
  valijson::Schema schema;
  valijson::SchemaParser().populateSchema(NlohmannJsonAdapter(schema_json), schema);
  valijson::ValidationResults results;
  return valijson::Validator().validate(schema, NlohmannJsonAdapter(json), &results);
}

TEST_F(Predict, SaysWhatTheModelsSay) {
  const Result result = predict(document(), {"--json"});
  ASSERT_EQ(result.code, 0) << result.errors;
  const nlohmann::json answers = nlohmann::json::parse(result.out).at("collectives");
  ASSERT_EQ(answers.size(), 4u);
  EXPECT_EQ(answers[0]["strategy"], "one_shot");
  EXPECT_NEAR(answers[0]["node_us"].get<double>(), 1 + 7 * 131072.0 / 360000 + 1.5, 1e-6);
  EXPECT_EQ(answers[0]["between_us"], 1.0);
  EXPECT_EQ(answers[1]["strategy"], "two_shot");
  EXPECT_EQ(answers[1]["node_us"], 1.0);
  EXPECT_NEAR(answers[1]["between_us"].get<double>(), 1 + 2 * (7 * 1048576.0 / 8 / 360000 + 1.5),
              1e-6);
  EXPECT_EQ(answers[2]["strategy"], "default");
  EXPECT_EQ(answers[2]["source"], "eligibility");
  EXPECT_EQ(answers[2]["model"], "xla.bus");
  EXPECT_EQ(answers[3]["source"], "caller");
  EXPECT_NEAR(answers[3]["memory_us"].get<double>(), 8192 / 3350e3, 1e-9);
}

TEST_F(Predict, NamesAreJsonWhateverTheyHold) {
  const std::vector<std::string> names{"plain-1.2 [x]", "a \"quoted\" one", "back\\slash",
                                       "tab\there",     "größer",           ""};
  nlohmann::json input = document();
  input["collectives"] = nlohmann::json::array();
  for (const std::string& name : names) input["collectives"].push_back(one(name, 4096, false));
  const Result result = predict(input, {"--json"});
  ASSERT_EQ(result.code, 0) << result.errors;
  const nlohmann::json answers = nlohmann::json::parse(result.out).at("collectives");
  ASSERT_EQ(answers.size(), names.size());
  for (std::size_t i = 0; i < names.size(); ++i) EXPECT_EQ(answers[i]["name"], names[i]);
}

TEST_F(Predict, PrintsATableThatFitsATerminal) {
  for (const char* const model : {"xla", "nccl-2.30.7-symmetric"}) {
    nlohmann::json input = document();
    input["device"]["multimem"] = true;  // the longest of NCCL's names
    const Result result = predict(input, {"--model", model});
    ASSERT_EQ(result.code, 0) << result.errors;
    EXPECT_THAT(result.out, HasSubstr(model == std::string("xla") ? "two_shot" : "STMC"));
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  }
}

TEST_F(Predict, NamesWhatIsWrongAndWhere) {
  nlohmann::json input = document();
  input["collectives"][1]["typo"] = 1;
  expect_refused(input, "/collectives/1: unknown key 'typo'; allowed are name, kind, bytes");
  input = document();
  input["collectives"][0]["kind"] = "broadcast";
  expect_refused(input, "/collectives/0/kind");
  input = document();
  input["device"]["platform"] = "oneapi";
  expect_refused(input, "cuda, rocm");
  input = document();
  input["device"]["lane_gb_per_s"] = 0;
  expect_refused(input, "lane_gb_per_s is 0");
  input = document();
  input["version"] = 2;
  expect_refused(input, "/version");
  input = document();
  input["nodes"] = 0;
  expect_refused(input, "0 nodes");
  expect_refused("text", "collectives.json");
  const Result none = run_process(folder, {COLLTUNE_PROGRAM, "predict"});
  EXPECT_EQ(none.code, 2);
  EXPECT_THAT(none.errors, HasSubstr("file"));
}

TEST_F(Predict, GroupsInAnyFormMeanTheSame) {
  nlohmann::json input = document();
  input["nodes"] = 2;
  nlohmann::json list = one("groups", 8 << 20, false);
  nlohmann::json counts = list;
  nlohmann::json tiles = list;
  list["replica_groups"] = {{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}, {12, 13, 14, 15}};
  counts["replica_counts"] = {{"groups", 4}, {"size", 4}};
  tiles["replica_tiles"] = "[4,4]<=[16]";
  input["collectives"] = {list, counts, tiles};
  EXPECT_TRUE(is_valid(input));
  const Result result = predict(input, {"--json"});
  ASSERT_EQ(result.code, 0) << result.errors;
  const nlohmann::json answers = nlohmann::json::parse(result.out).at("collectives");
  ASSERT_EQ(answers.size(), 3u);
  EXPECT_EQ(answers[0], answers[1]);
  EXPECT_EQ(answers[0], answers[2]);
  input["collectives"][1]["replica_counts"]["groups"] = 8;
  expect_refused(input,
                 "/collectives/1: collective 'groups': replica_counts: 8 groups of 4 are 32 ranks, "
                 "but the world has 16");
  input["collectives"][1]["replica_counts"].erase("size");
  expect_refused(input, "/collectives/1/replica_counts");
  input = document();
  input["collectives"][2]["replica_tiles"] = "[2,4]<=[2,4]T(0,0)";
  expect_refused(input, "the order names dimension 0 twice");
  input["collectives"][2]["replica_tiles"] = "2x4";
  expect_refused(input, "/collectives/2: collective 'large': replica_tiles '2x4': expected '['");
  EXPECT_FALSE(is_valid(input));
}

TEST_F(Predict, TheSchemaAllowsWhatIsRead) {
  EXPECT_TRUE(is_valid(document()));
  nlohmann::json input = document();
  input["collectives"][1]["typo"] = 1;
  EXPECT_FALSE(is_valid(input));
  // Every key that is read is in the schema, and no other.
  std::ifstream schema_file(COLLTUNE_PREDICT_SCHEMA);
  const nlohmann::json definitions = nlohmann::json::parse(schema_file).at("definitions");
  const auto expect_keys = [&](const auto& value, const char* definition) {
    std::vector<std::string> read;
    visit_fields(value, [&](std::string_view name, const auto&) { read.emplace_back(name); });
    std::vector<std::string> described;
    for (const auto& item : definitions.at(definition).at("properties").items())
      described.push_back(item.key());
    EXPECT_THAT(described, ::testing::UnorderedElementsAreArray(read));
  };
  expect_keys(DeviceChoice{}, "device");
  expect_keys(CollectiveEntry{}, "collective");
  expect_keys(NcclTopology{}, "nccl");
  expect_keys(NcclGraph{}, "graph");
  std::string models;
  for (const auto& model : definitions.at("model").at("enum"))
    models += (models.empty() ? "" : ", ") + model.get<std::string>();
  EXPECT_EQ(models, library_models::predictor_names());
}

/// The same collectives, for each model that has figures of them.
nlohmann::json with_models() {
  nlohmann::json input = document();
  input["nccl"] = {{"ring", {{"channels", 24}, {"intra_gb_per_s", 20}}},
                   {"tree", {{"channels", 24}, {"intra_gb_per_s", 20}, {"inter_gb_per_s", 20}}},
                   {"cpu", "amd"},
                   {"pci", false},
                   {"ll128", true},
                   {"plain_tree", false},
                   {"network_latency_us", 0},
                   {"collnet_direct", {{"channels", 8}, {"intra_gb_per_s", 20}}},
                   {"collnet_chain", {{"channels", 8}, {"intra_gb_per_s", 20}}},
                   {"collnet_heads", 8}};
  input["device"]["tma"] = false;
  input["collectives"][0]["model"] = "nccl-2.30.7-symmetric";
  input["collectives"][1]["model"] = "xla";
  return input;
}

TEST_F(Predict, ModelsAreNamedByEntryOptionAndFile) {
  nlohmann::json input = with_models();
  EXPECT_TRUE(is_valid(input));
  const auto models = [&](const std::vector<std::string>& more) {
    const Result result = predict(input, more);
    EXPECT_EQ(result.code, 0) << result.errors;
    std::vector<std::string> names;
    const nlohmann::json answers = nlohmann::json::parse(result.out);
    for (const auto& answer : answers.at("collectives")) names.push_back(answer.at("model"));
    return names;
  };
  using ::testing::ElementsAre;
  using ::testing::StartsWith;
  const auto symmetric = StartsWith("nccl-2.30.7-symmetric.");
  const auto classic = StartsWith("nccl-2.30.7-classic.");
  const auto xla = StartsWith("xla.");
  EXPECT_THAT(models({"--json"}), ElementsAre(symmetric, xla, xla, xla));
  EXPECT_THAT(models({"--json", "--model", "nccl-2.30.7-classic"}),
              ElementsAre(symmetric, xla, classic, classic));
  input["model"] = "nccl-2.30.7-classic";
  EXPECT_THAT(models({"--json"}), ElementsAre(symmetric, xla, classic, classic));
  EXPECT_THAT(models({"--json", "--model", "xla"}), ElementsAre(symmetric, xla, xla, xla));
  input["collectives"][2]["model"] = "nccl";
  expect_refused(input,
                 "/collectives/2: unknown model 'nccl'; allowed are xla, nccl-2.30.7-symmetric");
  EXPECT_FALSE(is_valid(input));
  input = with_models();
  input["nccl"]["ring"]["channels"] = 0;
  expect_refused(input, "/nccl: ring.channels is 0; 1 to 64");
  input = with_models();
  input["nccl"]["cpu"] = "arm";
  expect_refused(input, "/nccl/cpu");
}

TEST_F(Predict, ADaemonAnswersAsThisProgramDoes) {
  if (!COLLTUNE_HAS_SERVER) GTEST_SKIP() << "built without gRPC";
  const std::string database = folder.file("tuning.db");
  { const Store created(database); }
  const DaemonProcess daemon(folder, database);
  daemon.wait_until_ready();
  for (const nlohmann::json& input : {document(), with_models()})
    for (std::vector<std::string> more :
         {std::vector<std::string>{"--json"}, {}, {"--json", "--model", "nccl-2.30.7-symmetric"}}) {
      const Result here = predict(input, more);
      more.insert(more.end(), {"--server", daemon.address});
      const Result there = predict(input, more);
      EXPECT_EQ(there.code, 0) << there.errors;
      EXPECT_EQ(there.out, here.out);
    }
  nlohmann::json input = document();
  input["collectives"][1]["bytes_accessed"] = 1;
  input["device"].erase("memory_gb_per_s");
  const Result refused = predict(input, {"--server", daemon.address});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.errors, HasSubstr("collectives.json: program.collectives[1]: "));
}

TEST_F(Predict, WithoutADaemonItSaysSo) {
  if (!COLLTUNE_HAS_SERVER) {
    EXPECT_THAT(predict(document(), {"--server", "unix:a"}).errors, HasSubstr("without gRPC"));
    GTEST_SKIP() << "built without gRPC";
  }
  const Result result = predict(document(), {"--server", "unix:" + folder.file("nobody")});
  EXPECT_EQ(result.code, 4);
  EXPECT_THAT(result.errors, HasSubstr("no colltuned answers at unix:"));
  EXPECT_EQ(predict(document(), {"--server", "nowhere"}).code, 2);
}

}  // namespace
}  // namespace colltune::testing
