// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The pages of `colltune report`.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "cli_fixture.h"
#include "colltune/decide/decide.h"
#include "colltune/vocabulary/series_launch.h"

namespace colltune {
namespace {

using testing::Cli;
using testing::decision;
using ::testing::HasSubstr;
using testing::measurement;
using testing::ranked;
using testing::Result;
using testing::sweep;
using testing::test_environment;
using testing::test_key;

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
  EXPECT_THAT(result.out, HasSubstr("regime       " + describe(Regime{}) + "\n"));
  for (const char* part :
       {"sweep        sweep-1, complete",
        "measured by  colltune 0.1.0 (gcc 12.2 Release), Debian 12, kernel 6.1.0-18-amd64",
        "3 measured of 3 planned; 8 trials, 0 of them not ok",
        "2 displaced, 0 kept, 0 undecided, 0 no_baseline (margin 3 %, confidence 95 %)",
        "0 confirmed, 2 provisional", "1.99", "the twin won in 0 of 2 keys", "steal 1.0 %",
        "5.0 s of a budget of 10.0 s (50 %): batch 80 %",
        "192 runs; 24 rounds per key in the median (24 to 24); racing spared 0 %"})
    EXPECT_THAT(result.out, HasSubstr(part));
  EXPECT_THAT(result.out,
              ::testing::ContainsRegex("1KiB +2\\.00 +1\\.00 +(1\\.99|2\\.00)x +displaced +fast"));
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

TEST_F(Reports, SweepLeadsWithWhatEachKindOfUserGains) {
  {
    Store store(database);
    store.put_environment(test_environment());
    store.begin_sweep(sweep("sweep-1", "2026-01-01T00:00:00Z"));
    std::vector<Measurement> trials;
    for (const std::uint64_t bytes : {1024, 4096}) {
      trials.push_back(timed(test_key(bytes), "mpi.default", 2000));
      trials.push_back(timed(test_key(bytes), "mpi.tuned", bytes == 1024 ? 1000 : 2000));
      trials.push_back(timed(test_key(bytes), "cpu.own", 500));
    }
    for (Measurement& trial : trials)
      if (to_string(trial.variant) != "cpu.own") trial.family = "mpi";
    store.append("sweep-1", trials);
    store.finish_sweep("sweep-1", SweepState::complete, "2026-01-09T00:00:00Z", "{}");
  }
  const Result result = colltune({"report", "sweep", "--db", database});
  EXPECT_EQ(result.code, 0) << result.errors;
  // Before all else: 2x in one key and 1x in the other; 4x in both.
  EXPECT_THAT(result.out,
              ::testing::ContainsRegex(
                  "^sweep [^\n]*\ngain         as you are \\(family mpi\\): 1\\.4[0-9]+x over the "
                  "default, geometric mean of 2 keys; (1\\.9[0-9]+|2\\.0[0-9]+)x where it is "
                  "displaced \\(1 keys\\)\n +with colltune's kernels"));
  EXPECT_THAT(result.out,
              HasSubstr("apply        of the winners 0 need nothing, 0 variables of the launch"));
  EXPECT_THAT(result.out, HasSubstr("2 colltune's component for Open MPI"));
  const nlohmann::json json = report({"sweep"});
  EXPECT_EQ(json["gain_as_you_are"].size(), 1U);  // family colltune has no baseline
  const auto& mpi = json["gain_as_you_are"]["mpi"];
  EXPECT_EQ(mpi["all"]["keys"], 2);
  EXPECT_EQ(mpi["displaced"]["keys"], 1);
  EXPECT_NEAR(mpi["all"]["geometric_mean"].get<double>(), 1.414, 0.02);
  EXPECT_NEAR(json["gain"]["geometric_mean"].get<double>(), 4, 0.05);
  EXPECT_EQ(json["apply"]["component"], 2);
  for (const auto& decision : json["decisions"])
    EXPECT_TRUE(decision["family"] != "any" || decision["apply"]["by"] == "component");
}

/// A series: three turns in two environments, the second one 1.25 times as fast.
class EnvironmentReports : public Reports {
 protected:
  static Environment environment(const std::string& name) {
    Environment facts = test_environment();
    if (name != unchanged_environment) facts.variables = "NCCL_BUFFSIZE=8388608";
    return facts;
  }

  void store_launch(const std::string& name, int round, const std::string& uuid,
                    int of_fast) const {
    const std::string digest = digest_of(environment(name));
    Store store(database);
    store.put_environment(environment(name));
    SweepRecord record = sweep(uuid, "2026-01-0" + std::to_string(round) + "T00:00:00Z");
    record.environment_digest = digest;
    store.begin_sweep(record);
    auto trials = trials_with(of_fast);
    for (Measurement& trial : trials) trial.key.environment_digest = digest;
    store.append(uuid, trials);
    nlohmann::json summary{{"end", "complete"}};
    summary["launch_of"] = {
        {"series", "series-1"}, {"command", "c"}, {"environment", name}, {"round", round}};
    store.finish_sweep(uuid, SweepState::complete, "2026-01-09T00:00:00Z", summary.dump());
    store.publish(decide(trials, {}, uuid), "2026-01-09T00:00:00Z");
  }

  void store_series(bool with_unchanged = true) const {
    for (const int round : {1, 2, 3}) {
      store_launch("buffers_8m", round, "set-" + std::to_string(round), 800);
      if (with_unchanged)
        store_launch("unchanged", round, "unchanged-" + std::to_string(round), 1000);
    }
  }
};

TEST_F(EnvironmentReports, LaunchesInSeveralEnvironmentsStandSideBySide) {
  store_series();
  const Result result = colltune({"report", "environments", "--db", database});
  EXPECT_EQ(result.code, 0) << result.errors;
  for (const char* part :
       {"Series series-1: 6 launches in 2 environments. Speed-ups are over 'unchanged'",
        "  variables NCCL_BUFFSIZE=8388608\n",
        "  all            2 keys: winners 1.249x, defaults 1.000x; 2 faster, 0 slower, 0 open\n",
        "  all_reduce     2 keys: winners 1.249x"})
    EXPECT_THAT(result.out, HasSubstr(part));
  EXPECT_THAT(result.out,
              ::testing::ContainsRegex(
                  "buffers_8m +0\\.80 +2\\.00 +1\\.249x +1\\.000x +3\n +faster, 1\\.2"));
  const auto json = report({"environments"});
  EXPECT_EQ(json["series"], "series-1");
  ASSERT_EQ(json["environments"].size(), 2u);
  EXPECT_EQ(json["environments"][0]["name"], "unchanged");
  EXPECT_EQ(json["environments"][0]["differs_in"], nlohmann::json::object());
  EXPECT_EQ(json["environments"][1]["differs_in"]["variables"], "NCCL_BUFFSIZE=8388608");
  EXPECT_NEAR(json["environments"][1]["means"]["all"]["speedup"].get<double>(), 1.25, 0.01);
  ASSERT_EQ(json["keys"].size(), 2u);
  const auto& times = json["keys"][0]["environments"];
  EXPECT_EQ(times[1]["winner"], "fast");
  EXPECT_EQ(times[1]["speedups"].size(), 3u);
  EXPECT_EQ(times[1]["finding"], "faster");
  EXPECT_EQ(report({"environments", "--sweep", "set-2"}), json);
}

TEST_F(EnvironmentReports, NobodyMixesTheDecisionsOfTheEnvironments) {
  store_series();
  // A question that names none is answered from one of them, and is told so.
  const Result guessed = lookup({"--bytes", "1KiB", "--db", database, "--json"});
  EXPECT_EQ(guessed.code, 0);
  const auto answered = nlohmann::json::parse(guessed.out, nullptr, false);
  const std::string chosen = answered["key"]["environment_digest"];
  EXPECT_THAT(guessed.errors, HasSubstr("environment " + chosen + " of 2 was chosen"));
  EXPECT_THAT(guessed.errors, HasSubstr("--environment names another"));
  EXPECT_EQ(answered["median_ns"], chosen == digest_of(environment("unchanged")) ? 1004 : 804);
  for (const auto& [name, ns] : {std::pair("unchanged", 1004), std::pair("buffers_8m", 804)}) {
    const Result answer = lookup({"--bytes", "1KiB", "--db", database, "--environment",
                                  digest_of(environment(name)), "--json"});
    EXPECT_EQ(answer.code, 0) << answer.errors;
    EXPECT_EQ(nlohmann::json::parse(answer.out)["median_ns"], ns) << name;
  }
  const auto exported =
      nlohmann::json::parse(colltune({"export", "json", "--db", database}).out, nullptr, false);
  EXPECT_EQ(exported["environments"].size(), 2u);
  EXPECT_EQ(exported["environments"][digest_of(environment("buffers_8m"))]["variables"],
            "NCCL_BUFFSIZE=8388608");
  std::map<std::string, int> tables;
  for (const auto& table : exported["tables"])
    ++tables[table["environment_digest"].get<std::string>()];
  EXPECT_EQ(tables.size(), 2u);
  EXPECT_EQ(tables.begin()->second, tables.rbegin()->second);
  EXPECT_THAT(colltune({"show", "environments", "--db", database}).out,
              HasSubstr("  variables         NCCL_BUFFSIZE=8388608\n"));
}

TEST_F(EnvironmentReports, WhatCannotBeComparedIsSaid) {
  store({1000});
  expect_failure(colltune({"report", "environments", "--db", database}), 3,
                 "holds no launches in several environments");
  expect_failure(colltune({"report", "environments", "--db", database, "--sweep", "sweep-1"}), 2,
                 "'sweep-1' is no launch of a series");
  store_series(false);
  expect_failure(colltune({"report", "environments", "--db", database}), 2,
                 "has no finished launch in the unchanged environment");
  store_launch("unchanged", 1, "unchanged-1", 1000);
  EXPECT_EQ(colltune({"report", "environments", "--db", database}).code, 0);
  // Another library, or machine, since: the same name, another environment.
  {
    Store store(database);
    Environment changed = environment("unchanged");
    changed.kernel = "6.12";
    SweepRecord record = sweep("late", "2026-01-08T00:00:00Z");
    record.environment_digest = store.put_environment(changed);
    store.begin_sweep(record);
    store.finish_sweep("late", SweepState::complete, "2026-01-09T00:00:00Z",
                       R"({"launch_of": {"series": "series-1", "command": "c",
                           "environment": "unchanged", "round": 2}})");
  }
  expect_failure(colltune({"report", "environments", "--db", database}), 2,
                 "were of unlike environments");
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
  trials.push_back(measurement(test_key(1024), "absent", 10));
  trials.back().outcome = Outcome::unavailable;
  trials.back().detail = "rank 0: the library has none";
  trials.back().samples.clear();
  trials.back().slowest_ranks.clear();
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
  EXPECT_THAT(result.out, HasSubstr("10 trials, 1 of them not ok, 1 unavailable; 0 quarantined"));
  EXPECT_THAT(result.out,
              HasSubstr("unavailable: absent of all_reduce f32 sum 1KiB: rank 0: the library has"));
  const auto page = nlohmann::json::parse(
      colltune({"report", "sweep", "--db", database, "--sweep", "sweep-1", "--json"}).out, nullptr,
      false);
  ASSERT_EQ(page["not_ok"].size(), 1u) << page;
  EXPECT_EQ(page["not_ok"][0]["variant"], "broken");
  ASSERT_EQ(page["unavailable"].size(), 1u) << page;
  EXPECT_EQ(page["unavailable"][0]["variant"], "absent");
  EXPECT_EQ(page["unavailable"][0]["detail"], "rank 0: the library has none");
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
