// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <set>

#include "colltune/decide/regret.h"
#include "colltune/json/json.h"
#include "colltune/model/fitted/variant_fits.h"
#include "colltune/vocabulary/canonical.h"
#include "report_command.h"
#include "report_data.h"
#include "source/database.h"
#include "text/figures.h"
#include "text/text_table.h"

namespace colltune {
namespace {

/// One way of judging, with the text about it.
struct Section {
  std::string name;  ///< in JSON
  std::string title;
  Regret regret;
  bool lists_all = true;  ///< else only choices whose regret exceeds 5 %
};

constexpr double tolerated = 0.05;

/// What the table of this sweep's decisions answers for its held-out sizes.
std::vector<HeldOutAnswer> answers_for_held_out(const ReportedSweep& sweep) {
  std::set<TuningKey> keys;
  for (const Measurement& trial : sweep.measurements)
    if (trial.is_holdout) keys.insert(trial.key);
  std::vector<HeldOutAnswer> answers;
  if (keys.empty() || sweep.decisions.empty()) return answers;
  const DecisionTable table({.decisions = sweep.decisions,
                             .members = sweep.members,
                             .compositions = sweep.compositions,
                             .fits = fits_of(sweep.decisions)});
  for (const TuningKey& key : keys) {
    HeldOutAnswer answer{.key = key};
    try {
      const LookupAnswer found = table.find(query_for(sweep, key));
      answer.verdict = found.decision.verdict;
      answer.chosen = found.decision.ranked.front().variant;
    } catch (const Error& error) {
      if (error.code() != StatusCode::not_found) throw;  // no size of this problem was decided
    }
    answers.push_back(std::move(answer));
  }
  return answers;
}

/// Every launch in the database, with the decisions of `chosen` only, or of all launches if it is
/// empty.
std::vector<Launch> read_launches(const StoreReader& reader, const std::string& chosen) {
  std::vector<Launch> launches;
  for (const SweepRecord& record : reader.sweeps()) {
    const bool is_judged =
        record.purpose == SweepPurpose::choose && (chosen.empty() || chosen == record.uuid);
    ReportedSweep sweep = read_sweep(reader, record);
    launches.push_back(
        {.sweep_uuid = record.uuid,
         .measurements = std::move(sweep.measurements),
         .decisions = is_judged ? std::move(sweep.decisions) : std::vector<Decision>()});
  }
  return launches;
}

std::string means_text(const Regret& regret) {
  return fmt::format(
      "default 1.000x, chosen {:.3f}x, best {:.3f}x; regret at most 5 % in {:.1f} % "
      "of {} choices",
      regret.chosen_speedup, regret.best_speedup, 100 * regret.within_five_percent,
      regret.keys.size());
}

std::string section_text(const Section& section, bool is_wide) {
  using Align = TextTable::Align;
  const Regret& regret = section.regret;
  std::string out = section.title + '\n';
  if (regret.keys.empty())
    return out + fmt::format("  nothing can be judged so ({} choices without samples)\n",
                             regret.not_judged);
  out += "  all      " + means_text(regret) + '\n';
  const Regret decided = without_undecided(regret);
  if (decided.keys.size() < regret.keys.size() && !decided.keys.empty())
    out += "  decided  " + means_text(decided) + '\n';
  if (regret.not_judged > 0)
    out += fmt::format("  {} more choices have no samples to judge them by\n", regret.not_judged);
  TextTable table({{"problem"},
                   {"world"},
                   {"sweep"},
                   {"verdict"},
                   {"chosen(x)", Align::right},
                   {"best(x)", Align::right},
                   {"regret", Align::right},
                   {"chosen"},
                   {"best"}});
  HeadedTables narrow({{"sweep"},
                       {"verdict"},
                       {"chosen(x)", Align::right},
                       {"best(x)", Align::right},
                       {"regret", Align::right},
                       {"chosen / best"}});
  bool is_empty = true;
  for (const KeyRegret& key : regret.keys) {
    if (!section.lists_all && key.regret <= tolerated) continue;
    is_empty = false;
    narrow.add_row(
        describe(key.key.problem) + " on " + describe(key.key.topology),
        {key.sweep_uuid.empty() ? "-" : short_form(key.sweep_uuid),
         std::string(name_of(key.verdict)), fmt::format("{:.3f}", key.chosen_speedup),
         fmt::format("{:.3f}", key.best_speedup), fmt::format("{:.1f} %", 100 * key.regret),
         to_string(key.chosen) + " / " + to_string(key.best)});
    table.add_row({describe(key.key.problem), describe(key.key.topology),
                   key.sweep_uuid.empty() ? "-" : short_form(key.sweep_uuid),
                   std::string(name_of(key.verdict)), fmt::format("{:.3f}", key.chosen_speedup),
                   fmt::format("{:.3f}", key.best_speedup),
                   fmt::format("{:.1f} %", 100 * key.regret), to_string(key.chosen),
                   to_string(key.best)});
  }
  if (is_empty) return out;
  return out + '\n' + (is_wide ? table.text() : narrow.text(narrow_table));
}

nlohmann::json means_to_json(const Regret& regret) {
  return {{"choices", regret.keys.size()},
          {"chosen_speedup", regret.chosen_speedup},
          {"best_speedup", regret.best_speedup},
          {"within_five_percent", regret.within_five_percent}};
}

nlohmann::json section_to_json(const Section& section) {
  nlohmann::json keys = nlohmann::json::array();
  for (const KeyRegret& key : section.regret.keys)
    keys.push_back({{"key", to_json_value(key.key)},
                    {"sweep_uuid", key.sweep_uuid},
                    {"verdict", name_of(key.verdict)},
                    {"chosen", to_string(key.chosen)},
                    {"best", to_string(key.best)},
                    {"chosen_speedup", key.chosen_speedup},
                    {"best_speedup", key.best_speedup},
                    {"regret", key.regret}});
  nlohmann::json json = means_to_json(section.regret);
  json["decided"] = means_to_json(without_undecided(section.regret));
  json["not_judged"] = section.regret.not_judged;
  json["keys"] = std::move(keys);
  return json;
}

}  // namespace

void run_report_regret(const ReportOptions& options, std::ostream& out) {
  const StoreReader reader = open_database(options.database);
  const ReportedSweep sweep =
      read_sweep(reader, find_sweep(reader, options.database, options.sweep));
  const std::vector<Launch> launches = read_launches(reader, options.sweep);
  const std::vector<Section> sections{
      {.name = "cross_fitted",
       .title =
           fmt::format("by rounds: chosen by one half of the rounds of sweep {}, judged by the "
                       "other; each key twice",
                       sweep.record.uuid),
       .regret = cross_fitted_regret(sweep.measurements, sweep.policy)},
      {.name = "pooled",
       .title =
           fmt::format("by launches: {} judged by all other launches, {} in all, where steal is "
                       "below 5 %; choices above 5 % are listed",
                       options.sweep.empty() ? "each sweep" : "this sweep", launches.size()),
       .regret = pooled_regret(launches),
       .lists_all = false},
      {.name = "held_out",
       .title = "on held-out sizes: what the table of the sweep answers there",
       .regret = held_out_regret(sweep.measurements, answers_for_held_out(sweep))}};
  if (!options.json) {
    out << "Speed-ups over the default; geometric means. The best is the fastest in the judging "
           "samples,\nwhich flatter it: regret is overstated.\n";
    for (const Section& section : sections) out << '\n' << section_text(section, options.is_wide);
    return;
  }
  nlohmann::json json{{"sweep_uuid", sweep.record.uuid}, {"launches", launches.size()}};
  for (const Section& section : sections) json[section.name] = section_to_json(section);
  out << json.dump(1) << '\n';
}

}  // namespace colltune
