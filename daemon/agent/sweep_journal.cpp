// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "sweep_journal.h"

#include <ctime>
#include <filesystem>

#include "colltune/vocabulary/error.h"

namespace colltune {

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

std::string random_uuid() {
  std::ifstream source("/proc/sys/kernel/random/uuid");
  std::string uuid;
  if (!std::getline(source, uuid) || uuid.size() != 36)
    throw Error(StatusCode::internal,
                "/proc/sys/kernel/random/uuid cannot be read: no name for the sweep");
  return uuid;
}

SweepJournal::SweepJournal(const std::optional<std::filesystem::path>& database,
                           const std::optional<std::filesystem::path>& results) {
  if (database) store_.emplace(*database);
  if (!results) return;
  results_name_ = results->string();
  if (std::filesystem::exists(*results))
    throw Error(
        StatusCode::already_exists,
        results_name_ +
            " exists already; results of another sweep are not overwritten: name another file");
  results_.open(*results, std::ios::binary);
  if (!results_) throw Error(StatusCode::failed_precondition, results_name_ + " cannot be created");
  lines_.emplace(results_, results_name_);
}

void SweepJournal::describe(SweepRecord sweep, Environment environment) {
  sweep_ = std::move(sweep);
  environment_ = std::move(environment);
}

void SweepJournal::begin(const SweepPlan& plan) {
  sweep_.planned_trials = count_trials(plan);
  if (store_) {
    store_->put_environment(environment_);
    store_->begin_sweep(sweep_);
  }
  if (lines_) {
    lines_->write(JournalRecord::environment, environment_);
    lines_->write(JournalRecord::sweep, sweep_);
  }
}

void SweepJournal::append(std::span<const Measurement> measurements) {
  if (store_) store_->append(sweep_.uuid, measurements);
  if (lines_)
    for (const Measurement& measurement : measurements)
      lines_->write(JournalRecord::measurement, measurement);
}

std::optional<Generation> SweepJournal::finish(SweepState state,
                                               std::span<const Decision> decisions,
                                               const std::string& summary) {
  sweep_.state = state;
  sweep_.finished_at = utc_now();
  sweep_.summary = summary;
  if (lines_) {
    for (const Decision& decision : decisions) lines_->write(JournalRecord::decision, decision);
    lines_->write(JournalRecord::end, sweep_);
  }
  if (!store_) return std::nullopt;
  store_->finish_sweep(sweep_.uuid, state, sweep_.finished_at, summary);
  return store_->publish(decisions, sweep_.finished_at);
}

}  // namespace colltune
