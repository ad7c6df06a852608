// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// `colltune predict ctring` as a process.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli_fixture.h"

namespace colltune {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::Result;

class CtringCommand : public testing::Cli {
 protected:
  /// With these variables and none of ctring's that the test itself was started with.
  [[nodiscard]] Result predict(std::vector<std::string> more,
                               const std::vector<std::string>& variables = {}) const {
    std::vector<std::string> all{"/usr/bin/env", "-i"};
    all.insert(all.end(), variables.begin(), variables.end());
    all.insert(all.end(), {COLLTUNE_PROGRAM, "predict", "ctring"});
    all.insert(all.end(), more.begin(), more.end());
    return run_process(folder, all);
  }

  [[nodiscard]] nlohmann::json json(std::vector<std::string> more,
                                    const std::vector<std::string>& variables = {}) const {
    more.emplace_back("--json");
    const Result result = predict(more, variables);
    EXPECT_EQ(result.code, 0) << result.errors;
    return nlohmann::json::parse(result.out);
  }

  const std::vector<std::string> eight{"--arch", "sm_100", "--ranks", "8"};
  [[nodiscard]] std::vector<std::string> eight_and(std::vector<std::string> more) const {
    more.insert(more.begin(), eight.begin(), eight.end());
    return more;
  }
};

TEST_F(CtringCommand, PrintsTheLogInEightyColumns) {
  const Result result = predict(eight);
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("ctring by rule set v3: 8 ranks of sm_100, values of 'default'\n"),
                    HasSubstr("4 staging buffers of 32MiB each\n"),
                    HasSubstr("no NCCL_CTRAN_ALLREDUCE_RING_* in the environment\n"),
                    ContainsRegex(" 1KiB +128 +8 +1 +512 +256KiB\n"),
                    ContainsRegex("64MiB +4MiB +8 +8 +512 +256KiB\n"),
                    ContainsRegex("32GiB +16MiB +2 +8 +512 +512KiB\n"), Not(HasSubstr("limited"))));
  std::istringstream lines(result.out);
  int rows = 0;
  for (std::string line; std::getline(lines, line); ++rows) EXPECT_LE(line.size(), 80U) << line;
  EXPECT_EQ(rows, 4 + 1 + 1 + 51);  // facts, blank, titles, sizes
}

TEST_F(CtringCommand, PrintsOneObject) {
  const nlohmann::json got = json({"--arch", "sm_90", "--ranks", "8", "--bytes", "1M, 64M"});
  EXPECT_EQ(got["rules"], "v3");
  EXPECT_EQ(got["architecture"], "sm_90");
  EXPECT_EQ(got["values_of"], "hopper");
  EXPECT_EQ(got["staging_bytes"], 32 << 20);
  ASSERT_EQ(got["decisions"].size(), 2U);
  const nlohmann::json golden{{"message_bytes", 64 << 20},
                              {"is_tuned", true},
                              {"chunk_bytes", 4 << 20},
                              {"chunks", 8},
                              {"blocks", 4},
                              {"threads", 512},
                              {"qp_scaling_threshold_bytes", nullptr},
                              {"is_limited", false}};
  EXPECT_EQ(got["decisions"][1], golden);
  EXPECT_EQ(json(eight_and({"--bytes", "1M"}))["decisions"][0]["qp_scaling_threshold_bytes"],
            256 << 10);
}

TEST_F(CtringCommand, TakesTheVariablesOfItsEnvironmentAndSaysSo) {
  const std::vector<std::string> variables{"NCCL_CTRAN_ALLREDUCE_RING_TMPBUF_NUM_CHUNKS=2",
                                           "NCCL_CTRAN_ALLREDUCE_RING_FROM_A_NEWER_ONE=1"};
  const auto bytes = eight_and({"--bytes", "64M"});
  const nlohmann::json got = json(bytes, variables);
  EXPECT_EQ(got["decisions"][0]["chunks"], 2);
  EXPECT_EQ(got["from_environment"], nlohmann::json::array({variables[0]}));
  EXPECT_EQ(got["unknown_in_environment"].size(), 1U);
  const Result printed = predict(bytes, variables);
  EXPECT_THAT(printed.out, HasSubstr("from the environment (--ignore-environment leaves them "
                                     "out):\n  " +
                                     variables[0] + "\n"));
  EXPECT_THAT(printed.out, HasSubstr("not known, so ignored:\n  NCCL_CTRAN_ALLREDUCE_RING_FROM_A_"
                                     "NEWER_ONE\n"));
  // What is typed wins.
  const nlohmann::json typed =
      json(eight_and({"--bytes", "64M", "--set", "TMPBUF_NUM_CHUNKS=4"}), variables);
  EXPECT_EQ(typed["decisions"][0]["chunks"], 4);
  const nlohmann::json without =
      json(eight_and({"--bytes", "64M", "--ignore-environment"}), variables);
  EXPECT_EQ(without["decisions"][0]["chunks"], 8);
  EXPECT_TRUE(without["from_environment"].empty());
}

TEST_F(CtringCommand, TakesRulesOccupancyElementsAndSettings) {
  const nlohmann::json text =
      json(eight_and({"--rules", "v1", "--small-untuned", "--bytes", "64K,64M", "--set",
                      "MAX_NUM_THREAD_BLOCKS=3", "--set", "NUM_THREAD_BLOCKS=2"}));
  EXPECT_EQ(text["decisions"][0], nlohmann::json({{"message_bytes", 65536}, {"is_tuned", false}}));
  EXPECT_EQ(text["decisions"][1]["chunks"], 16);
  EXPECT_EQ(text["decisions"][1]["blocks"], 3);
  EXPECT_EQ(text["not_read_by_rules"],
            nlohmann::json::array({"NCCL_CTRAN_ALLREDUCE_RING_NUM_THREAD_BLOCKS"}));
  EXPECT_THAT(predict(eight_and({"--rules", "v1", "--small-untuned", "--bytes", "64K"})).out,
              HasSubstr("not tuned"));
  const nlohmann::json small = json(eight_and(
      {"--max-blocks", "2", "--max-threads", "256", "--element-bytes", "16", "--bytes", "64,64M"}));
  EXPECT_EQ(small["decisions"][0]["chunk_bytes"], 16);
  EXPECT_EQ(small["decisions"][1]["blocks"], 2);
  EXPECT_EQ(small["decisions"][1]["threads"], 256);
  EXPECT_EQ(json(eight_and({"--queue-pairs", "8", "--bytes",
                            "8G"}))["decisions"][0]["qp_scaling_threshold_bytes"],
            512 << 10);
  EXPECT_THAT(predict(eight_and({"--bytes", "1G", "--set", "TMPBUF_CHUNK_SIZE=1000001"})).out,
              AllOf(ContainsRegex("1000000 +33 .*limited"), HasSubstr("limited: the product")));
}

TEST_F(CtringCommand, RefusesWhatIsNotAllowed) {
  expect_failure(predict({"--ranks", "8"}), 2, "--arch is required");
  expect_failure(predict({"--arch", "sm_90"}), 2, "--ranks is required");
  expect_failure(predict({"--arch", "gfx950", "--ranks", "8"}), 2, "'gfx950'");
  expect_failure(predict({"--arch", "sm_90", "--ranks", "0"}), 2, "0 ranks");
  expect_failure(predict(eight_and({"--rules", "v4"})), 2, "allowed are v1, v2, v3");
  expect_failure(predict(eight_and({"--bytes", "1M,,2M"})), 2, "'' is not a size");
  expect_failure(predict(eight_and({"--small-untuned"})), 2, "rule set v1 alone");
  expect_failure(predict(eight_and({"--set", "TMPBUF_CHUNK=1"})), 2, "is no variable of ctring");
  expect_failure(predict(eight_and({"--set", "THREAD_BLOCK_SIZE=1024"})), 2, "at most 512");
  expect_failure(predict(eight, {"NCCL_CTRAN_ALLREDUCE_RING_TMPBUF_CHUNK_SIZE=2M"}), 2,
                 "NCCL_CTRAN_ALLREDUCE_RING_TMPBUF_CHUNK_SIZE: '2M' is not allowed");
  expect_failure(colltune({"predict"}), 2, "ctring");
}

}  // namespace
}  // namespace colltune
