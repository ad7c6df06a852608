// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "import_command.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <ostream>
#include <set>
#include <tuple>

#include "colltune/db/store.h"
#include "colltune/decide/settle.h"
#include "colltune/decide/trials.h"
#include "colltune/model/fitted/variant_fits.h"
#include "colltune/vocabulary/canonical.h"
#include "results_file.h"
#include "text/figures.h"

namespace colltune {
namespace {

/// The contents of the database before the import.
struct Present {
  std::map<std::string, SweepRecord> sweeps;
  std::map<std::pair<TuningKey, std::string>, Decision> decisions;  ///< by key and family
  std::vector<QuarantineRecord> quarantines;                        ///< in force
};

Present read_present(const std::filesystem::path& path) {
  Present present;
  const StoreReader reader(path);
  for (auto& sweep : reader.sweeps()) present.sweeps.emplace(sweep.uuid, sweep);
  present.quarantines = reader.quarantines();
  try {
    for (auto& decision : reader.published().decisions)
      present.decisions.emplace(std::pair(decision.key, decision.family), decision);
  } catch (const Error& error) {
    if (error.code() != StatusCode::not_found) throw;  // nothing is published yet
  }
  return present;
}

[[noreturn]] void refuse_conflict(const SweepResults& results, const std::string& what) {
  throw Error(StatusCode::failed_precondition,
              results.where + ": sweep " + results.sweep.uuid + " is in the database with " + what +
                  ": one of the two is no copy of the other; nothing of it was imported");
}

/// Refuses a sweep whose name another sweep has.
void check_is_same(const SweepRecord& stored, const SweepResults& results) {
  const SweepRecord& read = results.sweep;
  const auto compare = [&](const auto& one, const auto& other, const char* what) {
    if (one != other) refuse_conflict(results, std::string("another ") + what);
  };
  compare(stored.started_at, read.started_at, "begin");
  compare(stored.configuration, read.configuration, "configuration");
  compare(stored.environment_digest, read.environment_digest, "environment");
  compare(stored.launch, read.launch, "launch");
  compare(stored.seed, read.seed, "seed");
  compare(stored.planned_trials, read.planned_trials, "number of trials");
  compare(stored.purpose, read.purpose, "purpose");
}

/// Those measurements of `results` that the database lacks.
std::vector<Measurement> missing_measurements(const Store& store, const SweepResults& results,
                                              bool is_known) {
  if (!is_known) return results.measurements;
  using Place = std::tuple<TuningKey, TrialName, int>;
  const auto place_of = [](const Measurement& measurement) {
    return Place(measurement.key, name_of_trial(measurement), measurement.pass);
  };
  std::map<Place, Measurement> there;
  for (auto& measurement : store.measurements(results.sweep.uuid)) {
    Place place = place_of(measurement);
    there.emplace(std::move(place), std::move(measurement));
  }
  std::vector<Measurement> missing;
  for (const auto& measurement : results.measurements) {
    const auto stored = there.find(place_of(measurement));
    if (stored == there.end())
      missing.push_back(measurement);
    else if (stored->second != measurement)
      refuse_conflict(results, "another measurement of " + to_string(measurement.variant) +
                                   " for " + describe(measurement.key.problem));
  }
  return missing;
}

/// Whether the database's decision stays: it comes from this same sweep or a later one, or outranks
/// `imported`.
bool stays(const Decision& stored, const Decision& imported, const Present& present,
           const SweepResults& results) {
  if (is_worth_more(stored, imported)) return true;
  if (stored.sweep_uuid == results.sweep.uuid) return true;
  const auto sweep = present.sweeps.find(stored.sweep_uuid);
  return sweep != present.sweeps.end() && sweep->second.started_at > results.sweep.started_at;
}

std::vector<Decision> decisions_to_publish(const Present& present, const SweepResults& results) {
  std::vector<Decision> publish;
  for (const auto& decision : results.decisions) {
    const auto stored = present.decisions.find({decision.key, decision.family});
    if (stored != present.decisions.end() && stays(stored->second, decision, present, results))
      continue;
    if (auto rest = without_quarantined(decision, present.quarantines))
      publish.push_back(std::move(*rest));
  }
  return publish;
}

/// The state that the database records for the sweep: without an end, it was killed.
SweepState final_state(const SweepResults& results) {
  return results.has_ended ? results.sweep.state : SweepState::partial;
}

/// Worlds without measurements or decisions are left out.
void note_members(Store& store, const SweepResults& results) {
  std::map<std::string, Topology> topologies;
  const auto add = [&](const auto& items) {
    std::set<Topology> distinct;
    for (const auto& item : items) distinct.insert(item.key.topology);
    for (const Topology& topology : distinct)
      topologies.emplace(digest_of_value(topology), topology);
  };
  if (results.members.empty()) return;
  add(results.measurements);
  add(results.decisions);
  for (const WorldMembers& world : results.members) {
    const auto topology = topologies.find(world.topology_digest);
    if (topology != topologies.end())
      store.note_members(world.sweep_uuid, topology->second, world.members);
  }
}

void import_sweep(Store& store, const Present& present, const SweepResults& results,
                  std::ostream& out) {
  const auto known = present.sweeps.find(results.sweep.uuid);
  const bool is_known = known != present.sweeps.end();
  if (is_known) check_is_same(known->second, results);
  const auto measurements = missing_measurements(store, results, is_known);
  const auto decisions = decisions_to_publish(present, results);
  const bool is_finished = is_known && known->second.state != SweepState::running;
  if (is_finished && measurements.empty() && decisions.empty()) {
    out << fmt::format("sweep {} is there already: nothing changed\n", results.sweep.uuid);
    return;
  }
  if (!is_known) {
    SweepRecord begun = results.sweep;
    begun.state = SweepState::running;
    begun.finished_at.clear();
    begun.summary.clear();
    store.begin_sweep(begun);
  }
  note_members(store, results);
  store.append(results.sweep.uuid, measurements);
  std::string published = "no new decisions";
  if (!decisions.empty()) {
    const Generation generation = store.publish(decisions, now_utc(), fits_of);
    published =
        fmt::format("{} decisions published as generation {}", decisions.size(), generation.number);
  }
  store.finish_sweep(results.sweep.uuid, final_state(results),
                     results.has_ended ? results.sweep.finished_at : now_utc(),
                     results.sweep.summary);
  out << fmt::format("sweep {}: {} measurements added, {}\n", results.sweep.uuid,
                     measurements.size(), published);
}

void write_notes(const ResultsFile& file, std::ostream& notes) {
  if (!file.cut_off.empty()) notes << "colltune: " << file.cut_off << "; it is left out\n";
  for (const auto& results : file.sweeps)
    if (!results.has_ended)
      notes << "colltune: " << results.where << ": sweep " << results.sweep.uuid
            << " has no end in this file: it was stopped, and is filed as partial\n";
}

}  // namespace

void run_import(const ImportOptions& options, std::ostream& out, std::ostream& notes) {
  std::ifstream in(options.results, std::ios::binary);
  if (!in || std::filesystem::is_directory(options.results))
    throw Error(StatusCode::failed_precondition,
                options.results +
                    " cannot be read; it is to be the file that colltune-agent sweep "
                    "--json wrote");
  const ResultsFile file = read_results(in, options.results);
  write_notes(file, notes);
  Store store(options.database);
  for (const auto& record : file.environments) store.put_environment(record.environment);
  store.note_compositions(file.compositions);
  for (const auto& results : file.sweeps)
    import_sweep(store, read_present(options.database), results, out);
}

}  // namespace colltune
