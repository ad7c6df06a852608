// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The client library over a table file: no daemon runs.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "ask_in_c.h"
#include "colltune/client/client.h"
#include "colltune/table/decision_table.h"
#include "colltune/table_file/table_content.h"
#include "literal_decisions.h"
#include "process.h"

namespace colltune::testing {
namespace {

using ::testing::HasSubstr;

class TableClient : public ::testing::Test {
 protected:
  TableClient() {
    set.decisions = {decision(test_key(1024), {ranked("cpu.one_shot{n=2}", 1000, 2.0),
                                               ranked("mpi.default", 2000, 1.0)}),
                     decision(test_key(4096), {ranked("mpi.default", 9000, 1.0)})};
    TableContent content{.set = set,
                         .environment_digest = digest_of(test_environment()),
                         .groups = DecisionTable(set).answer_groups()};
    bytes = encode_table(content);
    std::ofstream(path, std::ios::binary) << bytes;
  }

  TemporaryFolder folder;
  std::string path = folder.file("cluster.ctt");
  std::string bytes;
  DecisionSet set{.generation = {"store", 7, "content"},
                  .decisions = {},
                  .environments = {{digest_of(test_environment()), test_environment()}}};
};

LookupQuery query(std::uint64_t size) {
  return {.problem = test_key(size).problem, .nodes = 1, .ranks_per_node = 2};
}

TEST_F(TableClient, LocalTableAnswersFromAFile) {
  const LocalTable table = LocalTable::open(path);
  EXPECT_EQ(table.generation(), set.generation);
  EXPECT_EQ(table.set(), set);
  for (const std::uint64_t size : {512U, 1024U, 2048U, 65536U})
    EXPECT_EQ(table.find(query(size)), DecisionTable(set).find(query(size)));
}

TEST_F(TableClient, LocalTableSaysWhyAFileIsNone) {
  const auto why = [](const std::string& file) {
    try {
      (void)LocalTable::open(file);
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("it was read");
  };
  EXPECT_THAT(why("/nowhere/cluster.ctt"), HasSubstr("/nowhere/cluster.ctt cannot be read"));
  std::string damaged = bytes;
  damaged.back() = static_cast<char>(damaged.back() ^ 1);
  std::ofstream(path, std::ios::binary) << damaged;
  EXPECT_THAT(why(path), HasSubstr(path + ": the evidence is not what its digest was made of"));
}

TEST_F(TableClient, CAnswersFromAFile) {
  char text[512];
  EXPECT_EQ(ask_table_in_c(path.c_str(), 0, nullptr, text, sizeof text), 0) << text;
  EXPECT_STREQ(text, "cpu.one_shot{n=2} 7");
  EXPECT_EQ(ask_table_in_c(path.c_str(), 7, "content", text, sizeof text), 0) << text;
}

TEST_F(TableClient, CRefusesOtherGenerationsAndFiles) {
  char text[512];
  EXPECT_EQ(ask_table_in_c(path.c_str(), 8, nullptr, text, sizeof text), 5);
  EXPECT_EQ(ask_table_in_c(path.c_str(), 7, "other", text, sizeof text), 9);
  EXPECT_THAT(text, HasSubstr("has another content: content, not other"));
  EXPECT_EQ(ask_table_in_c(path.c_str(), 0, "content", text, sizeof text), 3);
  std::ofstream(path, std::ios::binary) << "something else";
  EXPECT_EQ(ask_table_in_c(path.c_str(), 0, nullptr, text, sizeof text), 9);
  EXPECT_THAT(text, HasSubstr(path + " cannot be read as a table file"));
}

}  // namespace
}  // namespace colltune::testing
