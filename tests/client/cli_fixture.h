// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "colltune/db/store.h"
#include "colltune/json/journal_lines.h"
#include "colltune/vocabulary/canonical.h"
#include "literal_decisions.h"
#include "process.h"

/// The program `colltune` as a process, over a real database.
namespace colltune::testing {

inline Measurement measurement(const TuningKey& key, const std::string& variant, int sample_ns) {
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

inline SweepRecord sweep(const std::string& uuid, const std::string& started_at) {
  return {.uuid = uuid,
          .started_at = started_at,
          .configuration = "{}",
          .environment_digest = digest_of(test_environment()),
          .launch = "2 ranks on 1 node",
          .seed = 7,
          .planned_trials = 4,
          .provenance = test_provenance()};
}

inline std::vector<Decision> decisions_of(const std::string& uuid,
                                          const std::string& small_winner) {
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
    return run_process(folder, arguments);
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
    EXPECT_THAT(result.errors, ::testing::StartsWith("colltune: "));
    EXPECT_THAT(result.errors, ::testing::HasSubstr(part));
  }

  TemporaryFolder folder;
  std::string database = folder.file("tuning.db");
};

}  // namespace colltune::testing
