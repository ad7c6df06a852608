// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <ostream>

#include "colltune/decide/environment_comparison.h"
#include "colltune/decide/sweep_summary.h"
#include "colltune/json/json.h"
#include "report_command.h"
#include "report_data.h"
#include "source/database.h"
#include "text/figures.h"
#include "text/text_table.h"

namespace colltune {
namespace {

/// The launches of one series, and what is known about their environments.
struct Series {
  std::string name;
  std::vector<std::string> environments;  ///< the unchanged one first
  std::vector<EnvironmentLaunch> launches;
  std::map<std::string, std::string> digests;  ///< by environment
  DecisionPolicy policy;
};

std::optional<SeriesLaunch> launch_of(const SweepRecord& record) {
  if (record.purpose != SweepPurpose::choose) return std::nullopt;
  return read_sweep_summary(record.summary, record.uuid).launch_of;
}

/// The sweep `uuid`, or the newest one, that belongs to a series.
SweepRecord find_launch(const StoreReader& reader, const std::string& database,
                        const std::string& uuid) {
  if (!uuid.empty()) {
    SweepRecord found = find_sweep(reader, database, uuid);
    if (!launch_of(found))
      throw Error(StatusCode::failed_precondition,
                  "sweep '" + uuid +
                      "' is no launch of a series in several environments; "
                      "'launch_environments' of a configuration makes one");
    return found;
  }
  std::optional<SweepRecord> newest;
  for (SweepRecord& record : reader.sweeps())
    if (record.purpose == SweepPurpose::choose && launch_of(record) &&
        (!newest || record.started_at >= newest->started_at))
      newest = std::move(record);
  if (!newest)
    throw Error(StatusCode::not_found,
                database +
                    " holds no launches in several environments; 'launch_environments' of a "
                    "configuration and colltune-agent supervise make them");
  return *std::move(newest);
}

/// Environments in the order of their first launches, with the unchanged one first.
Series read_series(const StoreReader& reader, const SweepRecord& of) {
  Series series{.name = launch_of(of)->series};
  for (const SweepRecord& record : reader.sweeps()) {
    const auto launch = launch_of(record);
    if (!launch || launch->series != series.name) continue;
    ReportedSweep sweep = read_sweep(reader, record);
    series.policy = sweep.policy;
    const std::string& name = launch->environment;
    if (std::ranges::find(series.environments, name) == series.environments.end())
      series.environments.push_back(name);
    const auto [known, is_new] = series.digests.emplace(name, record.environment_digest);
    if (!is_new && known->second != record.environment_digest)
      throw Error(
          StatusCode::failed_precondition,
          "the launches of series " + series.name + " in the environment '" + name +
              "' were of unlike environments, " + known->second + " and " +
              record.environment_digest +
              ": something else changed meanwhile; 'colltune show environments' tells what");
    series.launches.push_back({.environment = name,
                               .turn = launch->turn,
                               .measurements = std::move(sweep.measurements),
                               .decisions = std::move(sweep.decisions)});
  }
  std::ranges::stable_partition(
      series.environments, [](const std::string& name) { return name == unchanged_environment; });
  if (series.environments.front() != unchanged_environment)
    throw Error(StatusCode::failed_precondition,
                "series " + series.name +
                    " has no finished launch in the unchanged environment to compare with");
  return series;
}

/// The facts in which an environment differs from the first one, for example "variables
/// NCCL_BUFFSIZE=8388608".
std::map<std::string, std::string> difference(const StoreReader& reader, const std::string& digest,
                                              const std::string& from) {
  std::map<std::string, std::string> facts;
  std::map<std::string, std::string> reference;
  for (const EnvironmentRecord& record : reader.environments())
    visit_facts(record.environment, [&](std::string_view name, const std::string& value) {
      if (record.digest == digest) facts.emplace(name, value);
      if (record.digest == from) reference.emplace(name, value);
    });
  std::erase_if(facts, [&](const auto& fact) { return reference[fact.first] == fact.second; });
  return facts;
}

std::string ratio(double value) { return value > 0 ? fmt::format("{:.3f}x", value) : "-"; }

std::string spread(const std::vector<double>& values) {
  if (values.empty()) return "-";
  const auto [low, high] = std::ranges::minmax(values);
  return fmt::format("{:.3f} to {:.3f}", low, high);
}

std::string means_text(const EnvironmentMeans& means) {
  return fmt::format("{} keys: winners {:.3f}x, defaults {:.3f}x; {} faster, {} slower, {} open",
                     means.keys, means.speedup, means.baseline_speedup, means.faster, means.slower,
                     means.open);
}

/// Advice for an environment with malloc's regime `fresh`, which `malloc` records: which variables
/// turn it into the first environment, and where that helps the library's default most. Empty if it
/// is not such an environment, or times are missing.
std::string malloc_advice(const std::string& name, const std::string& malloc,
                          const EnvironmentComparison& comparison) {
  if (malloc.find(" fresh") == std::string::npos) return {};
  double most = 0;
  std::string where;
  for (const KeyInEnvironments& key : comparison.keys)
    for (const EnvironmentTime& time : key.environments)
      if (time.environment == name && time.baseline_speedup > 0 &&
          1 / time.baseline_speedup > most) {
        most = 1 / time.baseline_speedup;
        where = describe(key.problem);
      }
  if (where.empty()) return {};
  return fmt::format(
      "programs that have freed nothing large run so; set MALLOC_MMAP_THRESHOLD_=33554432 "
      "MALLOC_TRIM_THRESHOLD_=67108864: worth up to {:.2f}x ({})",
      most, where);
}

std::string page_text(const StoreReader& reader, const Series& series,
                      const EnvironmentComparison& comparison, bool is_wide) {
  const std::string& first = series.environments.front();
  std::string out = fmt::format(
      "Series {}: {} launches in {} environments. Speed-ups are over '{}', launch by launch of the "
      "same turn; geometric means\nover keys. Faster and slower: by {:.3g} % in each of at least "
      "{} turns.\n",
      series.name, series.launches.size(), series.environments.size(), first,
      100 * series.policy.minimum_margin, least_environment_turns);
  for (const std::string& name : series.environments) {
    out += fmt::format("\n{} ({})", name, short_form(series.digests.at(name)));
    if (name == first) continue;
    for (const auto& [fact, value] :
         difference(reader, series.digests.at(name), series.digests.at(first))) {
      out += fmt::format("\n  {} {}", fact, value);
      if (fact != "malloc_settings") continue;
      if (const std::string advice = malloc_advice(name, value, comparison); !advice.empty())
        out += "\n  " + advice;
    }
    for (const EnvironmentMeans& means : comparison.means)
      if (means.environment == name)
        out += fmt::format("\n  {:<15}{}", means.operation.empty() ? "all" : means.operation,
                           means_text(means));
  }
  if (comparison.rounds_left_out > 0)
    out += fmt::format("\n{} keys of launches are left out: something else ran there",
                       comparison.rounds_left_out);
  using Align = TextTable::Align;
  TextTable table({{"problem"},
                   {"world"},
                   {"environment"},
                   {"winner(us)", Align::right},
                   {"default(us)", Align::right},
                   {"winners", Align::right},
                   {"defaults", Align::right},
                   {"turns", Align::right},
                   {"spread"},
                   {"finding"},
                   {"winner"}});
  HeadedTables narrow({{"environment"},
                       {"winner(us)", Align::right},
                       {"default(us)", Align::right},
                       {"winners", Align::right},
                       {"defaults", Align::right},
                       {"turns", Align::right},
                       {"finding"}});
  for (const KeyInEnvironments& key : comparison.keys)
    for (const EnvironmentTime& time : key.environments) {
      const bool is_first = time.environment == first;
      narrow.add_row(
          describe(key.problem) + " on " + describe(key.topology),
          {time.environment, microseconds(time.time), microseconds(time.baseline),
           ratio(time.speedup), ratio(time.baseline_speedup), std::to_string(time.speedups.size()),
           (is_first ? std::string("-")
                     : std::string(name_of(time.finding)) + ", " + spread(time.speedups)) +
               ": " + to_string(time.winner)});
      table.add_row({describe(key.problem), describe(key.topology), time.environment,
                     microseconds(time.time), microseconds(time.baseline), ratio(time.speedup),
                     ratio(time.baseline_speedup), std::to_string(time.speedups.size()),
                     is_first ? "-" : spread(time.speedups),
                     is_first ? "-" : std::string(name_of(time.finding)), to_string(time.winner)});
    }
  return out + "\n\n" + (is_wide ? table.text() : narrow.text(narrow_table));
}

nlohmann::json page_to_json(const StoreReader& reader, const Series& series,
                            const EnvironmentComparison& comparison) {
  using nlohmann::json;
  const std::string& first = series.environments.front();
  json environments = json::array();
  for (const std::string& name : series.environments) {
    json means = json::object();
    for (const EnvironmentMeans& one : comparison.means)
      if (one.environment == name)
        means[one.operation.empty() ? "all" : one.operation] = {
            {"keys", one.keys},
            {"speedup", one.speedup},
            {"baseline_speedup", one.baseline_speedup},
            {"faster", one.faster},
            {"slower", one.slower},
            {"open", one.open}};
    environments.push_back(
        {{"name", name},
         {"digest", series.digests.at(name)},
         {"differs_in", difference(reader, series.digests.at(name), series.digests.at(first))},
         {"means", std::move(means)}});
  }
  json keys = json::array();
  for (const KeyInEnvironments& key : comparison.keys) {
    json times = json::array();
    for (const EnvironmentTime& time : key.environments)
      times.push_back({{"environment", time.environment},
                       {"winner", to_string(time.winner)},
                       {"verdict", name_of(time.verdict)},
                       {"time_ns", time.time.count()},
                       {"baseline_ns", time.baseline.count()},
                       {"speedup", time.speedup},
                       {"baseline_speedup", time.baseline_speedup},
                       {"speedups", time.speedups},
                       {"baseline_speedups", time.baseline_speedups},
                       {"finding", name_of(time.finding)}});
    keys.push_back({{"problem", to_json_value(key.problem)},
                    {"topology", to_json_value(key.topology)},
                    {"environments", std::move(times)}});
  }
  return {{"series", series.name},
          {"launches", series.launches.size()},
          {"environments", std::move(environments)},
          {"rounds_left_out", comparison.rounds_left_out},
          {"keys", std::move(keys)}};
}

}  // namespace

void run_report_environments(const ReportOptions& options, std::ostream& out) {
  const StoreReader reader = open_database(options.database);
  const Series series = read_series(reader, find_launch(reader, options.database, options.sweep));
  const EnvironmentComparison comparison =
      compare_environments(series.launches, series.environments, series.policy);
  if (options.json)
    out << page_to_json(reader, series, comparison).dump(1) << '\n';
  else
    out << page_text(reader, series, comparison, options.is_wide);
}

}  // namespace colltune
