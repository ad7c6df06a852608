// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// An unfinished sweep goes on as what it is, or not at all.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "../temporary_folder.h"
#include "../trials.h"
#include "colltune/journal/sweep_journal.h"

namespace colltune {
namespace {

using literals::TemporaryFolder;
using literals::trial;
using ::testing::AllOf;
using ::testing::HasSubstr;

class ResumedRegime : public ::testing::Test {
 protected:
  /// A killed sweep with one measurement.
  ResumedRegime() {
    SweepJournal journal(path_of("tuning.db"), std::nullopt);
    journal.file_under(record("killed"), {}, plan_of(Calling::persistent), Resume::automatic);
    journal.begin(plan_of(Calling::persistent));
    Measurement measured = trial({"fast"}, key_of(Calling::persistent));
    measured.slowest_ranks.assign(measured.samples.size(), 0);
    journal.append(std::span(&measured, 1));
  }

  static TuningKey key_of(Calling calling) {
    TuningKey key = literals::key();
    key.environment_digest = digest_of(Environment{});
    key.calling = calling;
    return key;
  }
  static SweepPlan plan_of(Calling calling) {
    SweepPlan plan;
    plan.cells.push_back({.key = key_of(calling)});
    return plan;
  }
  static SweepRecord record(const std::string& uuid) {
    return {.uuid = uuid,
            .started_at = "2026-01-01T00:00:00Z",
            .configuration = "{}",
            .environment_digest = digest_of(Environment{}),
            .launch = "2 ranks"};
  }
  [[nodiscard]] std::string path_of(const char* name) const { return (folder_ / name).string(); }

  TemporaryFolder folder_;
};

TEST_F(ResumedRegime, TheSameGoesOn) {
  SweepJournal journal(path_of("tuning.db"), std::nullopt);
  journal.file_under(record("next"), {}, plan_of(Calling::persistent), Resume::automatic);
  EXPECT_EQ(journal.sweep_uuid(), "killed");
  EXPECT_EQ(journal.stored().size(), 1U);
}

TEST_F(ResumedRegime, AnotherIsRefusedInWordsAndTouchesNoFile) {
  const std::string results = path_of("results.jsonl");
  std::ofstream(results) << "what the killed sweep wrote";
  {
    SweepJournal journal(path_of("tuning.db"), results);
    try {
      journal.file_under(record("next"), {}, plan_of(Calling::each), Resume::automatic);
      FAIL() << "it went on";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), StatusCode::failed_precondition);
      EXPECT_THAT(error.what(),
                  AllOf(HasSubstr("the unfinished sweep killed measured calling=persistent"),
                        HasSubstr("now means calling=each"), HasSubstr("--no-resume")));
    }
  }
  std::ostringstream text;
  text << std::ifstream(results).rdbuf();
  EXPECT_EQ(text.str(), "what the killed sweep wrote");

  SweepJournal anew(path_of("tuning.db"), std::nullopt);
  anew.file_under(record("next"), {}, plan_of(Calling::each), Resume::never);
  EXPECT_EQ(anew.sweep_uuid(), "next");
  EXPECT_TRUE(anew.stored().empty());
}

TEST_F(ResumedRegime, AnotherBuildBeginsAnew) {
  SweepRecord rebuilt = record("next");
  rebuilt.provenance.build = "another compiler";
  SweepJournal journal(path_of("tuning.db"), std::nullopt);
  journal.file_under(rebuilt, {}, plan_of(Calling::persistent), Resume::always);
  EXPECT_EQ(journal.sweep_uuid(), "next");
  EXPECT_TRUE(journal.stored().empty());
}

}  // namespace
}  // namespace colltune
