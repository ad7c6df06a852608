// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "show_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <ostream>

#include "colltune/export/decision_json.h"
#include "colltune/json/json.h"
#include "reports/report_data.h"
#include "source/database.h"
#include "source/table.h"
#include "text/figures.h"
#include "text/members_text.h"
#include "text/text_table.h"

namespace colltune {
namespace {

using Align = TextTable::Align;

/// One JSON array with one element per line, so that both jq and grep can read it.
class JsonLinesArray {
 public:
  explicit JsonLinesArray(std::ostream& out) : out_(out) {}
  void add(const nlohmann::json& element) {
    out_ << (is_empty_ ? "[\n" : ",\n")
         << element.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    is_empty_ = false;
  }
  void finish() { out_ << (is_empty_ ? "[]\n" : "\n]\n"); }

 private:
  std::ostream& out_;
  bool is_empty_ = true;
};

std::string yes_no(bool value) { return value ? "yes" : "no"; }

std::chrono::nanoseconds median_sample(std::vector<std::chrono::nanoseconds> times) {
  const std::size_t middle = times.size() / 2;
  std::ranges::nth_element(times, times.begin() + static_cast<std::ptrdiff_t>(middle));
  if (times.size() % 2 == 1) return times[middle];
  const auto below =
      *std::max_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(middle));
  return (below + times[middle]) / 2;
}

/// Median, least and greatest time of the samples, per call, in microseconds; "-" if there are
/// none.
std::vector<std::string> times_of(const Measurement& measurement) {
  if (measurement.samples.empty()) return {"-", "-", "-"};
  const auto [least, most] = std::ranges::minmax(measurement.samples);
  std::vector<std::string> texts;
  for (const auto time : {median_sample(measurement.samples), least, most})
    texts.push_back(microseconds(time / std::max(1, measurement.calls_per_sample)));
  return texts;
}

/// `record` with the digest of its key, by which a person names the key to other commands.
template <class Record>
nlohmann::json json_with_key_digest(const Record& record) {
  nlohmann::json element = to_json_value(record);
  element["key_digest"] = digest_of_value(record.key);
  return element;
}

}  // namespace

void run_show_sweeps(const ShowOptions& options, std::ostream& out) {
  const auto sweeps = open_database(options.database).sweeps();
  if (options.json) {
    JsonLinesArray array(out);
    for (const auto& sweep : sweeps) array.add(to_json_value(sweep));
    return array.finish();
  }
  if (!options.is_wide) {
    TextTable table({{"sweep"}, {"purpose"}, {"state"}, {"started"}, {"about"}});
    for (const auto& sweep : sweeps)
      table.add_row({sweep.uuid, std::string(name_of(sweep.purpose)),
                     std::string(name_of(sweep.state)), sweep.started_at,
                     fmt::format("{} trials, environment {}, {}", sweep.planned_trials,
                                 short_form(sweep.environment_digest), sweep.launch)});
    out << table.text(narrow_table);
    return;
  }
  TextTable table({{"sweep"},
                   {"purpose"},
                   {"state"},
                   {"started"},
                   {"finished"},
                   {"trials", Align::right},
                   {"seed", Align::right},
                   {"environment"},
                   {"colltune"},
                   {"kernel"},
                   {"launch"}});
  for (const auto& sweep : sweeps)
    table.add_row({sweep.uuid, std::string(name_of(sweep.purpose)),
                   std::string(name_of(sweep.state)), sweep.started_at,
                   sweep.finished_at.empty() ? "-" : sweep.finished_at,
                   std::to_string(sweep.planned_trials), std::to_string(sweep.seed),
                   short_form(sweep.environment_digest), sweep.provenance.colltune_version,
                   sweep.provenance.kernel_release, sweep.launch});
  out << table.text();
}

namespace {

/// The decisions that the options select. Throws Error(not_found) if none is left although there
/// are some.
std::vector<Decision> chosen_decisions(const ShowOptions& options,
                                       std::vector<Decision> decisions) {
  const bool is_empty = decisions.empty();
  if (!options.collective.empty() && options.collective != name_of(ProblemKind::mesh_reduce))
    (void)parse_name<Collective>(options.collective);
  const std::string family = options.family.empty() ? std::string(any_family) : options.family;
  const RegimeChoice regime = regime_choice(options.regime, {});
  const std::string regimes = regimes_text(decisions);
  std::erase_if(decisions, [&](const Decision& decision) {
    return (family != "all" && decision.family != family) ||
           (!options.collective.empty() &&
            operation_name(decision.key.problem) != options.collective) ||
           !regime.admits(decision.key) ||
           describe(decision.key.topology).find(options.world) == std::string::npos;
  });
  if (decisions.empty() && !is_empty)
    throw Error(StatusCode::not_found,
                (options.table.empty() ? options.database : options.table) +
                    ": no decision is of family '" + family + "'" +
                    (options.collective.empty() ? "" : ", of " + options.collective) +
                    (options.world.empty() ? "" : ", for a world like '" + options.world + "'") +
                    ", in the regime asked for; --family all lists each family, and decided are " +
                    regimes);
  return decisions;
}

std::string narrow_decisions(const std::vector<Decision>& decisions) {
  HeadedTables tables({{"size", Align::right},
                       {"time(us)", Align::right},
                       {"speed-up", Align::right},
                       {"verdict"},
                       {"status"},
                       {"winner"}});
  for (const Decision& decision : decisions) {
    const Problem& problem = decision.key.problem;
    const RankedVariant& winner = decision.ranked.front();
    tables.add_row(
        fmt::format("{} {}{}{}, {}{}, {}", operation_text(problem), name_of(problem.data_type),
                    problem.reduce_op == ReduceOp::none
                        ? std::string()
                        : fmt::format(" {}", name_of(problem.reduce_op)),
                    problem.in_place ? " in place" : "", describe(decision.key.topology),
                    decision.family == any_family ? std::string() : ", family " + decision.family,
                    describe(regime_of(decision.key))),
        {format_bytes(problem.message_size), microseconds(winner.median), speedup(winner),
         verdict_text(decision), std::string(name_of(decision.status)), to_string(winner.variant)});
  }
  return tables.text(narrow_table);
}

}  // namespace

void run_show_decisions(const ShowOptions& options, std::ostream& out) {
  const Origin origin{.database = options.database,
                      .server = {},
                      .table = options.table,
                      .generation = options.generation};
  check(origin);
  DecisionSet published = read_decisions(origin);
  published.decisions = chosen_decisions(options, std::move(published.decisions));
  if (options.json) {
    JsonLinesArray array(out);
    for (const auto& decision : published.decisions)
      array.add(decision_to_json(decision, published.generation,
                                 find_environment(published, decision.key.environment_digest)));
    return array.finish();
  }
  if (!options.is_wide) {
    out << narrow_decisions(published.decisions);
    return;
  }
  TextTable table({{"collective"},
                   {"world"},
                   {"size", Align::right},
                   {"count", Align::right},
                   {"type"},
                   {"op"},
                   {"in-place"},
                   {"family"},
                   {"calling"},
                   {"input"},
                   {"time(us)", Align::right},
                   {"algbw(GB/s)", Align::right},
                   {"busbw(GB/s)", Align::right},
                   {"verified", Align::right},
                   {"speed-up", Align::right},
                   {"verdict"},
                   {"status"},
                   {"winner"}});
  for (const auto& decision : published.decisions) {
    const Problem& problem = decision.key.problem;
    const Topology& topology = decision.key.topology;
    const RankedVariant& winner = decision.ranked.front();
    const double bandwidth = algorithm_bandwidth(problem.message_size, winner.median);
    table.add_row(
        {operation_text(problem), describe(topology), format_bytes(problem.message_size),
         std::to_string(block_elements(problem, topology.ranks)),
         std::string(name_of(problem.data_type)), std::string(name_of(problem.reduce_op)),
         yes_no(problem.in_place), decision.family, std::string(name_of(decision.key.calling)),
         std::string(name_of(decision.key.input)), microseconds(winner.median),
         fmt::format("{:.2f}", bandwidth),
         problem.mesh ? std::string("-")  // nccl-tests defines no factor for mesh reductions
                      : fmt::format("{:.2f}", bandwidth * bus_bandwidth_factor(problem.collective,
                                                                               topology.ranks)),
         std::to_string(winner.verified_calls), speedup(winner), verdict_text(decision),
         std::string(name_of(decision.status)), to_string(winner.variant)});
  }
  out << table.text();
}

void run_show_generations(const ShowOptions& options, std::ostream& out) {
  const auto generations = open_database(options.database).generations();
  if (options.json) {
    JsonLinesArray array(out);
    for (const auto& generation : generations) array.add(to_json_value(generation));
    return array.finish();
  }
  TextTable table(
      {{"generation", Align::right}, {"published"}, {"decisions", Align::right}, {"content"}});
  for (const auto& generation : generations)
    table.add_row({std::to_string(generation.number), generation.published_at,
                   std::to_string(generation.decisions), short_form(generation.content_digest)});
  out << table.text(table_width(options.is_wide));
}

void run_show_measurements(const ShowOptions& options, std::ostream& out) {
  const StoreReader reader = open_database(options.database);
  std::vector<std::string> uuids;
  if (options.sweep.empty())
    for (const auto& sweep : reader.sweeps()) uuids.push_back(sweep.uuid);
  else
    uuids.push_back(named_sweep(reader, options.database, options.sweep).uuid);
  HeadedTables narrow({{"pass", Align::right},
                       {"outcome"},
                       {"samples", Align::right},
                       {"median(us)", Align::right},
                       {"least(us)", Align::right},
                       {"verified", Align::right},
                       {"variant"}});
  JsonLinesArray array(out);
  TextTable table({{"sweep"},
                   {"problem"},
                   {"world"},
                   {"variant"},
                   {"pass", Align::right},
                   {"outcome"},
                   {"samples", Align::right},
                   {"median(us)", Align::right},
                   {"least(us)", Align::right},
                   {"most(us)", Align::right},
                   {"verified", Align::right},
                   {"detail"}});
  for (const auto& uuid : uuids) {
    for (const auto& measurement : reader.measurements(uuid)) {
      if (options.json) {
        nlohmann::json element = to_json_value(measurement);
        element["sweep_uuid"] = uuid;
        array.add(element);
        continue;
      }
      const auto times = times_of(measurement);
      if (!options.is_wide) {
        narrow.add_row(
            fmt::format("sweep {}: {} on {}", short_form(uuid), describe(measurement.key.problem),
                        describe(measurement.key.topology)),
            {std::to_string(measurement.pass), std::string(name_of(measurement.outcome)),
             std::to_string(measurement.samples.size()), times[0], times[1],
             std::to_string(measurement.verified_calls),
             to_string(measurement.variant) +
                 (measurement.detail.empty() ? "" : ": " + measurement.detail)});
        continue;
      }
      table.add_row({short_form(uuid), describe(measurement.key.problem),
                     describe(measurement.key.topology), to_string(measurement.variant),
                     std::to_string(measurement.pass), std::string(name_of(measurement.outcome)),
                     std::to_string(measurement.samples.size()), times[0], times[1], times[2],
                     std::to_string(measurement.verified_calls), measurement.detail});
    }
  }
  say_left_out(reader.left_out());
  if (options.json) return array.finish();
  out << (options.is_wide ? table.text() : narrow.text(narrow_table));
}

void run_show_environments(const ShowOptions& options, std::ostream& out) {
  const auto environments = open_database(options.database).environments();
  if (options.json) {
    JsonLinesArray array(out);
    for (const auto& record : environments) array.add(to_json_value(record));
    return array.finish();
  }
  for (const auto& [digest, environment] : environments) {
    out << digest << '\n';
    visit_facts(environment, [&](std::string_view name, const std::string& value) {
      if (!value.empty()) out << fmt::format("  {:<17} {}\n", name, value);
    });
  }
}

void run_show_members(const ShowOptions& options, std::ostream& out) {
  const PublishedTable published = read_published(options.database, options.generation);
  std::map<std::string, std::string> worlds;  // by the digest of the topology
  for (const auto& decision : published.decisions)
    worlds.emplace(digest_of_value(decision.key.topology), describe(decision.key.topology));
  std::vector<const WorldMembers*> selected;
  for (const WorldMembers& world : published.members)
    if (world.topology_digest.starts_with(options.topology) &&
        world.sweep_uuid.starts_with(options.sweep))
      selected.push_back(&world);
  if (selected.empty())
    throw Error(StatusCode::not_found,
                options.database + ": of no decision " +
                    (published.members.empty() ? "is it stored" : "that is meant is it stored") +
                    " what the members could do that were measured");
  if (!options.json) {
    for (const WorldMembers* world : selected)
      out << fmt::format("{}, topology {}, sweep {}\n{}", worlds[world->topology_digest],
                         world->topology_digest, world->sweep_uuid, members_text(world->members));
    return;
  }
  if (std::ranges::any_of(selected, [&](const WorldMembers* world) {
        return world->members != selected.front()->members;
      }))
    throw Error(StatusCode::invalid_argument,
                "there are " + std::to_string(selected.size()) +
                    " worlds of unlike members; name one by --topology and --sweep, as 'colltune "
                    "show members' prints them");
  out << to_json_value(selected.front()->members).dump(2) << '\n';
}

void run_show_failures(const ShowOptions& options, std::ostream& out) {
  JsonLinesArray array(out);
  const StoreReader reader = open_database(options.database);
  const std::string uuid = options.sweep.empty()
                               ? std::string()
                               : named_sweep(reader, options.database, options.sweep).uuid;
  HeadedTables narrow({{"recorded"}, {"outcome"}, {"variant"}});
  TextTable table({{"sweep"},
                   {"recorded"},
                   {"key"},
                   {"problem"},
                   {"world"},
                   {"variant"},
                   {"outcome"},
                   {"detail"}});
  for (const auto& failure : reader.failures()) {
    if (!uuid.empty() && failure.sweep_uuid != uuid) continue;
    if (options.json)
      array.add(json_with_key_digest(failure));
    else if (!options.is_wide)
      narrow.add_row(fmt::format("sweep {}: {} on {}, key {}", short_form(failure.sweep_uuid),
                                 describe(failure.key.problem), describe(failure.key.topology),
                                 short_form(digest_of_value(failure.key))),
                     {failure.recorded_at, std::string(name_of(failure.outcome)),
                      to_string(failure.variant) + ": " + failure.detail});
    else
      table.add_row({short_form(failure.sweep_uuid), failure.recorded_at,
                     short_form(digest_of_value(failure.key)), describe(failure.key.problem),
                     describe(failure.key.topology), to_string(failure.variant),
                     std::string(name_of(failure.outcome)), failure.detail});
  }
  if (options.json) return array.finish();
  out << (options.is_wide ? table.text() : narrow.text(narrow_table));
}

void run_show_quarantines(const ShowOptions& options, std::ostream& out) {
  const StoreReader reader = open_database(options.database);
  JsonLinesArray array(out);
  TextTable table({{"since"},
                   {"released"},
                   {"key"},
                   {"problem"},
                   {"world"},
                   {"variant"},
                   {"outcome"},
                   {"failures", Align::right},
                   {"reason"}});
  HeadedTables narrow({{"since"}, {"outcome"}, {"failures", Align::right}, {"variant"}});
  for (const auto& record : options.all ? reader.quarantine_history() : reader.quarantines()) {
    if (options.json)
      array.add(json_with_key_digest(record));
    else if (!options.is_wide)
      narrow.add_row(
          fmt::format("{} on {}, key {}", describe(record.key.problem),
                      describe(record.key.topology), short_form(digest_of_value(record.key))),
          {record.since, std::string(name_of(record.outcome)), std::to_string(record.failures),
           to_string(record.variant) + ": " + record.reason +
               (record.released_at.empty() ? "" : "; released " + record.released_at)});
    else
      table.add_row({record.since, record.released_at.empty() ? "-" : record.released_at,
                     short_form(digest_of_value(record.key)), describe(record.key.problem),
                     describe(record.key.topology), to_string(record.variant),
                     std::string(name_of(record.outcome)), std::to_string(record.failures),
                     record.reason});
  }
  if (options.json) return array.finish();
  out << (options.is_wide ? table.text() : narrow.text(narrow_table));
}

}  // namespace colltune
