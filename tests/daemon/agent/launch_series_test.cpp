// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Series of launches in several environments: what is planned, what a database has of it, what is
// launched.

#include "commands/launch_series.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "colltune/db/store.h"
#include "colltune/json/json.h"
#include "commands/series_command.h"

namespace colltune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

const std::vector<LaunchEnvironment> two{{"a", {{"NCCL_BUFFSIZE", "1"}}},
                                         {"b", {{"NCCL_ALGO", "x y"}, {"UCX_TLS", "sm"}}}};

std::vector<std::string> names_of(const std::vector<SeriesLaunch>& launches) {
  std::vector<std::string> names;
  for (const SeriesLaunch& launch : launches)
    names.push_back(std::to_string(launch.turn) + launch.environment);
  return names;
}

SweepRecord ended(const SeriesLaunch& launch, const std::string& uuid,
                  const std::string& finished_at) {
  nlohmann::json summary{{"end", "complete"}};
  summary[std::string(series_launch_name)] = to_json_value(launch);
  return {.uuid = uuid,
          .started_at = finished_at,
          .finished_at = finished_at,
          .state = SweepState::complete,
          .configuration = "conf",
          .environment_digest = "digest of " + launch.environment,
          .launch = "2 ranks",
          .summary = summary.dump()};
}

SeriesLaunch launch(const std::string& series, const std::string& environment, int turn) {
  return {.series = series, .command = "c", .environment = environment, .turn = turn};
}

TEST(LaunchSeries, EnvironmentsAlternateAndTheirOrderTurnsRound) {
  const auto planned = plan_series({.series = "s", .command = "c", .environment = {}}, two, 3);
  EXPECT_THAT(names_of(planned), ElementsAre("1unchanged", "1a", "1b", "2b", "2a", "2unchanged",
                                             "3unchanged", "3a", "3b"));
  for (const SeriesLaunch& one : planned) {
    EXPECT_EQ(one.series, "s");
    EXPECT_EQ(one.command, "c");
  }
}

TEST(LaunchSeries, WhatEndedIsNotLaunchedAgain) {
  const auto planned = plan_series({.series = "s", .command = "c", .environment = {}}, two, 2);
  const std::vector<SeriesLaunch> finished{launch("s", "unchanged", 1), launch("s", "a", 2),
                                           launch("other", "b", 1)};
  EXPECT_THAT(names_of(missing_launches(planned, finished)),
              ElementsAre("1a", "1b", "2b", "2unchanged"));
}

TEST(LaunchSeries, TheNewestSeriesOfTheConfigurationAndCommandIsFound) {
  std::vector<SweepRecord> sweeps{ended(launch("old", "unchanged", 1), "1", "2026-01-01"),
                                  ended(launch("new", "unchanged", 1), "2", "2026-01-03"),
                                  ended(launch("new", "a", 1), "3", "2026-01-02")};
  // None of these is of the series: another configuration, another launch, no launch of a series,
  // one that runs, one that confirms.
  sweeps.push_back(ended(launch("x", "a", 1), "4", "2026-01-09"));
  sweeps.back().configuration = "another";
  sweeps.push_back(ended(launch("y", "a", 1), "5", "2026-01-09"));
  auto other_command = launch("y", "a", 1);
  other_command.command = "d";
  sweeps.back() = ended(other_command, "5", "2026-01-09");
  sweeps.push_back(ended(launch("z", "a", 1), "6", "2026-01-09"));
  sweeps.back().summary = R"({"end": "complete"})";
  sweeps.push_back(ended(launch("z", "a", 1), "7", "2026-01-09"));
  sweeps.back().summary = "";
  sweeps.push_back(ended(launch("z", "a", 1), "8", "2026-01-09"));
  sweeps.back().purpose = SweepPurpose::confirm;
  const SeriesProgress progress = find_series(sweeps, "conf", "c");
  EXPECT_EQ(progress.series, "new");
  EXPECT_THAT(names_of(progress.finished), ElementsAre("1unchanged", "1a"));
  EXPECT_THAT(progress.digests, ElementsAre("digest of unchanged", "digest of a"));
  EXPECT_EQ(find_series(sweeps, "none", "c").series, "");
}

TEST(LaunchSeries, ASummaryThatIsNotUnderstoodIsAnError) {
  auto sweep = ended(launch("s", "a", 1), "sweep-9", "2026-01-01");
  sweep.summary = R"({"launch_of": {"series": 3}})";
  try {
    (void)find_series(std::vector{sweep}, "conf", "c");
    FAIL() << "no Error was thrown";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::data_loss);
    EXPECT_THAT(error.what(), HasSubstr("sweep-9"));
  }
}

TEST(LaunchSeries, TheAgentIsToldWhatItsLaunchIs) {
  EXPECT_THAT(
      arguments_of(launch("s", "b", 2), two[1].variables),
      ElementsAre("--series", "s", "--series-command", "c", "--launch-environment", "b",
                  "--launch-turn", "2", "--variable", "NCCL_ALGO=x y", "--variable", "UCX_TLS=sm"));
}

/// A supervisor whose launches end at once: stores what an agent would, or does as it is told.
class Series : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (std::filesystem::temp_directory_path() / "colltune-XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    spec_.text = "conf";
    spec_.launch_environments = two;
    spec_.launch_turns = 2;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  int run() {
    launched_.clear();
    said_.clear();
    return run_series(
        {.supervised = {.database = folder_ / "a.db", .command = {"launcher"}}, .spec = spec_},
        [this](const SuperviseOptions& options) { return take(options); },
        [this](const std::string& line) { said_.push_back(line); });
  }

  int take(const SuperviseOptions& options) {
    const auto word_behind = [&](const char* option) {
      const auto at = std::ranges::find(options.command, option);
      return at == options.command.end() ? std::string() : *(at + 1);
    };
    EXPECT_EQ(options.command.front(), "launcher");
    const SeriesLaunch of{.series = word_behind("--series"),
                          .command = word_behind("--series-command"),
                          .environment = word_behind("--launch-environment"),
                          .turn = std::stoi(word_behind("--launch-turn"))};
    EXPECT_EQ(word_behind("--variable").empty(), of.environment == unchanged_environment);
    launched_.push_back(std::to_string(of.turn) + of.environment);
    series_ = of.series;
    if (const auto code = codes_.find(launched_.back()); code != codes_.end() && code->second > 1)
      return code->second;
    Store store(options.database);
    Environment environment;
    environment.variables = of.environment;
    SweepRecord sweep = ended(of, "sweep-" + std::to_string(++sweeps_), "");
    const std::string summary = sweep.summary;
    sweep.state = SweepState::running;
    sweep.summary.clear();
    sweep.environment_digest = store.put_environment(environment);
    store.begin_sweep(sweep);
    store.finish_sweep(sweep.uuid, SweepState::complete, "2026-01-01T00:00:00Z", summary);
    const auto code = codes_.find(launched_.back());
    return code == codes_.end() ? 0 : code->second;
  }

  std::filesystem::path folder_;
  SweepSpec spec_;
  std::map<std::string, int> codes_;  ///< of launches, by turn and environment
  std::vector<std::string> launched_;
  std::vector<std::string> said_;
  std::string series_;
  int sweeps_ = 0;
};

TEST_F(Series, LaunchesAllAndThenBeginsAnew) {
  codes_["2a"] = 1;  // a wrong variant: everything is stored all the same
  EXPECT_EQ(run(), 1);
  EXPECT_THAT(launched_, ElementsAre("1unchanged", "1a", "1b", "2b", "2a", "2unchanged"));
  EXPECT_THAT(said_, Contains("turn 1 of 2: environment 'b', NCCL_ALGO=\"x y\" UCX_TLS=sm"));
  EXPECT_THAT(said_.back(), HasSubstr("colltune report environments --db "));
  const std::string first = series_;
  codes_.clear();
  EXPECT_EQ(run(), 0);
  EXPECT_THAT(launched_, SizeIs(6));
  EXPECT_NE(series_, first);
}

TEST_F(Series, ASignalEndsItAndTheSameCommandGoesOn) {
  codes_["1b"] = 130;
  EXPECT_EQ(run(), 130);
  EXPECT_THAT(launched_, ElementsAre("1unchanged", "1a", "1b"));
  const std::string first = series_;
  codes_.clear();
  EXPECT_EQ(run(), 0);
  EXPECT_THAT(launched_, ElementsAre("1b", "2b", "2a", "2unchanged"));
  EXPECT_EQ(series_, first);
  EXPECT_THAT(said_.front(), HasSubstr("continuing series " + first + ": 2 of its launches"));
}

TEST_F(Series, AnEnvironmentThatCannotBeLaunchedIsGivenUpAndTriedTheNextTime) {
  codes_["1a"] = 4;
  EXPECT_EQ(run(), 4);
  EXPECT_THAT(launched_, ElementsAre("1unchanged", "1a", "1b", "2b", "2unchanged"));
  EXPECT_THAT(said_, Contains("environment 'a' is given up (exit code 4); the others go on"));
  codes_.clear();
  EXPECT_EQ(run(), 0);
  EXPECT_THAT(launched_, ElementsAre("1a", "2a"));
}

TEST_F(Series, WithoutTheUnchangedEnvironmentThereIsNothingToCompareWith) {
  codes_["1unchanged"] = 2;
  EXPECT_EQ(run(), 2);
  EXPECT_THAT(launched_, ElementsAre("1unchanged"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "a.db"));
}

TEST_F(Series, AnotherCommandIsAnotherSeries) {
  EXPECT_EQ(run(), 0);
  const SeriesOptions same{.supervised = {.database = folder_ / "a.db", .command = {"launcher"}},
                           .spec = spec_};
  EXPECT_THAT(read_series(same).finished, SizeIs(6));
  const SeriesOptions other{
      .supervised = {.database = folder_ / "a.db", .command = {"launcher", "-n", "4"}},
      .spec = spec_};
  EXPECT_THAT(read_series(other).finished, IsEmpty());
}

}  // namespace
}  // namespace colltune
