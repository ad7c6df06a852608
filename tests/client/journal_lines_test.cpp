// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/json/journal_lines.h"

#include <gtest/gtest.h>

#include <sstream>

#include "literal_decisions.h"

namespace colltune {
namespace {

using testing::decision;
using testing::ranked;
using testing::test_environment;
using testing::test_key;

Decision a_decision() { return decision(test_key(64), {ranked("mpi.default", 2000, 1.0)}); }

/// Three lines: an environment and two decisions.
std::string three_lines() {
  std::ostringstream out;
  JournalLineWriter writer(out, "out.jsonl");
  writer.write(JournalRecord::environment, test_environment());
  writer.write(JournalRecord::decision, a_decision());
  writer.write(JournalRecord::decision, a_decision());
  return out.str();
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line + '\n');
  return lines;
}

struct ReadAll {
  std::vector<JournalLine> lines;
  std::string cut_off;
};

ReadAll read_all(const std::string& text) {
  std::istringstream in(text);
  JournalLineReader reader(in, "results.jsonl");
  ReadAll all;
  while (auto line = reader.next()) all.lines.push_back(std::move(*line));
  all.cut_off = reader.cut_off();
  return all;
}

void expect_error(const std::string& text, StatusCode code, const std::string& part) {
  try {
    (void)read_all(text);
    FAIL() << "no error; expected: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), code) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

TEST(JournalLines, WhatIsWrittenIsRead) {
  const auto all = read_all(three_lines());
  ASSERT_EQ(all.lines.size(), 3u);
  EXPECT_EQ(all.cut_off, "");
  EXPECT_EQ(all.lines[0].record, JournalRecord::environment);
  EXPECT_EQ(all.lines[0].as<Environment>(), test_environment());
  EXPECT_EQ(all.lines[2].record, JournalRecord::decision);
  EXPECT_EQ(all.lines[2].as<Decision>(), a_decision());
  EXPECT_EQ(all.lines[2].where, "results.jsonl:3");
}

TEST(JournalLines, AnEmptyFileHasNoLines) {
  EXPECT_TRUE(read_all("").lines.empty());
  EXPECT_EQ(read_all("").cut_off, "");
}

TEST(JournalLines, FilesMayBeConcatenated) {
  EXPECT_EQ(read_all(three_lines() + three_lines()).lines.size(), 6u);
}

TEST(JournalLines, BytesThatAreNoUtf8AreReplaced) {
  Environment odd = test_environment();
  odd.cpu_model = "caf\xe9";
  std::ostringstream out;
  JournalLineWriter(out, "out").write(JournalRecord::environment, odd);
  const auto all = read_all(out.str());
  ASSERT_EQ(all.lines.size(), 1u);
  EXPECT_EQ(all.lines[0].as<Environment>().cpu_model, "caf\xef\xbf\xbd");
}

TEST(JournalLines, ACutOffLastLineEndsTheFileAndIsReported) {
  const std::string text = three_lines();
  const std::size_t last = lines_of(text)[2].size();
  for (const std::size_t missing : {std::size_t{2}, last / 2, last - 1}) {
    const auto all = read_all(text.substr(0, text.size() - missing));
    EXPECT_EQ(all.lines.size(), 2u) << missing;
    EXPECT_NE(all.cut_off.find("results.jsonl:3"), std::string::npos) << all.cut_off;
  }
  // Only the line end is missing: the line is whole.
  EXPECT_EQ(read_all(text.substr(0, text.size() - 1)).lines.size(), 3u);
}

TEST(JournalLines, DamageBeforeTheLastLineIsAnError) {
  auto lines = lines_of(three_lines());
  expect_error(lines[0] + lines[1].substr(0, 40) + "\n" + lines[2], StatusCode::data_loss,
               "results.jsonl:2: ");
  expect_error(lines[0] + lines[1].substr(0, 40) + "\n", StatusCode::data_loss, "no JSON");
  std::string changed = lines[1];
  changed.replace(changed.find("2000"), 4, "1000");
  expect_error(lines[0] + changed + lines[2], StatusCode::data_loss, "digest");
}

TEST(JournalLines, MissingAndSwappedLinesAreNoticed) {
  const auto lines = lines_of(three_lines());
  expect_error(lines[0] + lines[2], StatusCode::data_loss, "results.jsonl:2: ");
  expect_error(lines[1], StatusCode::data_loss, "carries number 2 where 1 follows");
  expect_error(lines[0] + lines[2] + lines[1], StatusCode::data_loss, "another order");
}

TEST(JournalLines, AnotherFormatIsAClearError) {
  expect_error("{\"hello\":1}\n", StatusCode::invalid_argument, "key 'version' is missing");
  expect_error("[1,2]\n", StatusCode::invalid_argument, "expected an object");
  for (const int version : {journal_version - 1, journal_version + 1})
    expect_error("{\"version\":" + std::to_string(version) + "}\n", StatusCode::invalid_argument,
                 "format version " + std::to_string(version));
  expect_error("\n", StatusCode::data_loss, "results.jsonl:1");
  expect_error(std::string(100000, '[') + "\n", StatusCode::data_loss, "nested too deep");
}

TEST(JournalLines, AValueOfAnotherTypeNamesFileLineAndPath) {
  const auto all = read_all(three_lines());
  try {
    (void)all.lines[1].as<Environment>();
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).rfind("results.jsonl:2", 0), 0u) << error.what();
  }
}

TEST(JournalLines, AnUnknownRecordListsTheAllowedOnes) {
  nlohmann::json line = {
      {"record", "poem"}, {"version", journal_version}, {"number", 1}, {"value", 1}};
  line["digest"] = digest_of_text(line.dump());
  expect_error(line.dump() + "\n", StatusCode::invalid_argument,
               "environment, sweep, measurement, decision, end");
}

TEST(JournalLines, AFullDiskIsAnError) {
  std::ostringstream out;
  JournalLineWriter writer(out, "out.jsonl");
  out.setstate(std::ios::badbit);
  try {
    writer.write(JournalRecord::environment, test_environment());
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::resource_exhausted);
    EXPECT_NE(std::string(error.what()).find("out.jsonl"), std::string::npos);
  }
}

}  // namespace
}  // namespace colltune
