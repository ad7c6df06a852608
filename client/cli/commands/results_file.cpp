// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "results_file.h"

#include <algorithm>
#include <chrono>
#include <concepts>
#include <set>
#include <tuple>
#include <utility>

#include "colltune/decide/trials.h"
#include "colltune/json/journal_lines.h"
#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/field_limits.h"
#include "text/figures.h"

namespace colltune {
namespace {

constexpr std::size_t longest_name = 4096;
constexpr std::size_t longest_document = std::size_t{16} << 20U;

/// Whether `text` is a time of this century in the format of utc_after().
bool is_utc_time(std::string_view text) {
  constexpr std::string_view form = "20dd-dd-ddTdd:dd:ddZ";
  if (text.size() != form.size()) return false;
  for (std::size_t i = 0; i < form.size(); ++i) {
    const bool is_digit = text[i] >= '0' && text[i] <= '9';
    if (form[i] == 'd' ? !is_digit : text[i] != form[i]) return false;
  }
  const auto number = [&](std::size_t at) { return (text[at] - '0') * 10 + (text[at + 1] - '0'); };
  const int month = number(5);
  const int day = number(8);
  return month >= 1 && month <= 12 && day >= 1 && day <= 31 && number(11) <= 23 &&
         number(14) <= 59 && number(17) <= 60;
}

/// Collects the records of a results file and checks that they are consistent.
class ResultsBuilder {
 public:
  explicit ResultsBuilder(ResultsFile& file) : file_(file) {}

  void add(const JournalLine& line) {
    switch (line.record) {
      case JournalRecord::environment:
        return add_environment(checked<Environment>(line));
      case JournalRecord::sweep:
        return begin_sweep(line.as<SweepRecord>(), line.where);
      case JournalRecord::measurement:
        return add_measurement(checked<Measurement>(line), line.where);
      case JournalRecord::decision:
        return add_decision(checked<Decision>(line), line.where);
      case JournalRecord::end:
        return end_sweep(line.as<SweepRecord>(), line.where);
      case JournalRecord::members:
        return add_members(checked<WorldMembers>(line), line.where);
      case JournalRecord::composition:
        file_.compositions.push_back(checked<Composition>(line));
        return;
    }
  }

 private:
  [[noreturn]] static void fail(const std::string& where, const std::string& what) {
    throw Error(StatusCode::invalid_argument, where + ": " + what);
  }

  /// The line's value, within the limits that every reader relies on.
  template <class T>
  static T checked(const JournalLine& line) {
    T value = line.as<T>();
    const std::string where = line.where + "/value";
    check_value(value, FieldPath{.name = where, .form = FieldPath::Form::slashes});
    return value;
  }

  /// The later of two sweeps decides. So an invalid time, or one in the future, would decide
  /// forever.
  void check_time(const std::string& time, const std::string& field,
                  const std::string& where) const {
    if (!is_utc_time(time))
      fail(where, "value/" + field + ": '" + time +
                      "' is no time; write UTC as in 2026-01-31T09:30:00Z");
    if (time > latest_)
      fail(where, "value/" + field + ": " + time +
                      " has not come yet; set the clock of the machine that wrote it, or of this one");
  }

  void check_sweep(const SweepRecord& sweep, const std::string& where) const {
    const FieldPath root{.name = where, .form = FieldPath::Form::slashes};
    const FieldPath value{&root, "value"};
    visit_fields(sweep, [&](std::string_view name, const auto& field) {
      if constexpr (std::same_as<std::remove_cvref_t<decltype(field)>, std::string>) {
        const bool is_document = name == "configuration" || name == "summary" || name == "launch";
        check_text(field, {.longest_text = is_document ? longest_document : longest_name},
                   {&value, name});
      }
    });
    check_time(sweep.started_at, "started_at", where);
    if (!sweep.finished_at.empty()) check_time(sweep.finished_at, "finished_at", where);
  }

  SweepResults& current(const std::string& where) {
    if (file_.sweeps.empty() || file_.sweeps.back().has_ended)
      fail(where, "the record belongs to no sweep: a 'sweep' record comes first");
    return file_.sweeps.back();
  }

  void check_environment(const std::string& digest, const std::string& where) const {
    if (std::ranges::find(file_.environments, digest, &EnvironmentRecord::digest) ==
        file_.environments.end())
      fail(where, "environment '" + digest + "' is not in the file before this line");
  }

  void check_key(const TuningKey& key, const std::string& where) const {
    check_environment(key.environment_digest, where);
  }

  void add_environment(Environment environment) {
    EnvironmentRecord record{.digest = digest_of(environment), .environment = {}};
    record.environment = std::move(environment);
    if (std::ranges::find(file_.environments, record) == file_.environments.end())
      file_.environments.push_back(std::move(record));
  }

  void begin_sweep(SweepRecord sweep, const std::string& where) {
    if (sweep.uuid.empty()) fail(where, "the sweep has no uuid");
    check_sweep(sweep, where);
    if (sweep.state != SweepState::running)
      fail(where,
           "a sweep begins in state 'running', not '" + std::string(name_of(sweep.state)) + "'");
    if (std::ranges::any_of(file_.sweeps, [&](const SweepResults& other) {
          return other.sweep.uuid == sweep.uuid;
        }))
      fail(where, "sweep " + sweep.uuid + " is in the file twice");
    check_environment(sweep.environment_digest, where);
    trials_.clear();
    file_.sweeps.push_back({.sweep = std::move(sweep), .where = where});
  }

  void add_measurement(Measurement measurement, const std::string& where) {
    SweepResults& sweep = current(where);
    check_key(measurement.key, where);
    if (measurement.slowest_ranks.size() != measurement.samples.size())
      fail(where, "value/slowest_ranks is not as long as value/samples_ns");
    if (!measurement.marks.empty() && measurement.marks.size() != measurement.samples.size())
      fail(where, "value/marks is neither empty nor as long as value/samples_ns");
    if (measurement.pass < 0)
      fail(where, "value/pass is " + std::to_string(measurement.pass) + "; passes count from 0");
    if (!trials_.emplace(measurement.key, name_of_trial(measurement), measurement.pass).second)
      fail(where, "the trial of " + to_string(measurement.variant) + " for " +
                      describe(measurement.key.problem) + " is in pass " +
                      std::to_string(measurement.pass) + " of the sweep twice");
    sweep.measurements.push_back(std::move(measurement));
  }

  void add_decision(Decision decision, const std::string& where) {
    SweepResults& sweep = current(where);
    check_key(decision.key, where);
    check_compositions(decision, sweep, where);
    if (decision.sweep_uuid != sweep.sweep.uuid)
      fail(where,
           "the decision is of sweep '" + decision.sweep_uuid + "', not of " + sweep.sweep.uuid);
    sweep.decisions.push_back(std::move(decision));
  }

  void add_members(WorldMembers world, const std::string& where) {
    SweepResults& sweep = current(where);
    if (world.sweep_uuid != sweep.sweep.uuid)
      fail(where,
           "the members are of sweep '" + world.sweep_uuid + "', not of " + sweep.sweep.uuid);
    sweep.members.push_back(std::move(world));
  }

  /// Checks that the compositions that the decision names exist, and match the ranks that it was
  /// measured with.
  void check_compositions(const Decision& decision, const SweepResults& sweep,
                          const std::string& where) const {
    const auto world = std::ranges::find(sweep.members, digest_of_value(decision.key.topology),
                                         &WorldMembers::topology_digest);
    std::set<std::string> kinds;
    if (world != sweep.members.end()) {
      const std::size_t ranks = world->members.kind_of_rank.size();
      if (ranks != static_cast<std::size_t>(decision.key.topology.ranks))
        fail(where, "the decision is for " + std::to_string(decision.key.topology.ranks) +
                        " ranks, and its world's members are " + std::to_string(ranks));
      for (const MemberKind& kind : world->members.kinds) kinds.insert(digest_of_value(kind));
    }
    for (const RankedVariant& ranked : decision.ranked) {
      const std::string_view name = parts_named_by(ranked.variant);
      if (name.empty()) continue;
      const auto composition = std::ranges::find_if(
          file_.compositions, [&](const auto& one) { return parts_name(one) == name; });
      if (composition == file_.compositions.end())
        fail(where, "the composition that " + to_string(ranked.variant) +
                        " names is not in the file before this line");
      for (const Part& part : composition->parts)
        for (const std::string& kind : part.kinds)
          if (!kinds.empty() && !kinds.contains(kind))
            fail(where, "the composition that " + to_string(ranked.variant) +
                            " names has a part for ranks of a kind (" + kind +
                            ") that is none of the world's members");
    }
  }

  void end_sweep(SweepRecord record, const std::string& where) {
    SweepResults& sweep = current(where);
    if (record.uuid != sweep.sweep.uuid)
      fail(where, "the end is of sweep '" + record.uuid + "', not of " + sweep.sweep.uuid);
    check_sweep(record, where);
    if (record.started_at != sweep.sweep.started_at)
      fail(where, "the end says that the sweep began at " + record.started_at + ", its begin " +
                      sweep.sweep.started_at);
    sweep.sweep = std::move(record);
    sweep.has_ended = true;
  }

  ResultsFile& file_;
  const std::string latest_ = utc_after(std::chrono::hours(24));  ///< tolerates clocks that differ
  std::set<std::tuple<TuningKey, TrialName, int>> trials_;  ///< of the current sweep, with the pass
};

}  // namespace

ResultsFile read_results(std::istream& in, const std::string& name) {
  ResultsFile file;
  ResultsBuilder builder(file);
  JournalLineReader reader(in, name);
  while (const auto line = reader.next()) builder.add(*line);
  file.cut_off = reader.cut_off();
  if (file.sweeps.empty())
    throw Error(StatusCode::invalid_argument,
                name + ": there is no sweep in this file; colltune-agent sweep --json writes one" +
                    (file.cut_off.empty() ? "" : " (" + file.cut_off + ")"));
  return file;
}

}  // namespace colltune
