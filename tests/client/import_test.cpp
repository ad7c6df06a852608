// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What `colltune import` takes and what it refuses.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "cli_fixture.h"

namespace colltune {
namespace {

using testing::Cli;
using testing::decision;
using testing::decisions_of;
using ::testing::HasSubstr;
using testing::measurement;
using testing::Result;
using testing::sweep;
using testing::test_environment;
using testing::test_key;

TEST_F(Cli, ImportAddsAResultsFileOnce) {
  const std::string file =
      write("results.jsonl", results("sweep-2", "2026-02-01T00:00:00Z", "cpu.two_shot"));
  const Result first = colltune({"import", file, "--db", database});
  EXPECT_EQ(first.code, 0) << first.errors;
  EXPECT_EQ(first.errors, "");
  EXPECT_THAT(first.out, HasSubstr("2 measurements added, 2 decisions published as generation 1"));
  const std::string exported = colltune({"export", "json", "--db", database}).out;
  const Result second = colltune({"import", file, "--db", database});
  EXPECT_EQ(second.code, 0) << second.errors;
  EXPECT_THAT(second.out, HasSubstr("sweep-2 is there already: nothing changed"));
  EXPECT_EQ(colltune({"export", "json", "--db", database}).out, exported);
  EXPECT_EQ(StoreReader(database).measurements("sweep-2").size(), 2u);
  EXPECT_EQ(StoreReader(database).sweeps()[0].state, SweepState::complete);
}

TEST_F(Cli, ImportOfAnOlderSweepKeepsTheDecisionsOfALaterOne) {
  fill();
  const std::string older =
      write("older.jsonl", results("sweep-0", "2025-01-01T00:00:00Z", "cpu.two_shot"));
  EXPECT_THAT(colltune({"import", older, "--db", database}).out, HasSubstr("no new decisions"));
  const std::string newer =
      write("newer.jsonl", results("sweep-2", "2026-02-01T00:00:00Z", "cpu.two_shot"));
  EXPECT_THAT(colltune({"import", newer, "--db", database}).out, HasSubstr("generation 2"));
  EXPECT_THAT(colltune({"import", older, "--db", database}).out, HasSubstr("nothing changed"));
  const auto json =
      nlohmann::json::parse(lookup({"--bytes", "1K", "--db", database, "--json"}).out);
  EXPECT_EQ(json["winner"], "cpu.two_shot");
}

TEST_F(Cli, ImportTakesWhatAKilledSweepLeftAndTheRestLater) {
  const std::string whole = results("sweep-2", "2026-02-01T00:00:00Z", "cpu.two_shot");
  std::size_t third_line = 0;
  for (int i = 0; i < 3; ++i) third_line = whole.find('\n', third_line) + 1;
  const std::string cut = write("cut.jsonl", whole.substr(0, third_line + 30));
  const Result first = colltune({"import", cut, "--db", database});
  EXPECT_EQ(first.code, 0) << first.errors;
  EXPECT_THAT(first.errors, HasSubstr("cut.jsonl:4: the last line is cut off"));
  EXPECT_THAT(first.errors, HasSubstr("filed as partial"));
  EXPECT_THAT(first.out, HasSubstr("1 measurements added, no new decisions"));
  EXPECT_EQ(StoreReader(database).sweeps()[0].state, SweepState::partial);
  EXPECT_THAT(colltune({"import", cut, "--db", database}).out, HasSubstr("nothing changed"));
}

TEST_F(Cli, ImportTakesEachPassOfATrialOnceAndShowTellsThem) {
  const auto results_with = [&](int passes) {
    std::ostringstream out;
    JournalLineWriter writer(out, "results");
    writer.write(JournalRecord::environment, test_environment());
    writer.write(JournalRecord::sweep, sweep("sweep-2", "2026-02-01T00:00:00Z"));
    for (int pass = 0; pass < passes; ++pass)
      for (const bool is_twin : {false, true}) {
        Measurement trial = measurement(test_key(1024), "mpi.default", 2000);
        trial.pass = pass;
        trial.is_twin = is_twin;
        writer.write(JournalRecord::measurement, trial);
      }
    return write("results.jsonl", out.str());
  };
  EXPECT_THAT(colltune({"import", results_with(1), "--db", database}).out,
              HasSubstr("2 measurements added"));
  EXPECT_THAT(colltune({"import", results_with(3), "--db", database}).out,
              HasSubstr("4 measurements added"));
  EXPECT_THAT(colltune({"import", results_with(3), "--db", database}).out,
              HasSubstr("nothing changed"));
  const auto shown = nlohmann::json::parse(
      colltune({"show", "measurements", "--db", database, "--json"}).out, nullptr, false);
  ASSERT_EQ(shown.size(), 6u);
  std::multiset<int> passes;
  for (const auto& one : shown) passes.insert(one.value("pass", -1));
  EXPECT_EQ(passes, (std::multiset<int>{0, 0, 1, 1, 2, 2}));
  EXPECT_THAT(colltune({"show", "measurements", "--db", database}).out, HasSubstr("pass"));
}

TEST_F(Cli, ADamagedResultsFileChangesNothing) {
  fill();
  const std::string before = colltune({"show", "sweeps", "--db", database}).out;
  std::string text = results("sweep-2", "2026-02-01T00:00:00Z", "cpu.two_shot");
  text.replace(text.find("2000"), 4, "1999");
  const std::string file = write("damaged.jsonl", text);
  expect_failure(colltune({"import", file, "--db", database}), 5, "damaged.jsonl:4");
  EXPECT_EQ(colltune({"show", "sweeps", "--db", database}).out, before);
  expect_failure(colltune({"import", folder.file("none"), "--db", database}), 2, "cannot be read");
  expect_failure(colltune({"import", write("empty", ""), "--db", database}), 2, "no sweep");
  expect_failure(colltune({"import", write("text", "hello\n"), "--db", database}), 5, "text:1");
}

TEST_F(Cli, AResultsFileWhoseRecordsDoNotBelongTogetherIsRefused) {
  const auto lines = [&](auto&& fill_lines) {
    std::ostringstream out;
    JournalLineWriter writer(out, "results");
    fill_lines(writer);
    return write("odd.jsonl", out.str());
  };
  const SweepRecord record = sweep("sweep-2", "2026-02-01T00:00:00Z");
  const auto begin = [&](JournalLineWriter& writer) {
    writer.write(JournalRecord::environment, test_environment());
    writer.write(JournalRecord::sweep, record);
  };
  const Measurement trial = measurement(test_key(8), "cpu.one_shot", 10);
  const auto import = [&](const std::string& file) {
    return colltune({"import", file, "--db", database});
  };
  expect_failure(import(lines([&](auto& writer) { writer.write(JournalRecord::sweep, record); })),
                 2, "odd.jsonl:1: environment");
  expect_failure(import(lines([&](auto& writer) {
                   writer.write(JournalRecord::environment, test_environment());
                   writer.write(JournalRecord::measurement, trial);
                 })),
                 2, "odd.jsonl:2: the record belongs to no sweep");
  expect_failure(import(lines([&](auto& writer) {
                   begin(writer);
                   writer.write(JournalRecord::measurement, trial);
                   writer.write(JournalRecord::measurement, trial);
                 })),
                 2, "odd.jsonl:4: the trial of cpu.one_shot");
  expect_failure(import(lines([&](auto& writer) {
                   begin(writer);
                   Measurement ill = trial;
                   ill.pass = -1;
                   writer.write(JournalRecord::measurement, ill);
                 })),
                 2, "odd.jsonl:3/value/pass: -1 is negative");
  expect_failure(import(lines([&](auto& writer) {
                   begin(writer);
                   writer.write(JournalRecord::decision, decisions_of("another", "a")[0]);
                 })),
                 2, "odd.jsonl:3: the decision is of sweep 'another'");
  expect_failure(import(lines([&](auto& writer) {
                   begin(writer);
                   writer.write(JournalRecord::end, sweep("another", ""));
                 })),
                 2, "odd.jsonl:3: the end is of sweep 'another'");
  expect_failure(import(lines([&](auto& writer) {
                   begin(writer);
                   writer.write(JournalRecord::sweep, record);
                 })),
                 2, "odd.jsonl:3: sweep sweep-2 is in the file twice");
  EXPECT_FALSE(std::filesystem::exists(database));
}

}  // namespace
}  // namespace colltune
