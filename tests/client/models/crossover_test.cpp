// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// `colltune crossover`.

#include <nlohmann/json.hpp>
#include <sstream>

#include "models/planted_sweep.h"

namespace colltune {
namespace {

using ::testing::HasSubstr;
using testing::Result;

/// `low` and `wide` meet where 1000 + 0.25 s = 3000 + 0.05 s, at 10000 bytes.
class CrossoverCommand : public testing::PlantedSweep {};

TEST_F(CrossoverCommand, SaysWhereTheTwoBestMeet) {
  plant(9);
  const Result result = colltune({"crossover", "--collective", "all_reduce", "--threshold",
                                  "256KiB", "--db", database, "--json"});
  ASSERT_EQ(result.code, 0) << result.errors;
  const auto json = nlohmann::json::parse(result.out);
  ASSERT_EQ(json.size(), 1U);
  EXPECT_EQ(json[0]["first"], "low");
  EXPECT_EQ(json[0]["second"], "wide");
  ASSERT_EQ(json[0]["crossings"].size(), 1U);
  EXPECT_GT(json[0]["crossings"][0]["bytes"], 8000);
  EXPECT_LT(json[0]["crossings"][0]["bytes"], 12500);
  // At 256 KiB `low` takes 66536 and `wide` 16107 ns, half as much again each.
  EXPECT_EQ(json[0]["threshold"]["worst_bytes"], 262144);
  EXPECT_NEAR(json[0]["threshold"]["worst_loss"].get<double>(), 3.13, 0.02);
}

TEST_F(CrossoverCommand, IsATableOf80Columns) {
  plant(9);
  const Result result = colltune({"crossover", "--threshold", "256KiB", "--db", database});
  ASSERT_EQ(result.code, 0) << result.errors;
  for (const char* part : {"all_reduce f32 sum on ", "all_gather f32 on ", "threshold 256KiB: ",
                           "they meet within (90 %)", "at worst 313.", " % at 256KiB ("})
    EXPECT_THAT(result.out, HasSubstr(part));
  std::istringstream lines(result.out);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80U) << line;
}

TEST_F(CrossoverCommand, ComparesTwoThatAreNamed) {
  plant(9);
  const Result result = colltune({"crossover", "--first", "third{n=2}", "--second", "mpi.default",
                                  "--collective", "all_gather", "--db", database});
  ASSERT_EQ(result.code, 0) << result.errors;
  EXPECT_THAT(result.out, HasSubstr("third{n=2}"));
  // mpi.default is faster than low nowhere.
  const Result never =
      colltune({"crossover", "--first", "low", "--second", "mpi.default", "--db", database});
  EXPECT_THAT(never.out, HasSubstr("slower at all of these sizes:\n  mpi.default"));
}

TEST_F(CrossoverCommand, RefusesWhatItCannotCompare) {
  plant(9);
  expect_failure(colltune({"crossover", "--first", "low", "--db", database}), 2, "give both");
  expect_failure(colltune({"crossover", "--first", "low", "--second", "none", "--db", database}), 3,
                 "did not measure both low and none");
  expect_failure(colltune({"crossover", "--collective", "gather", "--db", database}), 3,
                 "what was: all_gather, all_reduce");
  expect_failure(colltune({"crossover", "--threshold", "much", "--db", database}), 2, "much");
}

}  // namespace
}  // namespace colltune
