// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Results files and databases with values that no sweep of ours writes.

#include <functional>

#include "cli_fixture.h"

namespace colltune {
namespace {

using namespace testing;
using ::testing::HasSubstr;
using ::testing::Not;

class HostileResults : public Cli {
 protected:
  struct Spoiler {
    std::function<void(Environment&)> environment = [](Environment&) {};
    std::function<void(SweepRecord&)> sweep = [](SweepRecord&) {};
    std::function<void(Measurement&)> measurement = [](Measurement&) {};
    std::function<void(Decision&)> decision = [](Decision&) {};
  };

  /// A results file of sweep-2, spoilt.
  std::string file_of(const Spoiler& spoil) const {
    std::ostringstream out;
    JournalLineWriter writer(out, "results");
    Environment environment = test_environment();
    spoil.environment(environment);
    const std::string digest = digest_of(environment);
    SweepRecord record = testing::sweep("sweep-2", "2026-02-01T00:00:00Z");
    record.environment_digest = digest;
    spoil.sweep(record);
    Measurement trial = testing::measurement(test_key(1024), "cpu.two_shot", 1000);
    trial.key.environment_digest = digest;
    spoil.measurement(trial);
    Decision chosen = decisions_of("sweep-2", "cpu.two_shot")[0];
    chosen.key.environment_digest = digest;
    spoil.decision(chosen);
    writer.write(JournalRecord::environment, environment);
    writer.write(JournalRecord::sweep, record);
    writer.write(JournalRecord::measurement, trial);
    writer.write(JournalRecord::decision, chosen);
    record.state = SweepState::complete;
    record.finished_at = record.started_at;
    record.summary = "{}";
    writer.write(JournalRecord::end, record);
    return write("spoilt.jsonl", out.str());
  }

  Result import(const std::string& file) const {
    return colltune({"import", file, "--db", database});
  }
};

TEST_F(HostileResults, WhatNoReaderCanUseIsRefusedByName) {
  struct Case {
    Spoiler spoiler;
    std::string message;
  };
  const auto first = [](Decision& decision) -> RankedVariant& { return decision.ranked[0]; };
  const auto of_decision = [](std::function<void(Decision&)> spoil, const std::string& message) {
    return Case{{.decision = std::move(spoil)}, "spoilt.jsonl:4/value/" + message};
  };
  const std::vector<Case> cases{
      of_decision([&](Decision& d) { first(d).limits.ranks_multiple_of = 0; },
                  "ranked/0/limits/ranks_multiple_of: 0 is not allowed"),
      of_decision([&](Decision& d) { first(d).limits.ranks_multiple_of = -4; },
                  "ranked/0/limits/ranks_multiple_of: -4 is negative"),
      of_decision([&](Decision& d) { first(d).limits.min_ranks = -7; },
                  "ranked/0/limits/min_ranks: -7 is negative"),
      of_decision([&](Decision& d) { first(d).limits.alignment = {0}; },
                  "ranked/0/limits/alignment_bytes: 0 is not allowed"),
      of_decision([&](Decision& d) { first(d).limits.max_message = {1ULL << 63U}; },
                  "ranked/0/limits/max_message_bytes: 9223372036854775808 bytes is too large"),
      of_decision([&](Decision& d) { first(d).median = std::chrono::nanoseconds(-5); },
                  "ranked/0/median_ns: -5 is negative"),
      of_decision([&](Decision& d) { first(d).family = std::string(4097, 'x'); },
                  "ranked/0/family: the string has 4097 bytes"),
      of_decision([](Decision& d) { d.ranked.clear(); }, "ranked: is empty"),
      of_decision([](Decision& d) { d.key.topology.nodes = 0; },
                  "key/topology/nodes: 0 is not allowed"),
      of_decision([](Decision& d) { d.key.topology.ranks = -1; },
                  "key/topology/ranks: -1 is negative"),
      of_decision([](Decision& d) { d.key.problem.message_size = {1ULL << 63U}; },
                  "key/problem/message_size_bytes: 9223372036854775808 bytes is too large"),
      of_decision([](Decision& d) { d.reason = std::string(70'000, 'x'); },
                  "reason: the string has 70000 bytes; at most 65536"),
      {{.measurement = [](Measurement& m) { m.limits.ranks_multiple_of = 0; }},
       "spoilt.jsonl:3/value/limits/ranks_multiple_of: 0 is not allowed"},
      {{.measurement = [](Measurement& m) { m.samples[1] = std::chrono::nanoseconds(-1); }},
       "spoilt.jsonl:3/value/samples_ns/1: -1 is negative"},
      {{.environment = [](Environment& e) { e.cpu_model = std::string(70'000, 'x'); }},
       "spoilt.jsonl:1/value/cpu_model: the string has 70000 bytes; at most 65536"},
      {{.sweep = [](SweepRecord& s) { s.started_at = "zzz"; }},
       "spoilt.jsonl:2: value/started_at: 'zzz' is no time"},
      {{.sweep = [](SweepRecord& s) { s.started_at = "2026-13-01T00:00:00Z"; }}, "is no time"},
      {{.sweep = [](SweepRecord& s) { s.started_at = "9999-01-01T00:00:00Z"; }}, "is no time"},
      {{.sweep = [](SweepRecord& s) { s.started_at = "2099-01-01T00:00:00Z"; }},
       "has not come yet"},
      {{.sweep = [](SweepRecord& s) { s.uuid = std::string(5000, 'u'); }},
       "spoilt.jsonl:2/value/uuid: the string has 5000 bytes"},
  };
  for (const Case& each : cases) expect_failure(import(file_of(each.spoiler)), 2, each.message);
  EXPECT_FALSE(std::filesystem::exists(database));
  EXPECT_EQ(import(file_of({})).code, 0);
}

TEST_F(HostileResults, LongSetsOfVariablesComeThrough) {
  const auto with_variables = [](Environment& environment) {
    environment.variables = "UCX_A=" + std::string(5000, 'a');
  };
  EXPECT_EQ(import(file_of({.environment = with_variables})).code, 0);
  const Result found = lookup({"--bytes", "1KiB", "--db", database, "--json"});
  EXPECT_EQ(found.code, 0) << found.errors;
  EXPECT_THAT(found.out, HasSubstr("cpu.two_shot"));
}

TEST_F(HostileResults, ASweepOfTheSameNameWithOtherContentIsAConflict) {
  ASSERT_EQ(import(file_of({})).code, 0);
  EXPECT_THAT(import(file_of({})).out, HasSubstr("nothing changed"));
  const std::string before = colltune({"show", "measurements", "--json", "--db", database}).out;
  expect_failure(import(file_of({.sweep = [](SweepRecord& s) { s.configuration = "{\"a\":1}"; }})),
                 2, "with another configuration");
  expect_failure(
      import(file_of({.sweep = [](SweepRecord& s) { s.started_at = "2026-02-02T00:00:00Z"; }})), 2,
      "with another begin");
  expect_failure(
      import(file_of(
          {.measurement = [](Measurement& m) { m.samples[0] = std::chrono::nanoseconds(1); }})),
      2, "with another measurement of cpu.two_shot");
  EXPECT_EQ(colltune({"show", "measurements", "--json", "--db", database}).out, before);
}

TEST_F(HostileResults, JunkWithoutALineEndMakesNoDatabase) {
  for (const std::string& junk : {std::string(1000, '\0'), std::string("{\"record\""),
                                  std::string(3000, '[')}) {
    expect_failure(import(write("junk", junk)), 2, "there is no sweep in this file");
    EXPECT_FALSE(std::filesystem::exists(database));
  }
}

TEST_F(HostileResults, TextsDoNotReachTheTerminalAsCommands) {
  const std::string evil = "\x1b]0;owned\x07\x1b[31m\xe2\x80\xaetxet\nfake row\x9b";
  const auto spoil = [&](Decision& decision) { decision.reason = evil.substr(0, evil.size() - 1); };
  ASSERT_EQ(import(file_of({.environment = [&](Environment& e) { e.fabric = "ib\x1b[2J"; },
                            .measurement = [&](Measurement& m) {
                              m.outcome = Outcome::failed;
                              m.detail = evil.substr(0, evil.size() - 1);
                            },
                            .decision = spoil}))
                .code,
            0);
  const auto is_clean = [](const std::string& text) {
    for (const char* harmful : {"\x1b", "\x07", "\xe2\x80\xae"})
      if (text.find(harmful) != std::string::npos) return false;
    return true;
  };
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"show", "measurements"},
           {"show", "measurements", "--json"},
           {"show", "environments"},
           {"show", "decisions", "--json"},
           {"lookup", "all_reduce", "--bytes", "1KiB"},
           {"lookup", "all_reduce", "--bytes", "1KiB", "--json"},
           {"explain", "all_reduce", "--bytes", "1KiB"},
           {"report", "sweep"},
           {"export", "json"},
           {"lookup", "all_reduce", "--bytes", "1KiB", "--arch", "\x1b[31m"}}) {
    auto arguments = command;
    arguments.insert(arguments.end(), {"--db", database});
    const Result result = colltune(arguments);
    EXPECT_TRUE(is_clean(result.out)) << command[0] << result.out;
    EXPECT_TRUE(is_clean(result.errors)) << command[0] << result.errors;
  }
  // A cell's line end makes no row.
  EXPECT_THAT(colltune({"show", "measurements", "--db", database}).out, HasSubstr("\\u000afake row"));
  // JSON keeps its value.
  const auto json = nlohmann::json::parse(
      colltune({"show", "measurements", "--json", "--db", database}).out);
  EXPECT_EQ(json[0]["detail"], evil.substr(0, evil.size() - 1));
}

TEST_F(HostileResults, WhatIsNoFileEnds) {
  fill();
  expect_failure(lookup({"--bytes", "1KiB", "--db", database, "--members", "/dev/zero"}), 2,
                 "has more than 67108864 bytes");
  expect_failure(colltune({"show", "sweeps", "--db", ""}), 2, "the name of the database");
  expect_failure(colltune({"import", file_of({}), "--db", ""}), 2, "the name of the database");
  expect_failure(import("/dev/zero"), 2, "bytes, and is none of a results file");
}

}  // namespace
}  // namespace colltune
