// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The program `colltune` as a process, over a real database.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "colltune/db/store.h"
#include "colltune/json/journal_lines.h"
#include "colltune/vocabulary/canonical.h"
#include "literal_decisions.h"
#include "process.h"

namespace colltune {
namespace {

using testing::decision;
using ::testing::HasSubstr;
using testing::ranked;
using testing::Result;
using ::testing::StartsWith;
using testing::test_environment;
using testing::test_key;
using testing::test_topology;

Measurement measurement(const TuningKey& key, const std::string& variant, int sample_ns) {
  return {.key = key,
          .variant = parse_variant(variant),
          .family = "colltune",
          .protocol = variant,
          .is_baseline = variant == "mpi.default",
          .samples = {std::chrono::nanoseconds(sample_ns), std::chrono::nanoseconds(sample_ns + 10),
                      std::chrono::nanoseconds(sample_ns + 40)},
          .slowest_ranks = {0, 1, 0},
          .samples_per_round = 3,
          .ranks_ran = 2,
          .verified_calls = 2,
          .seed = 7};
}

SweepRecord sweep(const std::string& uuid, const std::string& started_at) {
  return {.uuid = uuid,
          .started_at = started_at,
          .configuration = "{}",
          .environment_digest = digest_of(test_environment()),
          .launch = "2 ranks on 1 node",
          .seed = 7,
          .planned_trials = 4};
}

std::vector<Decision> decisions_of(const std::string& uuid, const std::string& small_winner) {
  std::vector<Decision> all{
      decision(test_key(1024), {ranked(small_winner, 1000, 2.0), ranked("mpi.default", 2000, 1.0)}),
      decision(test_key(1 << 20), {ranked("mpi.default", 90000, 1.0)})};
  for (auto& each : all) each.sweep_uuid = uuid;
  return all;
}

class Cli : public ::testing::Test {
 protected:
  /// A database with one finished sweep and one generation.
  void fill() const {
    Store store(database);
    store.put_environment(test_environment());
    store.begin_sweep(sweep("sweep-1", "2026-01-01T00:00:00Z"));
    const std::vector<Measurement> trials{measurement(test_key(1024), "cpu.one_shot{n=2}", 1000),
                                          measurement(test_key(1024), "mpi.default", 2000)};
    store.append("sweep-1", trials);
    store.finish_sweep("sweep-1", SweepState::complete, "2026-01-01T00:01:00Z", "{}");
    store.publish(decisions_of("sweep-1", "cpu.one_shot{n=2}"), "2026-01-01T00:01:00Z");
  }

  /// A results file of a sweep; `lines` of it where that is not negative.
  std::string results(const std::string& uuid, const std::string& started_at,
                      const std::string& small_winner) const {
    std::ostringstream out;
    JournalLineWriter writer(out, "results");
    SweepRecord record = sweep(uuid, started_at);
    writer.write(JournalRecord::environment, test_environment());
    writer.write(JournalRecord::sweep, record);
    writer.write(JournalRecord::measurement, measurement(test_key(1024), small_winner, 1000));
    writer.write(JournalRecord::measurement, measurement(test_key(1024), "mpi.default", 2000));
    for (const auto& each : decisions_of(uuid, small_winner))
      writer.write(JournalRecord::decision, each);
    record.state = SweepState::complete;
    record.finished_at = started_at;
    record.summary = "{}";
    writer.write(JournalRecord::end, record);
    return out.str();
  }

  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(folder.file(name), std::ios::binary) << text;
    return folder.file(name);
  }

  [[nodiscard]] Result colltune(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), COLLTUNE_PROGRAM);
    return testing::run_process(folder, arguments);
  }

  [[nodiscard]] Result lookup(std::vector<std::string> more) const {
    std::vector<std::string> arguments{"lookup",  "all_reduce", "--dtype",          "f32",
                                       "--nodes", "1",          "--ranks-per-node", "2"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return colltune(arguments);
  }

  void expect_failure(const Result& result, int code, const std::string& part) const {
    EXPECT_EQ(result.code, code) << result.errors;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.errors, StartsWith("colltune: "));
    EXPECT_THAT(result.errors, HasSubstr(part));
  }

  testing::TemporaryFolder folder;
  std::string database = folder.file("tuning.db");
};

TEST_F(Cli, LookupPrintsTheWinnerFirst) {
  fill();
  const Result result = lookup({"--bytes", "1KiB", "--op", "sum", "--db", database});
  EXPECT_EQ(result.code, 0) << result.errors;
  EXPECT_EQ(result.errors, "");
  EXPECT_THAT(result.out, HasSubstr("winner       cpu.one_shot{n=2}\n"));
  EXPECT_THAT(result.out, HasSubstr("time         1.00 us, speed-up 2.00x\n"));
  EXPECT_THAT(result.out, HasSubstr("status       no_baseline, provisional\n"));
  EXPECT_THAT(result.out, HasSubstr("source       measured (from 1KiB), match exact\n"));
  EXPECT_THAT(result.out, HasSubstr("generation   1 of "));
  EXPECT_THAT(result.out, HasSubstr("Open MPI 4.1.4"));
  EXPECT_LT(result.out.find("1  cpu.one_shot"), result.out.find("2  mpi.default"));
}

TEST_F(Cli, LookupAsJsonCarriesTheDocumentedKeys) {
  fill();
  const Result result = lookup({"--bytes", "1024", "--db", database, "--json"});
  ASSERT_EQ(result.code, 0) << result.errors;
  const auto json = nlohmann::json::parse(result.out);
  EXPECT_EQ(json["winner"], "cpu.one_shot{n=2}");
  EXPECT_EQ(json["source"], "measured");
  EXPECT_EQ(json["median_ns"], 1000);
  EXPECT_EQ(json["speedup_over_baseline"], 2.0);
  EXPECT_EQ(json["generation"]["number"], 1);
  EXPECT_EQ(json["key"]["problem"]["collective"], "all_reduce");
  ASSERT_EQ(json["alternatives"].size(), 1u);
  EXPECT_EQ(json["alternatives"][0]["variant"], "mpi.default");
  EXPECT_EQ(json["alternatives"][0]["family"], "openmpi");
  EXPECT_EQ(json["environment"]["cpu_model"], "Test CPU");
}

TEST_F(Cli, AWorldThatIsNotUniqueIsAnErrorThatListsTheWorlds) {
  fill();
  {
    Store store(database);
    auto more = decisions_of("sweep-1", "cpu.one_shot{n=2}");
    for (auto& each : more) each.key.topology = test_topology("x86_64-avx512");
    store.publish(more, "2026-01-01T00:02:00Z");
  }
  expect_failure(lookup({"--bytes", "1024", "--db", database}), 2, "x86_64-avx512");
  const Result named = lookup({"--bytes", "1024", "--db", database, "--arch", "x86_64-avx512"});
  EXPECT_EQ(named.code, 0) << named.errors;
}

TEST_F(Cli, WrongQuestionsSayWhatIsAllowed) {
  fill();
  const std::vector<std::string> db{"--db", database};
  const auto ask = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--db", database});
    return colltune(arguments);
  };
  expect_failure(ask({"lookup", "all_redcue", "--bytes", "1K", "--dtype", "f32"}), 2, "all_gather");
  expect_failure(ask({"lookup", "all_reduce", "--bytes", "1KB", "--dtype", "f32"}), 2,
                 "--bytes: '1KB' is not a size");
  expect_failure(ask({"lookup", "all_reduce", "--bytes", "1K", "--dtype", "f31"}), 2, "--dtype: ");
  expect_failure(ask({"lookup", "all_reduce", "--bytes", "1K", "--dtype", "f32", "--op", "add"}), 2,
                 "--op: unknown reduce op 'add'");
  expect_failure(ask({"lookup", "all_reduce", "--bytes", "1K", "--dtype", "f32", "--op", "none"}),
                 2, "--op: all_reduce needs");
  expect_failure(ask({"lookup", "broadcast", "--bytes", "1K", "--dtype", "f32", "--op", "sum"}), 2,
                 "--op: broadcast does not reduce");
  expect_failure(ask({"lookup", "all_reduce", "--bytes", "1K", "--dtype", "f32", "--nodes", "0"}),
                 2, "--nodes");
  expect_failure(
      ask({"lookup", "all_reduce", "--bytes", "1K", "--dtype", "f32", "--placement", "x"}), 2,
      "dedicated, oversubscribed");
  expect_failure(ask({"lookup", "all_reduce", "--bytes", "1K", "--dtype", "f32", "--bites"}), 2,
                 "--bites");
  expect_failure(ask({"lookup", "all_reduce", "--dtype", "f32"}), 2, "--bytes");
  expect_failure(colltune({}), 2, "subcommand");
  expect_failure(colltune({"show", "poems"}), 2, "sweeps, decisions, measurements, environments");
}

TEST_F(Cli, WhatIsNotStoredIsNotFound) {
  fill();
  expect_failure(lookup({"--bytes", "1K", "--in-place", "--db", database}), 3, "nothing is stored");
  expect_failure(lookup({"--bytes", "1K", "--generation", "99", "--db", database}), 3, "99");
  expect_failure(lookup({"--bytes", "1K", "--family", "nccl", "--db", database}), 3, "family");
}

TEST_F(Cli, DatabasesThatAreNotThereOrNotOurs) {
  expect_failure(lookup({"--bytes", "1K", "--db", database}), 2, "there is no such file");
  expect_failure(lookup({"--bytes", "1K"}), 2, "--db FILE or --server ADDRESS");
  expect_failure(lookup({"--bytes", "1K", "--db", database, "--server", "unix:/x"}), 2, "both");
  const std::string foreign = write("foreign.db", std::string(5000, 'x'));
  for (const char* what : {"sweeps", "decisions", "measurements", "environments"}) {
    const Result result = colltune({"show", what, "--db", foreign});
    EXPECT_NE(result.code, 0);
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.errors, HasSubstr("foreign.db"));
  }
  { Store empty(database); }
  const Result nothing = lookup({"--bytes", "1K", "--db", database});
  expect_failure(nothing, 3, "");
}

TEST_F(Cli, ShowPrintsTablesAndArrays) {
  fill();
  const auto array = [&](const char* what) {
    const Result result = colltune({"show", what, "--db", database, "--json"});
    EXPECT_EQ(result.code, 0) << result.errors;
    return nlohmann::json::parse(result.out);
  };
  EXPECT_EQ(array("sweeps")[0]["state"], "complete");
  ASSERT_EQ(array("decisions").size(), 2u);
  EXPECT_EQ(array("decisions")[0]["winner"], "cpu.one_shot{n=2}");
  EXPECT_EQ(array("measurements")[0]["sweep_uuid"], "sweep-1");
  EXPECT_EQ(array("measurements")[0]["samples_ns"].size(), 3u);
  EXPECT_EQ(array("environments")[0]["environment"]["cpu_model"], "Test CPU");

  const auto table = [&](const char* what) {
    return colltune({"show", what, "--db", database}).out;
  };
  EXPECT_THAT(table("sweeps"), HasSubstr("complete"));
  // 1024 bytes in 1000 ns; all-reduce over two ranks has the factor 1.
  EXPECT_THAT(table("decisions"),
              ::testing::ContainsRegex("1KiB +256 +f32 +sum +no +any +1.00 +1.02 +1.02"));
  EXPECT_THAT(table("measurements"), ::testing::ContainsRegex("ok +3 +1.01 +1.00 +1.04"));
  EXPECT_THAT(table("environments"), HasSubstr(digest_of(test_environment())));
  expect_failure(colltune({"show", "measurements", "--sweep", "none", "--db", database}), 3,
                 "no sweep 'none'");
}

/// Puts the variant into quarantine for 1 KiB and for 1 MiB, after a failure of sweep-2.
void quarantine_for_both_sizes(const std::string& database, const std::string& variant) {
  Store store(database);
  store.begin_sweep(sweep("sweep-2", "2026-01-02T00:00:00Z"));
  for (const std::uint64_t size : {1024, 1 << 20}) {
    const TuningKey key = test_key(size);
    EXPECT_EQ(store.record_failure({.sweep_uuid = "sweep-2",
                                    .key = key,
                                    .variant = parse_variant(variant),
                                    .outcome = Outcome::crashed,
                                    .detail = "rank 1: signal 11",
                                    .recorded_at = "2026-01-02T00:01:00Z"}),
              1);
    store.quarantine({.key = key,
                      .variant = parse_variant(variant),
                      .failures = 1,
                      .outcome = Outcome::crashed,
                      .reason = "rank 1 died",
                      .since = "2026-01-02T00:02:00Z"});
  }
}

TEST_F(Cli, ShowPrintsFailuresAndQuarantines) {
  fill();
  quarantine_for_both_sizes(database, "cpu.one_shot{n=2}");
  const auto show = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "show");
    arguments.insert(arguments.end(), {"--db", database});
    const Result result = colltune(arguments);
    EXPECT_EQ(result.code, 0) << result.errors;
    return result.out;
  };
  EXPECT_THAT(show({"failures"}), HasSubstr("rank 1: signal 11"));
  EXPECT_THAT(show({"quarantines"}),
              ::testing::ContainsRegex("cpu.one_shot\\{n=2\\} +crashed +1 +rank 1 died"));
  const auto failures = nlohmann::json::parse(show({"failures", "--json"}));
  ASSERT_EQ(failures.size(), 2u);
  EXPECT_EQ(failures[0]["sweep_uuid"], "sweep-2");
  EXPECT_EQ(failures[0]["outcome"], "crashed");
  EXPECT_EQ(show({"failures", "--json", "--sweep", "sweep-1"}), "[]\n");
  const auto quarantines = nlohmann::json::parse(show({"quarantines", "--json"}));
  ASSERT_EQ(quarantines.size(), 2u);
  EXPECT_EQ(quarantines[0]["variant"], "cpu.one_shot{n=2}");
  EXPECT_EQ(quarantines[0]["key"]["problem"]["collective"], "all_reduce");
  EXPECT_EQ(quarantines[0]["key_digest"], digest_of_value(test_key(1024)));
  EXPECT_EQ(quarantines[0]["failures"], 1);
}

TEST_F(Cli, QuarantinesAreReleasedForOneKeyOrForAll) {
  fill();
  quarantine_for_both_sizes(database, "cpu.one_shot{n=2}");
  const auto release = [&](std::vector<std::string> more) {
    more.insert(more.begin(), {"quarantine", "release", "--db", database, "--variant"});
    return colltune(more);
  };
  const std::string digest = digest_of_value(test_key(1024));
  expect_failure(release({"cpu.two_shot"}), 3, "no quarantine of cpu.two_shot is in force");
  expect_failure(release({"cpu.one_shot{n=2}", "--key-digest", "xyz"}), 3, "begins with 'xyz'");
  expect_failure(release({"cpu.one_shot{n="}), 2, "cpu.one_shot{n=");
  EXPECT_EQ(StoreReader(database).quarantines().size(), 2u);
  const Result one = release({"cpu.one_shot{n=2}", "--key-digest", digest.substr(0, 8)});
  EXPECT_EQ(one.code, 0) << one.errors;
  EXPECT_THAT(one.out, StartsWith("released cpu.one_shot{n=2} for all_reduce"));
  ASSERT_EQ(StoreReader(database).quarantines().size(), 1u);
  EXPECT_EQ(StoreReader(database).quarantines()[0].key, test_key(1 << 20));
  EXPECT_EQ(release({"cpu.one_shot{n=2}"}).code, 0);
  EXPECT_EQ(colltune({"show", "quarantines", "--db", database, "--json"}).out, "[]\n");
  const auto all = nlohmann::json::parse(
      colltune({"show", "quarantines", "--db", database, "--json", "--all"}).out);
  ASSERT_EQ(all.size(), 2u);
  EXPECT_NE(all[0]["released_at"], "");
  {
    Store owner(database);
    expect_failure(release({"cpu.one_shot{n=2}"}), 2, "is owned by process");
  }
  const std::string missing = folder.file("missing.db");
  expect_failure(colltune({"quarantine", "release", "--db", missing, "--variant", "a"}), 2,
                 "there is no such file");
  EXPECT_FALSE(std::filesystem::exists(missing));
}

TEST_F(Cli, ImportLeavesOutWhatIsInQuarantine) {
  fill();
  quarantine_for_both_sizes(database, "cpu.two_shot");
  const std::string file =
      write("results.jsonl", results("sweep-3", "2026-02-01T00:00:00Z", "cpu.two_shot"));
  const Result result = colltune({"import", file, "--db", database});
  EXPECT_EQ(result.code, 0) << result.errors;
  const auto json =
      nlohmann::json::parse(lookup({"--bytes", "1K", "--db", database, "--json"}).out);
  EXPECT_EQ(json["winner"], "mpi.default");
}

TEST_F(Cli, ExportWritesTheSameDocumentToAFileAndToStdout) {
  fill();
  const Result printed = colltune({"export", "json", "--db", database});
  ASSERT_EQ(printed.code, 0) << printed.errors;
  const std::string file = folder.file("out.json");
  const Result written = colltune({"export", "json", "--db", database, "-o", file});
  EXPECT_EQ(written.code, 0) << written.errors;
  EXPECT_EQ(written.out, "");
  EXPECT_EQ(testing::read_file(file), printed.out);
  EXPECT_EQ(nlohmann::json::parse(printed.out)["format"], "colltune.decisions");
  expect_failure(colltune({"export", "json", "--db", database, "-o", "/nowhere/x.json"}), 2,
                 "/nowhere/x.json cannot be written");
}

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
                 2, "odd.jsonl:3: value/pass is -1; passes count from 0");
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

TEST_F(Cli, HelpShowsAnExample) {
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"--help"},
                                             {"lookup", "--help"},
                                             {"export", "--help"},
                                             {"export", "json", "--help"},
                                             {"show", "--help"},
                                             {"show", "decisions", "--help"},
                                             {"quarantine", "--help"},
                                             {"quarantine", "release", "--help"},
                                             {"import", "--help"}}) {
    const Result result = colltune(command);
    EXPECT_EQ(result.code, 0);
    EXPECT_EQ(result.errors, "");
    EXPECT_THAT(result.out, HasSubstr("Example:\n  colltune "));
    EXPECT_THAT(result.out, HasSubstr("Exit codes"));
  }
}

TEST_F(Cli, AServerThatIsNotThereIsNamed) {
  if (!COLLTUNE_HAS_SERVER) GTEST_SKIP() << "built without gRPC";
  const std::string address = "unix:" + folder.file("nobody.sock");
  expect_failure(lookup({"--bytes", "1K", "--server", address}), 4, address);
  expect_failure(colltune({"export", "json", "--server", address}), 4, "start one with");
  expect_failure(lookup({"--bytes", "1K", "--server", "nonsense"}), 2, "host:port");
}

/// A database with sweeps in which `fast` takes `of_fast[i]` ns and the baseline 2000.
class Reports : public Cli {
 protected:
  static Measurement timed(const TuningKey& key, const std::string& variant, int ns) {
    Measurement trial = measurement(key, variant, ns);
    trial.samples_per_round = 1;
    trial.samples.clear();
    for (int round = 0; round < 24; ++round) trial.samples.emplace_back(ns + 2 * ((round * 7) % 5));
    trial.slowest_ranks.assign(trial.samples.size(), 0);
    trial.conditions.steal = 0.01;
    return trial;
  }

  static std::vector<Measurement> trials_with(int of_fast) {
    std::vector<Measurement> trials;
    for (const std::uint64_t bytes : {1024, 4096}) {
      trials.push_back(timed(test_key(bytes), "mpi.default", 2000));
      trials.push_back(timed(test_key(bytes), "mpi.default", 2001));
      trials.back().is_twin = true;
      trials.push_back(timed(test_key(bytes), "fast", of_fast));
    }
    for (const char* variant : {"mpi.default", "fast"}) {
      trials.push_back(
          timed(test_key(2048), variant, variant == std::string("fast") ? of_fast : 2000));
      trials.back().is_holdout = true;
    }
    return trials;
  }

  void store(const std::vector<int>& of_fast, const std::string& summary = "{}") const {
    Store store(database);
    store.put_environment(test_environment());
    for (std::size_t i = 0; i < of_fast.size(); ++i) {
      const std::string uuid = "sweep-" + std::to_string(i + 1);
      store.begin_sweep(sweep(uuid, "2026-01-0" + std::to_string(i + 1) + "T00:00:00Z"));
      store.append(uuid, trials_with(of_fast[i]));
      store.finish_sweep(uuid, SweepState::complete, "2026-01-09T00:00:00Z", summary);
    }
  }

  [[nodiscard]] nlohmann::json report(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), "report");
    arguments.insert(arguments.end(), {"--db", database, "--json"});
    const Result result = colltune(arguments);
    EXPECT_EQ(result.code, 0) << result.errors;
    return nlohmann::json::parse(result.out, nullptr, false);
  }
};

TEST_F(Reports, SweepIsOnePage) {
  store({1000}, R"({"elapsed_ns": 5000000000, "budget_ns": 10000000000, "planned_keys": 3,
                    "phases_ns": {"batch": 4000000000},
                    "decision_policy": {"minimum_margin": 0.03, "confidence": 0.95}})");
  const Result result = colltune({"report", "sweep", "--db", database});
  EXPECT_EQ(result.code, 0) << result.errors;
  for (const char* part :
       {"sweep        sweep-1, complete", "3 measured of 3 planned; 8 trials, 0 of them not ok",
        "2 displaced, 0 kept, 0 undecided, 0 no_baseline (margin 3 %, confidence 95 %)",
        "0 confirmed, 2 provisional", "1.99", "the twin won in 0 of 2 keys", "steal 1.0 %",
        "5.0 s of a budget of 10.0 s (50 %): batch 80 %",
        "192 runs; 24 rounds per key in the median (24 to 24); racing spared 0 %"})
    EXPECT_THAT(result.out, HasSubstr(part));
  EXPECT_THAT(result.out,
              ::testing::ContainsRegex("1KiB +f32 +sum +2\\.00 +1\\.00 +(1\\.99|2\\.00)x"));
  const nlohmann::json json = report({"sweep"});
  EXPECT_EQ(json["verdicts"]["displaced"], 2);
  EXPECT_EQ(json["null_test"]["keys"], 2);
  EXPECT_EQ(json["null_test"]["wins"], 0);
  EXPECT_EQ(json["keys"], 3);
  EXPECT_EQ(json["gain"]["keys"], 2);
  EXPECT_NEAR(json["gain"]["geometric_mean"].get<double>(), 2, 0.01);
  EXPECT_EQ(json["bought"]["runs"], 192);
  EXPECT_EQ(json["sweep"]["uuid"], "sweep-1");
  EXPECT_EQ(json["noise"]["void"], 0);
  EXPECT_EQ(json["decisions"].size(), 4u);  // over all families, and of the one
}

TEST_F(Reports, ATrialOfSeveralPassesIsOneTrial) {
  {
    Store store(database);
    store.put_environment(test_environment());
    store.begin_sweep(sweep("sweep-1", "2026-01-01T00:00:00Z"));
    for (int pass = 0; pass < 2; ++pass) {
      auto trials = trials_with(pass == 0 ? 500 : 2000);
      if (pass > 0) std::erase_if(trials, [](const auto& trial) { return trial.is_holdout; });
      for (Measurement& trial : trials) trial.pass = pass;
      store.append("sweep-1", trials);
    }
    store.finish_sweep("sweep-1", SweepState::complete, "2026-01-09T00:00:00Z", "{}");
  }
  const Result result = colltune({"report", "sweep", "--db", database});
  EXPECT_EQ(result.code, 0) << result.errors;
  // Three keys of 24 rounds, two of them twice.
  for (const char* part : {"3 measured; 8 trials, 0 of them not ok",
                           "336 runs in 5 visits; 48 rounds per key in the median (24 to 48)"})
    EXPECT_THAT(result.out, HasSubstr(part));
  const nlohmann::json json = report({"sweep"});
  EXPECT_EQ(json["trials"], 8);
  EXPECT_EQ(json["bought"]["visits"], 5);
  for (const auto& decision : json["decisions"])
    for (const auto& ranked : decision["ranked"]) {
      EXPECT_EQ(ranked["verified_calls"], 4) << ranked;  // two in each pass
      if (ranked["variant"] == "fast") {                 // four times as fast, then equally fast
        EXPECT_NEAR(ranked["speedup_over_baseline"].get<double>(), 2, 0.02);
      }
    }
}

TEST_F(Reports, SweepSaysWhatFailedAndWhatIsPublished) {
  auto trials = trials_with(1000);
  trials.push_back(measurement(test_key(1024), "broken", 10));
  trials.back().outcome = Outcome::wrong;
  trials.back().detail = "rank 1: element 3 is 4, expected 5";
  auto published =
      decision(test_key(1024), {ranked("fast", 1000, 2.0), ranked("mpi.default", 2000, 1.0)});
  published.verdict = Verdict::displaced;
  published.status = DecisionStatus::confirmed;
  published.confirmation = {.launches = 5, .speedup = 2, .low = 1.9, .high = 2.1};
  {
    Store store(database);
    store.put_environment(test_environment());
    store.begin_sweep(sweep("sweep-1", "2026-01-01T00:00:00Z"));
    store.append("sweep-1", trials);
    store.publish(std::vector{published}, "2026-01-01T00:01:00Z");
  }
  const Result result = colltune({"report", "sweep", "--db", database, "--sweep", "sweep-1"});
  EXPECT_THAT(result.out, HasSubstr("sweep-1, running"));
  EXPECT_THAT(result.out, HasSubstr("1 confirmed, 1 provisional"));
  EXPECT_THAT(result.out, HasSubstr("not known: the sweep did not end"));
  EXPECT_THAT(result.out, HasSubstr("wrong: broken of all_reduce f32 sum 1KiB: rank 1: element 3"));
  EXPECT_THAT(
      lookup({"--bytes", "1KiB", "--db", database}).out,
      HasSubstr("status       displaced, confirmed by 5 launches (2.00x, at least 1.90x)\n"));
  const auto json = nlohmann::json::parse(
      lookup({"--bytes", "1KiB", "--db", database, "--json"}).out, nullptr, false);
  EXPECT_EQ(json["status"], "confirmed");
  EXPECT_EQ(json["verdict"], "displaced");
  EXPECT_EQ(json["confirmation"]["launches"], 5);
  EXPECT_THAT(colltune({"show", "decisions", "--db", database}).out,
              ::testing::ContainsRegex("displaced +confirmed +fast"));
}

TEST_F(Reports, RegretIsJudgedInThreeWays) {
  // The third sweep met a machine on which `fast` was slow.
  store({1000, 1000, 2500});
  const nlohmann::json json = report({"regret", "--sweep", "sweep-1"});
  EXPECT_EQ(json["launches"], 3);
  EXPECT_EQ(json["cross_fitted"]["choices"], 4);
  EXPECT_NEAR(json["cross_fitted"]["chosen_speedup"].get<double>(), 2, 0.01);
  EXPECT_EQ(json["cross_fitted"]["within_five_percent"], 1.0);
  EXPECT_EQ(json["pooled"]["choices"], 2);
  // The median of 2 and 0.8.
  EXPECT_NEAR(json["pooled"]["keys"][0]["chosen_speedup"].get<double>(), 1.4, 0.01);
  EXPECT_EQ(json["held_out"]["choices"], 1);
  EXPECT_EQ(json["held_out"]["keys"][0]["chosen"], "fast");
  EXPECT_EQ(json["held_out"]["keys"][0]["key"]["problem"]["message_size_bytes"], 2048);
  EXPECT_NEAR(json["held_out"]["chosen_speedup"].get<double>(), 2, 0.01);
  const nlohmann::json all = report({"regret"});
  EXPECT_EQ(all["sweep_uuid"], "sweep-3");
  EXPECT_EQ(all["pooled"]["choices"], 6);
  EXPECT_NEAR(all["pooled"]["within_five_percent"].get<double>(), 4.0 / 6, 0.01);
  const Result text = colltune({"report", "regret", "--db", database});
  EXPECT_EQ(text.code, 0) << text.errors;
  EXPECT_THAT(text.out, HasSubstr("default 1.000x, chosen "));
  EXPECT_THAT(text.out, HasSubstr("regret at most 5 % in 66.7 % of 6 choices"));
  EXPECT_THAT(text.out,
              HasSubstr("by launches: each sweep judged by all other launches, 3 in all"));
}

TEST_F(Reports, WhatIsNotThereIsSaid) {
  for (const char* name : {"sweep", "regret"}) {
    expect_failure(colltune({"report", name, "--db", database}), 2, "there is no such file");
    expect_failure(colltune({"report", name}), 2, "--db");
  }
  expect_failure(colltune({"report"}), 2, "allowed are sweep, regret");
  { const Store store(database); }
  expect_failure(colltune({"report", "sweep", "--db", database}), 3, "holds no sweep");
  store({1000});
  expect_failure(colltune({"report", "regret", "--db", database, "--sweep", "other"}), 3,
                 "holds no sweep 'other'");
  {
    Store store(database);
    SweepRecord confirming = sweep("launch-1", "2026-02-01T00:00:00Z");
    confirming.purpose = SweepPurpose::confirm;
    confirming.confirmation = "confirmation-1";
    store.begin_sweep(confirming);
  }
  expect_failure(colltune({"report", "sweep", "--db", database, "--sweep", "launch-1"}), 2,
                 "is a launch that confirms decisions");
  // It is not the newest sweep either.
  EXPECT_EQ(report({"sweep"})["sweep"]["uuid"], "sweep-1");
}

}  // namespace
}  // namespace colltune
