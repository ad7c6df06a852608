// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// `colltune report model`.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>

#include "models/planted_sweep.h"

namespace colltune {
namespace {

using ::testing::HasSubstr;
using testing::Result;

class ModelReport : public testing::PlantedSweep {};

TEST_F(ModelReport, SaysHowFarPredictionsAre) {
  plant(9);
  const Result result = colltune({"report", "model", "--db", database, "--json"});
  ASSERT_EQ(result.code, 0) << result.errors;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["sweep_uuid"], "sweep-1");
  EXPECT_EQ(json["curves"], 12);
  ASSERT_EQ(json["cases"].size(), 3U);
  for (const auto& one : json["cases"]) {
    EXPECT_EQ(one["all"]["times"], 12 * 9);
    EXPECT_EQ(one["collectives"]["all_reduce"]["times"], 6 * 9);
    EXPECT_LT(one["all"]["median_error"], one["all"]["today"]["median_error"]);
  }
  // Siblings say where the times jump; nothing but the other sizes does not.
  EXPECT_EQ(json["cases"][0]["model"], "alpha_beta_by_problem");
  EXPECT_LT(json["cases"][0]["all"]["percentile_90_error"], 0.2);
  EXPECT_GE(json["cases"][0]["all"]["covered"], 0.8);
  EXPECT_GT(json["cases"][2]["all"]["percentile_90_error"],
            json["cases"][0]["all"]["percentile_90_error"]);
  EXPECT_EQ(json["choices"]["decision"]["judged"], 18);
  EXPECT_EQ(json["choices"]["decision"]["within_ten_percent"], 18);
  EXPECT_GE(json["choices"]["fitted"]["within_ten_percent"],
            json["choices"]["table"]["within_ten_percent"]);
}

TEST_F(ModelReport, JudgesChoicesByHalvesOfThePasses) {
  plant(9, 1);
  const auto json_of = [&] {
    const Result result = colltune({"report", "model", "--db", database, "--json"});
    EXPECT_EQ(result.code, 0) << result.errors;
    return nlohmann::json::parse(result.out)["choices"];
  };
  EXPECT_EQ(json_of()["decision"]["judged_by_halves"], 0);
  std::filesystem::remove(database);
  plant(9, 3);
  const auto choices = json_of();
  EXPECT_EQ(choices["decision"]["judged_by_halves"], 18);
  EXPECT_EQ(choices["decision"]["within_ten_percent_by_halves"], 18);
  // Passes that are alike judge as all of them together do.
  for (const char* const chooser : {"table", "table_without_fits", "fitted", "baseline"})
    EXPECT_EQ(choices[chooser]["within_ten_percent_by_halves"],
              choices[chooser]["within_ten_percent"])
        << chooser;
  EXPECT_LT(choices["baseline"]["within_ten_percent"], 18);
}

TEST_F(ModelReport, SaysHowWellTheTimesAreKnown) {
  plant(9, 4, 1.2);
  Result result = colltune({"report", "model", "--db", database, "--json"});
  ASSERT_EQ(result.code, 0) << result.errors;
  auto halves = nlohmann::json::parse(result.out)["halves"];
  auto passes = nlohmann::json::parse(result.out)["cases"][0]["passes"];
  EXPECT_EQ(passes["several"]["times"], 12 * 9);
  EXPECT_FALSE(passes.contains("one"));
  EXPECT_EQ(halves["times"], 12 * 9);
  EXPECT_EQ(halves["all_times"], 12 * 9);
  EXPECT_NEAR(halves["median_difference"], 0.2, 0.001);
  EXPECT_NEAR(halves["percentile_90_difference"], 0.2, 0.001);
  result = colltune({"report", "model", "--db", database});
  EXPECT_THAT(result.out, HasSubstr("108 of 108 are of several passes"));
  EXPECT_THAT(result.out, HasSubstr("differ by 20.0 % in the median, 20.0 % in 90 of 100."));
  std::filesystem::remove(database);
  plant(9);
  result = colltune({"report", "model", "--db", database, "--json"});
  halves = nlohmann::json::parse(result.out)["halves"];
  passes = nlohmann::json::parse(result.out)["cases"][0]["passes"];
  EXPECT_EQ(passes["one"]["times"], 12 * 9);
  EXPECT_FALSE(passes.contains("several"));
  EXPECT_EQ(halves["times"], 0);
  EXPECT_EQ(halves["all_times"], 12 * 9);
  EXPECT_THAT(colltune({"report", "model", "--db", database}).out,
              HasSubstr("All times are of one pass"));
}

TEST_F(ModelReport, IsATableOf80Columns) {
  plant(9);
  const Result result = colltune({"report", "model", "--db", database});
  ASSERT_EQ(result.code, 0) << result.errors;
  for (const char* part : {"one variant's time left out (alpha_beta_by_problem)",
                           "a size left out everywhere (alpha_beta)", "between sizes", "all_reduce",
                           "all_gather", "the table's answer"})
    EXPECT_THAT(result.out, HasSubstr(part));
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST_F(ModelReport, FewSizesAreAnError) {
  plant(1);
  expect_failure(colltune({"report", "model", "--db", database}), 3,
                 "was measured at three sizes, so nothing can be left out");
}

}  // namespace
}  // namespace colltune
