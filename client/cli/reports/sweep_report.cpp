// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <ostream>
#include <set>

#include "colltune/apply/settings.h"
#include "colltune/decide/decide.h"
#include "colltune/decide/noise.h"
#include "colltune/decide/null_test.h"
#include "colltune/decide/statistics.h"
#include "colltune/decide/trials.h"
#include "colltune/json/json.h"
#include "report_command.h"
#include "report_data.h"
#include "source/database.h"
#include "text/figures.h"
#include "text/regime_choice.h"
#include "text/text_table.h"

namespace colltune {
namespace {

/// A summary of the rounds of one visit to a key.
struct VisitRounds {
  std::size_t rounds = 0;    ///< of the variant that ran longest
  std::size_t variants = 0;  ///< twins included
  std::size_t ran = 0;       ///< rounds of all variants added up
};

/// What a sweep's time yielded.
struct Bought {
  std::size_t keys = 0;  ///< keys with samples
  std::size_t visits = 0;
  std::uint64_t runs = 0;
  double least_rounds = 0;
  double median_rounds = 0;
  double most_rounds = 0;
  double ran = 0;  ///< rounds run, as a share of those without racing
};

Bought bought_by(const std::vector<Measurement>& measurements) {
  Bought bought;
  std::map<std::pair<TuningKey, int>, VisitRounds> visits;  ///< by key and pass
  for (const Measurement& trial : measurements) {
    if (trial.samples.empty()) continue;
    const auto per_round = static_cast<std::size_t>(std::max(1, trial.samples_per_round));
    const std::size_t rounds = (trial.samples.size() + per_round - 1) / per_round;
    VisitRounds& visit = visits[{trial.key, trial.pass}];
    visit.rounds = std::max(visit.rounds, rounds);
    visit.ran += rounds;
    ++visit.variants;
    bought.runs += trial.samples.size();
  }
  if (visits.empty()) return bought;
  std::map<TuningKey, double> rounds_of_key;
  double ran = 0;
  double possible = 0;
  for (const auto& [place, visit] : visits) {
    rounds_of_key[place.first] += static_cast<double>(visit.rounds);
    ran += static_cast<double>(visit.ran);
    possible += static_cast<double>(visit.rounds * visit.variants);
  }
  std::vector<double> rounds;
  for (const auto& [key, of_key] : rounds_of_key) rounds.push_back(of_key);
  bought.keys = rounds.size();
  bought.visits = visits.size();
  std::tie(bought.least_rounds, bought.most_rounds) =
      std::pair(std::ranges::min(rounds), std::ranges::max(rounds));
  bought.median_rounds = median_of(rounds);
  bought.ran = ran / possible;
  return bought;
}

/// Geometric mean of the winners' speed-ups over the baseline in one family, over all keys or the
/// displaced ones.
struct Gain {
  std::size_t keys = 0;
  double mean = 1;
};

Gain gain_of(const std::vector<Decision>& decisions, std::string_view family, bool only_displaced) {
  Gain gain;
  double sum = 0;
  for (const Decision& decision : decisions) {
    const double speedup = decision.ranked.front().speedup_over_baseline;
    if (decision.family != family || speedup <= 0) continue;
    if (only_displaced && decision.verdict != Verdict::displaced) continue;
    ++gain.keys;
    sum += std::log(speedup);
  }
  if (gain.keys > 0) gain.mean = std::exp(sum / static_cast<double>(gain.keys));
  return gain;
}

/// The families with a baseline of their own: what their users run without colltune's kernels.
std::vector<std::string> families_with_baseline(const std::vector<Decision>& decisions) {
  std::set<std::string> families;
  for (const Decision& decision : decisions)
    if (decision.family != any_family &&
        std::ranges::any_of(decision.ranked, &RankedVariant::is_baseline))
      families.insert(decision.family);
  return {families.begin(), families.end()};
}

std::size_t count_confirmed(const std::vector<Decision>& decisions) {
  return static_cast<std::size_t>(std::ranges::count_if(decisions, [](const Decision& decision) {
    return decision.family == any_family && decision.status == DecisionStatus::confirmed;
  }));
}

/// The whole content of the page.
struct Page {
  const ReportedSweep& sweep;
  std::vector<QuarantineRecord> quarantines;  ///< in force, for keys of this sweep
  std::size_t trials = 0;                     ///< each counts once, however many passes it ran in
  std::size_t not_ok = 0;
  std::size_t unavailable = 0;
  Bought bought;
  std::map<Verdict, std::size_t> verdicts;
  NullTest null;
  std::optional<Environment> environment;
  std::map<ApplyBy, std::size_t> applied;  ///< the winners over all families
};

const Environment* environment_of(const Page& page) {
  return page.environment ? &*page.environment : nullptr;
}

Page make_page(const ReportedSweep& sweep, const StoreReader& reader) {
  Page page{.sweep = sweep,
            .quarantines = {},
            .bought = bought_by(sweep.measurements),
            .verdicts = count_verdicts(sweep.decisions),
            .null = null_test(sweep.measurements, sweep.policy)};
  for (const auto& [ended_as, count] : count_outcomes(sweep.measurements)) {
    page.trials += count;
    page.not_ok += is_fault(ended_as) ? count : 0;
    page.unavailable += ended_as == Outcome::unavailable ? count : 0;
  }
  for (EnvironmentRecord& record : reader.environments())
    if (record.digest == sweep.record.environment_digest)
      page.environment = std::move(record.environment);
  for (const auto& [by, name] : enum_names(ApplyBy{})) page.applied[by] = 0;
  for (const Decision& decision : sweep.decisions)
    if (decision.family == any_family)
      ++page.applied[settings_to_apply(decision.ranked.front(), decision.key.problem,
                                       environment_of(page))
                         .by];
  std::set<TuningKey> keys;
  for (const Measurement& trial : sweep.measurements) keys.insert(trial.key);
  for (QuarantineRecord& quarantine : reader.quarantines())
    if (keys.contains(quarantine.key)) page.quarantines.push_back(std::move(quarantine));
  return page;
}

double seconds(const std::optional<std::chrono::nanoseconds>& time) {
  return time ? std::chrono::duration<double>(*time).count() : 0;
}

std::string time_text(const SweepSummary& summary) {
  if (!summary.elapsed) return "not known: the sweep did not end";
  const double elapsed = seconds(summary.elapsed);
  const double budget = seconds(summary.budget);
  std::string text = fmt::format("{:.1f} s", elapsed);
  if (budget > 0)
    text += fmt::format(" of a budget of {:.1f} s ({:.0f} %)", budget, 100 * elapsed / budget);
  if (!summary.activities || elapsed <= 0) return text;
  std::string separator = ": ";
  for (const auto& [activity, time] : *summary.activities) {
    text += fmt::format("{}{} {:.0f} %", separator, activity, 100 * seconds(time) / elapsed);
    separator = ", ";
  }
  return text;
}

std::string keys_text(const Page& page) {
  std::string text = fmt::format("{} measured", page.bought.keys);
  if (page.sweep.summary.planned_keys)
    text += fmt::format(" of {} planned", *page.sweep.summary.planned_keys);
  text += fmt::format("; {} trials, {} of them not ok", page.trials, page.not_ok);
  if (page.unavailable > 0) text += fmt::format(", {} unavailable", page.unavailable);
  return text + fmt::format("; {} quarantined", page.quarantines.size());
}

std::string bought_text(const Bought& bought) {
  const std::string visits =
      bought.visits > bought.keys ? fmt::format(" in {} visits", bought.visits) : std::string();
  return fmt::format(
      "{} runs{}; {:.0f} rounds per key in the median ({:.0f} to {:.0f}); racing spared "
      "{:.0f} % of them",
      bought.runs, visits, bought.median_rounds, bought.least_rounds, bought.most_rounds,
      bought.keys == 0 ? 0 : 100 * (1 - bought.ran));
}

/// What each kind of user gains: one line each.
std::string gain_text(const std::vector<Decision>& decisions) {
  const auto line = [&](const std::string& who, std::string_view family) {
    const Gain all = gain_of(decisions, family, false);
    const Gain displaced = gain_of(decisions, family, true);
    return fmt::format(
        "{}: {:.3f}x over the default, geometric mean of {} keys; {:.3f}x where it is displaced "
        "({} "
        "keys)\n",
        who, all.mean, all.keys, displaced.mean, displaced.keys);
  };
  std::string text;
  for (const std::string& family : families_with_baseline(decisions))
    text += line("as you are (family " + family + ")", family);
  return text +
         line("with colltune's kernels (all families; in Open MPI 4.1 by colltune's component)",
              any_family);
}

std::string applied_text(const Page& page) {
  return fmt::format(
      "of the winners {} need nothing, {} variables of the launch (export openmpi and nccl write "
      "them by size), {} colltune's component for Open MPI, {} calls of the program, {} run in "
      "colltune-agent alone; colltune lookup says how for each",
      page.applied.at(ApplyBy::nothing), page.applied.at(ApplyBy::environment),
      page.applied.at(ApplyBy::component), page.applied.at(ApplyBy::program),
      page.applied.at(ApplyBy::colltune));
}

std::string verdicts_text(const Page& page) {
  std::string text;
  for (const auto& [verdict, name] : enum_names(Verdict{}))
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", page.verdicts.at(verdict), name);
  return text;
}

/// `text` with its further lines aligned below the first one.
std::string indented(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  std::string out;
  for (const char letter : text)
    out += letter == '\n' ? std::string("\n             ") : std::string(1, letter);
  return out;
}

constexpr std::string_view gain_note =
    "gain: default / winner in the same round, the median over the rounds; not the quotient\n"
    "of the medians\n";

std::string narrow_gains(const std::vector<Decision>& decisions) {
  using Align = TextTable::Align;
  HeadedTables tables({{"size", Align::right},
                       {"default(us)", Align::right},
                       {"time(us)", Align::right},
                       {"gain", Align::right},
                       {"verdict"},
                       {"winner"}});
  for (const Decision& decision : decisions) {
    if (decision.family != any_family) continue;
    const Problem& problem = decision.key.problem;
    const RankedVariant& winner = decision.ranked.front();
    const auto baseline = std::ranges::find(decision.ranked, true, &RankedVariant::is_baseline);
    tables.add_row(
        fmt::format("{} {}{}{}, {}", operation_text(problem), name_of(problem.data_type),
                    problem.reduce_op == ReduceOp::none
                        ? std::string()
                        : fmt::format(" {}", name_of(problem.reduce_op)),
                    problem.in_place ? " in place" : "", describe(decision.key.topology)),
        {format_bytes(problem.message_size),
         baseline == decision.ranked.end() ? "-" : microseconds(baseline->median),
         microseconds(winner.median), speedup(winner),
         verdict_text(decision) +
             (decision.status == DecisionStatus::confirmed ? ", confirmed" : ""),
         to_string(winner.variant)});
  }
  return tables.text(narrow_table) + std::string(gain_note);
}

std::string decisions_text(const std::vector<Decision>& decisions, bool is_wide) {
  if (!is_wide) return narrow_gains(decisions);
  using Align = TextTable::Align;
  TextTable table({{"collective"},
                   {"world"},
                   {"size", Align::right},
                   {"type"},
                   {"op"},
                   {"default(us)", Align::right},
                   {"time(us)", Align::right},
                   {"gain", Align::right},
                   {"verdict"},
                   {"status"},
                   {"winner"}});
  for (const Decision& decision : decisions) {
    if (decision.family != any_family) continue;
    const Problem& problem = decision.key.problem;
    const RankedVariant& winner = decision.ranked.front();
    const auto baseline = std::ranges::find(decision.ranked, true, &RankedVariant::is_baseline);
    table.add_row({operation_text(problem), describe(decision.key.topology),
                   format_bytes(problem.message_size), std::string(name_of(problem.data_type)),
                   std::string(name_of(problem.reduce_op)),
                   baseline == decision.ranked.end() ? "-" : microseconds(baseline->median),
                   microseconds(winner.median), speedup(winner),
                   std::string(name_of(decision.verdict)), std::string(name_of(decision.status)),
                   to_string(winner.variant)});
  }
  return table.text() + std::string(gain_note);
}

std::string page_text(const Page& page, bool is_wide) {
  const ReportedSweep& sweep = page.sweep;
  const SweepRecord& record = sweep.record;
  const std::size_t confirmed = count_confirmed(sweep.decisions);
  std::size_t decisions = 0;
  for (const auto& [verdict, count] : page.verdicts) decisions += count;
  std::string out = fmt::format("sweep        {}, {}\n", record.uuid, name_of(record.state));
  const auto line = [&](std::string_view title, const std::string& text) {
    out += fmt::format("{:<13}{}\n", title, indented(text));
  };
  line("gain", gain_text(sweep.decisions));
  line("apply", applied_text(page));
  line("started",
       record.started_at + (record.finished_at.empty() ? "" : ", finished " + record.finished_at));
  line("launch", record.launch);
  const Provenance& provenance = record.provenance;
  if (!provenance.colltune_version.empty())
    line("measured by",
         fmt::format("colltune {} ({}), {}, kernel {}", provenance.colltune_version,
                     provenance.build, provenance.operating_system, provenance.kernel_release));
  if (!sweep.decisions.empty()) line("regime", regimes_text(sweep.decisions));
  line("keys", keys_text(page));
  line("decided", verdicts_text(page) + fmt::format(" (margin {:.3g} %, confidence {:.3g} %)",
                                                    100 * sweep.policy.minimum_margin,
                                                    100 * sweep.policy.confidence));
  line("status", fmt::format("{} confirmed, {} provisional", confirmed, decisions - confirmed));
  line("null test", describe(page.null));
  line("noise", noise_summary(sweep.measurements));
  line("time", time_text(sweep.summary));
  line("bought", bought_text(page.bought));
  out += '\n' + decisions_text(sweep.decisions, is_wide);
  for (const Decision& decision : sweep.decisions)
    if (decision.family == any_family && decision.verdict == Verdict::undecided)
      out += fmt::format("\nundecided: {}: {}", describe(decision.key.problem), decision.reason);
  for (const Measurement& trial : sweep.measurements)
    if (trial.outcome != Outcome::ok)
      out += fmt::format("\n{}: {} of {}: {}", name_of(trial.outcome), to_string(trial.variant),
                         describe(trial.key.problem), trial.detail);
  for (const QuarantineRecord& quarantine : page.quarantines)
    out += fmt::format("\nquarantined: {} for {}: {}", to_string(quarantine.variant),
                       describe(quarantine.key.problem), quarantine.reason);
  if (!out.ends_with('\n')) out += '\n';
  return out;
}

nlohmann::json noise_to_json(const Noise& noise) {
  nlohmann::json states = nlohmann::json::array();
  for (const MachineState& state : noise.states)
    states.push_back({{"hand_over_ns", state.median}, {"share", state.share}});
  return {{"keys", noise.keys},
          {"median_steal", noise.median_steal},
          {"worst_steal", noise.worst_steal},
          {"median_kept_waiting", noise.median_kept_waiting},
          {"worst_kept_waiting", noise.worst_kept_waiting},
          {"disturbed_keys", noise.disturbed_keys},
          {"worst_key", noise.worst_key},
          {"samples", noise.samples},
          {"gaps", noise.gaps},
          {"switched", noise.switched},
          {"late", noise.late},
          {"void", noise.voided},
          {"keys_with_common_starts", noise.windowed_keys},
          {"throttle_events", noise.throttle_events},
          {"machine_states", states},
          {"page_faulting_variants", noise.faulting}};
}

nlohmann::json page_to_json(const Page& page) {
  const ReportedSweep& sweep = page.sweep;
  nlohmann::json verdicts;
  for (const auto& [verdict, count] : page.verdicts)
    verdicts[std::string(name_of(verdict))] = count;
  nlohmann::json quarantines = nlohmann::json::array();
  for (const auto& quarantine : page.quarantines) quarantines.push_back(to_json_value(quarantine));
  nlohmann::json failed = nlohmann::json::array();
  nlohmann::json unavailable = nlohmann::json::array();
  for (const Measurement& trial : sweep.measurements) {
    if (trial.outcome == Outcome::ok) continue;
    (is_fault(trial.outcome) ? failed : unavailable)
        .push_back({{"key", to_json_value(trial.key)},
                    {"variant", to_string(trial.variant)},
                    {"outcome", name_of(trial.outcome)},
                    {"detail", trial.detail}});
  }
  nlohmann::json decisions = nlohmann::json::array();
  for (const Decision& decision : sweep.decisions) {
    decisions.push_back(to_json_value(decision));
    decisions.back()["apply"] = to_json_value(
        settings_to_apply(decision.ranked.front(), decision.key.problem, environment_of(page)));
  }
  nlohmann::json applied;
  for (const auto& [by, count] : page.applied) applied[std::string(name_of(by))] = count;
  const auto gain = [](const Gain& one) {
    return nlohmann::json{{"keys", one.keys}, {"geometric_mean", one.mean}};
  };
  nlohmann::json gains = nlohmann::json::object();
  for (const std::string& family : families_with_baseline(sweep.decisions))
    gains[family] = {{"all", gain(gain_of(sweep.decisions, family, false))},
                     {"displaced", gain(gain_of(sweep.decisions, family, true))}};
  nlohmann::json record = to_json_value(sweep.record);
  record["summary"] = to_json_value(sweep.summary);
  return {{"sweep", std::move(record)},
          {"decision_policy", to_json_value(sweep.policy)},
          {"keys", page.bought.keys},
          {"trials", page.trials},
          {"not_ok", std::move(failed)},
          {"unavailable", std::move(unavailable)},
          {"quarantined", std::move(quarantines)},
          {"verdicts", std::move(verdicts)},
          {"confirmed", count_confirmed(sweep.decisions)},
          {"gain", gain(gain_of(sweep.decisions, any_family, false))},
          {"gain_where_displaced", gain(gain_of(sweep.decisions, any_family, true))},
          {"gain_as_you_are", std::move(gains)},
          {"apply", std::move(applied)},
          {"null_test", to_json_value(page.null)},
          {"noise", noise_to_json(noise_of(sweep.measurements))},
          {"bought",
           {{"runs", page.bought.runs},
            {"visits", page.bought.visits},
            {"least_rounds", page.bought.least_rounds},
            {"median_rounds", page.bought.median_rounds},
            {"most_rounds", page.bought.most_rounds},
            {"share_of_rounds_run", page.bought.ran}}},
          {"decisions", std::move(decisions)}};
}

}  // namespace

void run_report_sweep(const ReportOptions& options, std::ostream& out) {
  const StoreReader reader = open_database(options.database);
  const ReportedSweep sweep =
      read_sweep(reader, find_sweep(reader, options.database, options.sweep));
  const Page page = make_page(sweep, reader);
  if (options.json)
    out << page_to_json(page).dump(1) << '\n';
  else
    out << page_text(page, options.is_wide);
}

}  // namespace colltune
