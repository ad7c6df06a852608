// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// supervise_driver DB COMMAND…: supervise() with short times and a failure log in text files.

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "colltune/supervise/launch_helper.h"
#include "colltune/supervise/supervise.h"
#include "colltune/vocabulary/error.h"

namespace {

using namespace std::chrono_literals;
using colltune::FailedTrial;
using colltune::Outcome;

class TextFailureLog final : public colltune::FailureLog {
 public:
  explicit TextFailureLog(const std::string& database)
      : failures_(database + ".failures", std::ios::app),
        quarantine_(database + ".quarantine", std::ios::app),
        released_(database + ".released", std::ios::app) {}

  int record_failure(const FailedTrial& trial, Outcome outcome,
                     const std::string& detail) override {
    failures_ << name_of(outcome) << '|' << trial.sweep_uuid << '|' << trial.key_digest << '|'
              << trial.variant << '|' << trial.cell << '|' << detail << std::endl;
    return ++counts_[{trial.key_digest, trial.variant}];
  }
  void quarantine(const FailedTrial& trial, Outcome /*outcome*/,
                  const std::string& /*detail*/) override {
    quarantine_ << trial.key_digest << ' ' << trial.variant << std::endl;
  }
  void release(const FailedTrial& trial) override {
    released_ << trial.key_digest << ' ' << trial.variant << std::endl;
  }

 private:
  std::ofstream failures_;
  std::ofstream quarantine_;
  std::ofstream released_;
  std::map<std::pair<std::string, std::string>, int> counts_;
};

/// Short for the test that waits for it, long for the others.
std::chrono::milliseconds milliseconds_from(const char* variable, int otherwise) {
  const char* given = std::getenv(variable);
  return std::chrono::milliseconds(given == nullptr ? otherwise : std::atoi(given));
}

}  // namespace

int main(int argc, char** argv) {
  if (const auto code = colltune::run_launch_helper(argc, argv)) return *code;
  const std::string database = argv[1];
  colltune::SuperviseOptions options{
      .database = database,
      .command = {argv + 2, argv + argc},
      .launches = 8,
      .fruitless_launches = 3,
      .grace = 700ms,
      .patience = milliseconds_from("COLLTUNE_TEST_PATIENCE_MS", 2500),
      .start_patience = milliseconds_from("COLLTUNE_TEST_START_PATIENCE_MS", 60'000),
      .finish_patience = milliseconds_from("COLLTUNE_TEST_FINISH_PATIENCE_MS", 3000),
      .farewell = milliseconds_from("COLLTUNE_TEST_FAREWELL_MS", 3000)};
  const auto say = [](const std::string& text) {
    std::fprintf(stderr, "supervise: %s\n", text.c_str());
  };
  try {
    const colltune::SupervisionLock lock(
        database, milliseconds_from("COLLTUNE_TEST_LOCK_PATIENCE_MS", 60'000), say);
    TextFailureLog log(database);
    // The fake agent's count of those that the system killed.
    const auto memory_kills = [&] {
      std::ifstream file(database + ".kills");
      std::uint64_t kills = 0;
      for (std::string line; std::getline(file, line);) ++kills;
      return std::optional(kills);
    };
    return colltune::supervise(
        options, {.failures = log, .lock = lock, .say = say, .memory_kills = memory_kills});
  } catch (const colltune::Error& error) {
    std::fprintf(stderr, "supervise: %s\n", error.what());
    return colltune::exit_code_of(error.code());
  }
}
