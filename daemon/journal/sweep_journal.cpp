// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/journal/sweep_journal.h"

#include <ctime>
#include <filesystem>
#include <iostream>
#include <set>

#include "colltune/decide/sweep_summary.h"
#include "colltune/json/output_file.h"
#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

/// Whether the sweep was killed or interrupted by the user, and not ended by its own budget.
bool was_cut_short(const SweepRecord& sweep) {
  if (sweep.state == SweepState::running) return true;
  return read_sweep_summary(sweep.summary, sweep.uuid).end == SweepEnd::stopped;
}

/// Throws if some of `stored`, of an unfinished sweep, is of a regime that `plan` does not measure.
void refuse_other_regime(const SweepRecord& sweep, std::span<const Measurement> stored,
                         const SweepPlan& plan) {
  std::set<Regime> planned;
  for (const Cell& cell : plan.cells) planned.insert(regime_of(cell.key));
  for (const Measurement& measurement : stored) {
    const Regime regime = regime_of(measurement.key);
    if (planned.contains(regime)) continue;
    std::string now;
    for (const Regime& one : planned) now += (now.empty() ? "" : "; ") + describe(one);
    throw Error(StatusCode::failed_precondition,
                "the unfinished sweep " + sweep.uuid + " measured " + describe(regime) +
                    ", and this configuration now means " + now +
                    ": name \"calling\" and \"input\" in it, or begin anew with --no-resume");
  }
}

}  // namespace

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
                           const std::optional<std::filesystem::path>& results)
    : database_(database), results_path_(results) {
  if (database) store_.emplace(*database);
}

std::vector<QuarantineRecord> SweepJournal::quarantines() const {
  return store_ ? store_->quarantines() : std::vector<QuarantineRecord>{};
}

std::vector<Decision> SweepJournal::decisions() const {
  if (!database_) return {};
  try {
    return StoreReader(*database_).published().decisions;
  } catch (const Error& error) {
    if (error.code() == StatusCode::not_found) return {};
    throw;
  }
}

void SweepJournal::file_under(SweepRecord sweep, Environment environment, const SweepPlan& plan,
                              Resume resume) {
  sweep_ = std::move(sweep);
  environment_ = std::move(environment);
  if (store_ && resume != Resume::never) {
    auto earlier = store_->unfinished_sweep(sweep_.configuration, sweep_.environment_digest,
                                            sweep_.provenance, sweep_.launch);
    if (earlier && (resume == Resume::always || was_cut_short(*earlier))) {
      sweep_ = *std::move(earlier);
      is_continued_ = true;
      stored_ = store_->measurements(sweep_.uuid);
      refuse_other_regime(sweep_, stored_, plan);
    }
  }
  if (results_path_) open_results(is_continued_);
}

void SweepJournal::open_results(bool replaces) {
  const std::string name = results_path_->string();
  if (name == standard_output) {
    lines_.emplace(std::cout, "standard output");
    return;
  }
  const bool is_written_through = colltune::is_written_through(*results_path_);
  if (!replaces && !is_written_through && std::filesystem::exists(*results_path_))
    throw Error(
        StatusCode::already_exists,
        name + " exists already; results of another sweep are not overwritten: name another file");
  results_.open(*results_path_, is_written_through ? std::ios::binary | std::ios::out
                                                   : std::ios::binary | std::ios::trunc);
  if (!results_) throw Error(StatusCode::failed_precondition, name + " cannot be created");
  lines_.emplace(results_, name);
}

void SweepJournal::begin(const SweepPlan& plan) {
  sweep_.planned_trials = count_trials(plan);
  const std::vector<Composition> compositions = compositions_of(plan);
  if (store_) {
    store_->put_environment(environment_);
    if (is_continued_)
      store_->resume_sweep(sweep_.uuid);
    else
      store_->begin_sweep(sweep_);
    std::vector<TuningKey> keys;
    for (const Cell& cell : plan.cells) keys.push_back(cell.key);
    store_->put_keys(keys);
    for (const PlannedWorld& world : plan.worlds)
      store_->note_members(sweep_.uuid, world.topology, world.members);
    store_->note_compositions(compositions);
  }
  if (!lines_) return;
  lines_->write(JournalRecord::environment, environment_);
  lines_->write(JournalRecord::sweep, sweep_);
  for (const PlannedWorld& world : plan.worlds)
    lines_->write(JournalRecord::members,
                  WorldMembers{sweep_.uuid, digest_of_value(world.topology), world.members});
  for (const Composition& composition : compositions)
    lines_->write(JournalRecord::composition, composition);
  // The stopped launch's file may end in the middle of a line, so it is written anew.
  for (const Measurement& measurement : stored_)
    lines_->write(JournalRecord::measurement, measurement);
}

void SweepJournal::append(std::span<const Measurement> measurements) {
  if (store_) store_->append(sweep_.uuid, measurements);
  if (lines_)
    for (const Measurement& measurement : measurements)
      lines_->write(JournalRecord::measurement, measurement);
}

std::optional<Generation> SweepJournal::finish(SweepState state, std::span<const Decision> found,
                                               std::span<const Decision> published,
                                               const std::string& summary,
                                               const FitMaker& fits_of) {
  sweep_.state = state;
  sweep_.finished_at = utc_now();
  sweep_.summary = summary;
  if (lines_) {
    for (const Decision& decision : found) lines_->write(JournalRecord::decision, decision);
    lines_->write(JournalRecord::end, sweep_);
  }
  if (!store_) return std::nullopt;
  // The order matters: if the process is killed in between, an unfinished sweep remains. It is
  // continued and published again; a finished sweep without decisions can never remain.
  std::optional<Generation> generation;
  // Quarantined variants leave the table with the next generation.
  if (!published.empty() || !store_->quarantines().empty())
    generation = store_->publish(published, sweep_.finished_at, fits_of);
  store_->finish_sweep(sweep_.uuid, state, sweep_.finished_at, summary);
  return generation;
}

}  // namespace colltune
