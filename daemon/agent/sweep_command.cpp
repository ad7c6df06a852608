// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "sweep_command.h"

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "agreement.h"
#include "colltune/decide/decide.h"
#include "colltune/json/json.h"
#include "colltune/kernels/catalogue.h"
#include "colltune/plugin/load_plugin.h"
#include "colltune/sweep/availability.h"
#include "colltune/sweep/report.h"
#include "colltune/sweep/sweep.h"
#include "console_progress.h"
#include "process_environment.h"
#include "sweep_journal.h"

namespace colltune {
namespace {

std::string host_name() {
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  return name;
}

std::string features_for_dispatch(const Capability& capability) {
  constexpr std::string_view prefix = "isa.";
  std::string out;
  for (const auto& [feature, value] : capability.features)
    if (feature.starts_with(prefix))
      out += (out.empty() ? "" : " ") + feature.substr(prefix.size());
  return out;
}

/// What each rank tells rank 0 about its process.
struct RankFacts {
  std::string host;
  Environment environment;
};

/// Refuses ranks of unlike builds (their messages to each other would not mean the same), and names
/// the other facts in which ranks differ. Returns a line for a person: how many ranks run where.
std::string compare_ranks(const std::vector<RankFacts>& ranks) {
  const auto own_build = [](const RankFacts& facts) {
    return facts.environment.colltune_version + " (" + facts.environment.build + ")";
  };
  std::map<std::string, int> ranks_per_host;
  std::string unlike;
  std::map<std::string, std::string> differing;  // field -> an example
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ++ranks_per_host[ranks[rank].host];
    if (own_build(ranks[rank]) != own_build(ranks[0]))
      unlike +=
          fmt::format("\n  rank {} on {}: {}", rank, ranks[rank].host, own_build(ranks[rank]));
    std::map<std::string, std::string> first;
    visit_fields(ranks[0].environment, [&](std::string_view name, const std::string& value) {
      first.emplace(name, value);
    });
    visit_fields(ranks[rank].environment, [&](std::string_view name, const std::string& value) {
      if (first.at(std::string(name)) != value)
        differing.emplace(name, fmt::format("'{}' on rank 0, '{}' on rank {}",
                                            first.at(std::string(name)), value, rank));
    });
  }
  if (!unlike.empty())
    throw Error(
        StatusCode::failed_precondition,
        fmt::format("the ranks run different builds of colltune; rank 0 on {} runs {}, but{}",
                    ranks[0].host, own_build(ranks[0]), unlike));
  for (const auto& [field, example] : differing)
    fmt::print(stderr,
               "colltune-agent: warning: ranks differ in {}: {}; rank 0's value is recorded\n",
               field, example);
  std::string hosts;
  for (const auto& [host, count] : ranks_per_host)
    hosts += fmt::format("{}{}:{}", hosts.empty() ? "" : ",", host, count);
  return fmt::format("{} ranks on {}", ranks.size(), hosts);
}

std::string exchange_facts(ControlPlane& control, const Environment& environment) {
  nlohmann::json own = to_json_value(environment);
  own["host"] = host_name();
  const std::vector<Payload> all = control.gather(nlohmann::json::to_cbor(own));
  std::string launch;
  run_on_rank_zero(control, [&] {
    std::vector<RankFacts> ranks;
    for (const Payload& payload : all) {
      nlohmann::json facts = nlohmann::json::from_cbor(payload);
      std::string host = facts.at("host").get<std::string>();
      facts.erase("host");
      ranks.push_back(
          {std::move(host), from_json_value<Environment>(facts, "environment of a rank")});
    }
    launch = compare_ranks(ranks);
  });
  return launch;
}

void refuse_oversubscription(const SweepPlan& plan) {
  for (const PlannedWorld& world : plan.worlds)
    if (world.topology.placement == Placement::oversubscribed)
      throw Error(StatusCode::failed_precondition,
                  fmt::format("{} ranks on {} node(s) are more than the cores they may use; times "
                              "of ranks that take "
                              "turns say nothing about a real machine. Start fewer ranks, or pass "
                              "--allow-oversubscribe: "
                              "the results are then kept apart under placement=oversubscribed",
                              world.topology.ranks, world.topology.nodes));
}

std::string summary_of(const SweepOutcome& outcome, std::chrono::nanoseconds elapsed) {
  nlohmann::json summary;
  summary["end"] = name_of(outcome.end);
  summary["elapsed_ns"] = elapsed.count();
  for (const auto& [phase, name] : enum_names(Phase{}))
    summary["phases_ns"][std::string(name)] = outcome.phases[phase].count();
  for (const auto& [trial_outcome, count] : outcome.trials)
    summary["trials"][std::string(name_of(trial_outcome))] = count;
  return summary.dump();
}

SweepState state_of(SweepEnd end) {
  return end == SweepEnd::complete ? SweepState::complete : SweepState::partial;
}

std::chrono::milliseconds control_time_out(const SweepPlan& plan, const MeasurePolicy& policy) {
  // Ranks with nothing to do wait as long as a trial may take; and a slow disk's commit must fit
  // in.
  constexpr auto floor = std::chrono::seconds(60);
  return std::chrono::duration_cast<std::chrono::milliseconds>(longest_step(plan, policy)) + floor;
}

/// The build's implementations and those of the user's plug-ins, the same on every rank.
Implementations load_catalogue(ControlPlane& control, const SweepOptions& options,
                               const SweepSpec& spec) {
  Implementations catalogue = make_catalogue();
  run_on_all_ranks(control, [&] {
    for (const auto& plugin : spec.plugins) add_plugin(catalogue, plugin);
    for (const auto& plugin : options.plugins) add_plugin(catalogue, plugin);
  });
  return catalogue;
}

std::vector<Quarantined> quarantined(const SweepJournal& journal) {
  std::vector<Quarantined> trials;
  for (const QuarantineRecord& record : journal.quarantines())
    trials.push_back({.key_digest = digest_of_value(record.key),
                      .variant = to_string(record.variant),
                      .reason = record.reason});
  return trials;
}

bool all_trials_are_ok(const SweepOutcome& outcome) {
  return std::ranges::all_of(outcome.trials,
                             [](const auto& entry) { return entry.first == Outcome::ok; });
}

/// What may decide: a variant that was right and fast in an earlier launch of this sweep, and has
/// been quarantined since, may not.
std::vector<Measurement> without(std::span<const Quarantined> in_quarantine,
                                 const std::vector<Measurement>& measurements) {
  std::set<std::pair<std::string, std::string>> excluded;
  for (const Quarantined& trial : in_quarantine) excluded.emplace(trial.key_digest, trial.variant);
  std::vector<Measurement> kept;
  std::ranges::copy_if(measurements, std::back_inserter(kept), [&](const Measurement& trial) {
    return !excluded.contains({digest_of_value(trial.key), to_string(trial.variant)});
  });
  return kept;
}

/// Rank 0: decides, publishes, prints.
int conclude(const SweepOptions& options, const SweepProcess& process, const SweepOutcome& outcome,
             std::span<const Quarantined> in_quarantine, SweepJournal& journal) {
  const std::string& sweep_uuid = journal.sweep_uuid();
  const auto decisions =
      decide(without(in_quarantine, outcome.measurements), DecisionPolicy{}, sweep_uuid);
  const auto elapsed = std::chrono::steady_clock::now() - process.begin;
  const auto generation =
      journal.finish(state_of(outcome.end), decisions, summary_of(outcome, elapsed));
  fmt::print("{}", render_results(outcome.measurements, decisions));
  std::fflush(stdout);
  if (!options.quiet) {
    fmt::print(stderr, "sweep {}: {}, {} trials in {:.1f} s: {}\n", sweep_uuid,
               name_of(outcome.end), outcome.measurements.size(),
               std::chrono::duration<double>(elapsed).count(),
               render_shares(outcome.phases, elapsed));
    if (generation)
      fmt::print(stderr, "published generation {} of {} with {} decisions of this sweep\n",
                 generation->number, options.database->string(), decisions.size());
    if (options.results) fmt::print(stderr, "results in {}\n", options.results->string());
  }
  return all_trials_are_ok(outcome) ? 0 : 1;
}

}  // namespace

int run_sweep_command(const SweepOptions& options, const SweepProcess& process) {
  ControlPlane& control = process.control;
  const bool is_first = control.rank() == 0;

  const SweepSpec spec =
      share_sweep_spec(control, [&] { return load_sweep_spec(options.configuration); });
  const Implementations catalogue = load_catalogue(control, options, spec);
  Capability own;
  run_on_all_ranks(control, [&] { own = detect_capability(catalogue, process.launch); });
  Environment environment = detect_environment(process.malloc_settings);
  environment.cpu_features = features_for_dispatch(own);
  const std::string launch = exchange_facts(control, environment);
  const Availability availability = exchange_capabilities(control, process.launch, own);
  const std::string digest = digest_of(environment);

  // Planned before anything is opened: what cannot be planned leaves no trace.
  SweepPlan plan = share_plan(control, spec, availability, catalogue, digest);
  if (options.dry_run) {
    if (is_first) fmt::print("{}", render_plan(plan));
    return 0;
  }
  run_on_rank_zero(control, [&] {
    if (!options.allow_oversubscribe) refuse_oversubscription(plan);
  });
  std::unique_ptr<SweepJournal> journal;
  std::vector<Quarantined> in_quarantine;
  run_on_rank_zero(control, [&] {
    journal = std::make_unique<SweepJournal>(options.database, options.results);
    in_quarantine = quarantined(*journal);
  });
  plan = share_plan(control, spec, availability, catalogue, digest, in_quarantine);
  run_on_rank_zero(control, [&] {
    journal->file_under({.uuid = random_uuid(),
                         .started_at = utc_now(),
                         .finished_at = {},
                         .configuration = spec.text,
                         .environment_digest = digest,
                         .launch = launch,
                         .seed = plan.seed,
                         .summary = {}},
                        environment, options.resume);
    if (!journal->stored().empty() && !options.quiet)
      fmt::print(stderr, "continuing sweep {}: {} trial(s) are stored already\n",
                 journal->sweep_uuid(), journal->stored().size());
  });
  process.watch = std::make_unique<RankWatch>(control, process.launch, options.database,
                                              is_first ? journal->sweep_uuid() : std::string());
  std::unique_ptr<ConsoleProgress> progress;
  if (is_first && !options.quiet) progress = std::make_unique<ConsoleProgress>(stderr);

  MeasurePolicy policy;
  policy.call_limit_floor = options.call_limit;
  process.set_control_time_out(control_time_out(plan, policy));
  const SweepOutcome outcome =
      run_sweep({.control = control,
                 .launch = process.launch,
                 .implementations = catalogue,
                 .journal = journal.get(),
                 .progress = progress.get(),
                 .recorder = &process.watch->recorder(),
                 .stored = journal ? std::span(journal->stored()) : std::span<const Measurement>{},
                 .stop = process.stop},
                plan, policy);
  process.watch->recorder().enter({.phase = "end"});
  int code = 0;
  run_on_rank_zero(control,
                   [&] { code = conclude(options, process, outcome, in_quarantine, *journal); });
  std::int64_t agreed = code;
  control.all_reduce_max({&agreed, 1});
  return static_cast<int>(agreed);
}

}  // namespace colltune
