// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// The regime, and how counts are distributed, on the command line.

#include "cli_fixture.h"

namespace colltune::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// A database with decisions of two regimes for one key.
class Regimes : public Cli {
 protected:
  Regimes() {
    fill();
    Store store(database);
    Decision other =
        decision(other_key(), {ranked("cpu.hot_ring", 500, 4.0), ranked("mpi.default", 2000, 1.0)});
    store.publish(std::span(&other, 1), "2026-01-01T00:02:00Z");
  }
  static TuningKey other_key() {
    TuningKey key = test_key(1024);
    key.calling = default_calling == Calling::each ? Calling::persistent : Calling::each;
    key.input = InputMode::hot;
    return key;
  }
  /// With the options that ask for the other regime.
  static std::vector<std::string> asking(std::vector<std::string> arguments) {
    arguments.insert(arguments.end(),
                     {"--calling", std::string(name_of(other_key().calling)), "--input", "hot"});
    return arguments;
  }
  [[nodiscard]] std::vector<std::string> at(std::vector<std::string> arguments) const {
    arguments.insert(arguments.end(), {"--db", database});
    return arguments;
  }
};

TEST_F(Regimes, ALookupAnswersInTheRegimeThatIsAskedFor) {
  const Result otherwise = lookup(at({"--bytes", "1K"}));
  EXPECT_THAT(otherwise.out, AllOf(HasSubstr("winner       cpu.one_shot{n=2}"),
                                   HasSubstr("regime       " + describe(Regime{}) + "\n")));
  const Result other = lookup(asking(at({"--bytes", "1K"})));
  EXPECT_THAT(other.out, AllOf(HasSubstr("winner       cpu.hot_ring"),
                               HasSubstr("regime       " + describe(regime_of(other_key())))));
  const auto json = nlohmann::json::parse(lookup(asking(at({"--bytes", "1K", "--json"}))).out);
  EXPECT_EQ(json["key"]["calling"], name_of(other_key().calling));
  EXPECT_EQ(json["key"]["input"], "hot");
}

TEST_F(Regimes, OnlyAnotherRegimeIsSaidAndNotPassedOff) {
  const Result result = lookup(at({"--bytes", "1K", "--input", "rotating"}));
  expect_failure(result, 3, "input=rotating; decided only for ");
  EXPECT_THAT(result.errors, HasSubstr("ask for that with --calling "));
  expect_failure(colltune(at({"explain", "all_reduce", "--bytes", "1K", "--input", "rotating"})), 3,
                 "decided only for ");
}

TEST_F(Regimes, UnknownNamesSayWhatIsAllowed) {
  expect_failure(lookup(at({"--bytes", "1K", "--calling", "often"})), 2,
                 "--calling: unknown calling 'often'; allowed are each, persistent");
  expect_failure(lookup(at({"--bytes", "1K", "--input", "cold"})), 2,
                 "--input: unknown input mode 'cold'; allowed are rewritten, hot, rotating");
  for (const std::vector<std::string>& command :
       {std::vector<std::string>{"export", "json"}, {"show", "decisions"}, {"diff"}}) {
    std::vector<std::string> wrong = at(command);
    wrong.insert(wrong.end(), {"--calling", "often"});
    expect_failure(colltune(wrong), 2,
                   "--calling: unknown calling 'often'; allowed are each, persistent, all");
  }
}

TEST_F(Regimes, AnExportHoldsOneRegimeUnlessAllAreAskedFor) {
  const auto exported = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments = at({"export", "json"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Result result = colltune(arguments);
    EXPECT_EQ(result.code, 0) << result.errors;
    return nlohmann::json::parse(result.out);
  };
  const auto otherwise = exported({});
  EXPECT_EQ(otherwise["decisions"].size(), 2U);
  for (const auto& one : otherwise["tables"]) {
    EXPECT_EQ(one["calling"], name_of(default_calling));
    EXPECT_EQ(one["input"], name_of(default_input));
  }
  const auto other = exported(asking({}));
  ASSERT_EQ(other["decisions"].size(), 1U);
  EXPECT_EQ(other["decisions"][0]["winner"], "cpu.hot_ring");
  const auto all = exported({"--calling", "all", "--input", "all"});
  EXPECT_EQ(all["decisions"].size(), 3U);
  EXPECT_EQ(all["tables"].size(), 2U);
  expect_failure(colltune(at({"export", "json", "--input", "rotating"})), 3,
                 "no decision is of the regime that is exported; decided only for ");
}

TEST_F(Regimes, ShowAndDiffPrintTheRegimeAndChooseByIt) {
  const Result all = colltune(at({"show", "decisions"}));
  EXPECT_THAT(all.out, AllOf(HasSubstr(describe(Regime{})), HasSubstr("input=hot"),
                             HasSubstr("cpu.hot_ring"), HasSubstr("cpu.one_shot{n=2}")));
  const Result hot = colltune(at({"show", "decisions", "--input", "hot"}));
  EXPECT_THAT(hot.out, AllOf(HasSubstr("cpu.hot_ring"), Not(HasSubstr("cpu.one_shot"))));
  const Result wide = colltune(at({"show", "decisions", "--wide"}));
  EXPECT_THAT(wide.out, AllOf(HasSubstr("calling"), HasSubstr("hot")));
  EXPECT_THAT(colltune(at({"diff"})).out,
              AllOf(HasSubstr("1 decision(s) differ"), HasSubstr("input=hot")));
  EXPECT_THAT(colltune(at({"diff", "--input", "rewritten"})).out,
              HasSubstr("0 decision(s) differ"));
  expect_failure(colltune(at({"show", "decisions", "--input", "rotating"})), 3, "decided are ");
}

TEST_F(Regimes, SweepsShowWhatElseIsRecordedOfTheirLaunch) {
  {
    Store store(database);
    SweepRecord record = sweep("sweep-2", "2026-01-03T00:00:00Z");
    record.provenance = {.colltune_version = "0.9.9", .kernel_release = "6.1.0-21-amd64"};
    store.begin_sweep(record);
  }
  EXPECT_THAT(colltune(at({"show", "sweeps", "--wide"})).out,
              AllOf(HasSubstr("0.9.9"), HasSubstr("6.1.0-21-amd64")));
  const auto sweeps = nlohmann::json::parse(colltune(at({"show", "sweeps", "--json"})).out);
  EXPECT_EQ(sweeps[1]["provenance"]["kernel_release"], "6.1.0-21-amd64");
  // Both are of one environment, so a lookup that names none has one answer.
  EXPECT_EQ(lookup(at({"--bytes", "1K"})).code, 0);
}

TEST_F(Cli, ALookupAnswersForTheCountsThatAreAskedFor) {
  fill();
  TuningKey key = test_key(1024);
  key.problem.collective = Collective::all_gather;
  key.problem.reduce_op = ReduceOp::none;
  const auto decided = [&](Counts counts, const char* winner) {
    key.problem.counts = counts;
    return decision(key, {ranked(winner, 500, 4.0), ranked("mpi.default", 2000, 1.0)});
  };
  const std::vector<Decision> all{decided(Counts::equal, "cpu.of_equal"),
                                  decided(Counts::random, "cpu.of_random")};
  Store(database).publish(all, "2026-01-01T00:02:00Z");
  const auto ask = [&](const std::vector<std::string>& more) {
    std::vector<std::string> arguments{"lookup", "all_gather", "--bytes", "1K", "--db", database};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return colltune(arguments);
  };
  EXPECT_THAT(ask({}).out, HasSubstr("winner       cpu.of_equal"));
  EXPECT_THAT(ask({"--counts", "random"}).out, HasSubstr("winner       cpu.of_random"));
  expect_failure(ask({"--counts", "one_large"}), 3, "one_large");
  expect_failure(ask({"--counts", "odd"}), 2,
                 "--counts: unknown counts 'odd'; allowed are equal, one_large, random");
}

}  // namespace
}  // namespace colltune::testing
