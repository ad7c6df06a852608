// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "sweep_command.h"

#include <fmt/core.h>
#include <sys/ioctl.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <thread>
#include <tuple>
#include <utility>

#include "colltune/decide/decide.h"
#include "colltune/decide/noise.h"
#include "colltune/decide/null_test.h"
#include "colltune/decide/sweep_summary.h"
#include "colltune/decide/trials.h"
#include "colltune/journal/fit_maker.h"
#include "colltune/json/output_file.h"
#include "colltune/machine/control_groups.h"
#include "colltune/sweep/passes/report.h"
#include "colltune/sweep/passes/sweep.h"
#include "colltune/sweep/plan/pruning.h"
#include "colltune/sweep/spec/launch_environment.h"
#include "colltune/vocabulary/canonical.h"
#include "console_progress.h"
#include "launch/agreement.h"
#include "launch/launch_comparison.h"
#include "launch/shared_gpus.h"
#include "publication.h"
#include "sweep_configuration.h"
#include "sweep_in_parts.h"

namespace colltune {
namespace {

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

/// The ranks of the launch that support the skipped variant.
std::string ranks_with(const Skipped& skipped, const SweepPlan& plan,
                       const Availability& availability) {
  std::vector<int> ranks;
  for (const int rank : plan.worlds[static_cast<std::size_t>(skipped.world)].ranks)
    if (std::ranges::binary_search(skipped.supporting_kinds,
                                   availability.kind_of_rank[static_cast<std::size_t>(rank)]))
      ranks.push_back(rank);
  std::ranges::sort(ranks);
  return render_ranges(ranks);
}

/// What was not measured and why, for `colltune explain`: grouped by world, variant and reason.
SkippedVariants skipped_of(const SweepPlan& plan, const Availability& availability) {
  std::map<std::string, int> places;
  SkippedVariants all;
  std::map<std::tuple<int, std::string, std::string, std::string>, std::vector<int>> groups;
  for (const Skipped& skipped : plan.skipped) {
    const auto [place, is_new] =
        places.emplace(digest_of_value(skipped.problem), static_cast<int>(all.problems.size()));
    if (is_new) all.problems.push_back(place->first);
    groups[{skipped.world, skipped.variant, skipped.reason,
            ranks_with(skipped, plan, availability)}]
        .push_back(place->second);
  }
  for (auto& [group, of_group] : groups) {
    const auto& [world, variant, reason, ranks] = group;
    std::ranges::sort(of_group);
    SkippedVariant entry{
        .topology = digest_of_value(plan.worlds[static_cast<std::size_t>(world)].topology),
        .variant = variant,
        .reason = reason,
        .ranks_with_it = ranks};
    for (const auto& [first, last] : ranges_of(of_group)) entry.problems.push_back({first, last});
    all.entries.push_back(std::move(entry));
  }
  return all;
}

/// What the sweep's row keeps for reports in addition to the measurements.
SweepSummary summary_of(const SweepPlan& plan, const Availability& availability,
                        const SweepOutcome& outcome, std::span<const Decision> decisions,
                        const SeriesLaunch& launch_of, std::chrono::nanoseconds elapsed) {
  SweepSummary summary{.end = outcome.end,
                       .elapsed = elapsed,
                       .budget = plan.budget,
                       .budget_left = outcome.budget_left,
                       .planned_keys = plan.cells.size(),
                       .decision_policy = plan.decision,
                       .null_test = null_test(outcome.measurements, plan.decision),
                       .noise = noise_summary(outcome.measurements),
                       .skipped = skipped_of(plan, availability)};
  if (plan.pruned > 0)
    summary.pruning = describe(audit_pruning(plan, outcome.measurements, decisions));
  // An interrupted launch is repeated, so it does not count as made.
  if (!launch_of.series.empty() && outcome.end != SweepEnd::stopped) summary.launch_of = launch_of;
  auto& activities = summary.activities.emplace();
  for (const auto& [activity, name] : enum_names(Activity{}))
    activities.emplace(name, outcome.activities[activity]);
  for (const auto& [trial_outcome, count] : outcome.trials) {
    if (!summary.trials) summary.trials.emplace();
    summary.trials->emplace(name_of(trial_outcome), count);
  }
  auto& verdicts = summary.verdicts.emplace();
  for (const auto& [verdict, count] : count_verdicts(decisions))
    verdicts.emplace(name_of(verdict), count);
  return summary;
}

/// Describes for a person how far the sweep's numbers can be trusted.
std::string trust_text(const SweepPlan& plan, const SweepOutcome& outcome,
                       std::span<const Decision> decisions) {
  const auto counts = count_verdicts(decisions);
  std::string text = "decided:";
  for (const auto& [verdict, name] : enum_names(Verdict{}))
    text +=
        fmt::format("{} {} {}", verdict == Verdict::displaced ? "" : ",", counts.at(verdict), name);
  const std::size_t undecided = counts.at(Verdict::undecided);
  if (undecided > 0 && outcome.end == SweepEnd::complete && outcome.budget_left.count() > 0)
    text += fmt::format("; {:.1f} s of the budget were left: more rounds did not decide them",
                        std::chrono::duration<double>(outcome.budget_left).count());
  text += "\nnull test: " + describe(null_test(outcome.measurements, plan.decision));
  return text + "\n" + describe(audit_pruning(plan, outcome.measurements, decisions)) +
         noise_summary(outcome.measurements);
}

SweepState state_of(SweepEnd end) {
  return end == SweepEnd::complete ? SweepState::complete : SweepState::partial;
}

/// The measurements that may decide. Excludes variants that were right and fast in an earlier
/// launch of this sweep but have been quarantined since.
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

/// What this sweep changes in what is published. Without a database, its own findings.
std::vector<Settled> settle_with_earlier(const SweepOptions& options, const SweepPlan& plan,
                                         const std::string& environment_digest,
                                         std::vector<Measurement> measurements,
                                         const SweepJournal& journal) {
  std::vector<SweepEvidence> sweeps;
  if (options.database)
    sweeps = earlier_evidence(*options.database, environment_digest, plan, journal.sweep_uuid(),
                              journal.quarantines());
  sweeps.push_back({journal.sweep_uuid(), std::move(measurements)});
  return settle(journal.decisions(), sweeps, plan.decision);
}

/// Waits until the launcher has read the results from stdout. It forwards both streams in pieces,
/// so text that follows on stderr could otherwise land in the middle of them.
void finish_results() {
  std::fflush(stdout);
  constexpr auto patience = std::chrono::seconds(5);
  constexpr auto between_looks = std::chrono::milliseconds(2);
  const auto until = std::chrono::steady_clock::now() + patience;
  int unread = 0;
  while (::ioctl(fileno(stdout), FIONREAD, &unread) == 0 && unread > 0 &&
         std::chrono::steady_clock::now() < until)
    std::this_thread::sleep_for(between_looks);
}

/// Rank 0 decides, publishes and prints.
int conclude(const SweepOptions& options, const AgentProcess& process, const SweepPlan& plan,
             const Availability& availability, const SweepOutcome& outcome,
             const Environment& environment, const Implementations& catalogue,
             SweepJournal& journal) {
  const std::string environment_digest = digest_of(environment);
  const std::string& sweep_uuid = journal.sweep_uuid();
  // Includes variants that were quarantined during the sweep.
  const auto credited = without(quarantined_of(journal.quarantines()), outcome.measurements);
  const auto decisions = decide(credited, plan.decision, sweep_uuid);
  const auto settled = settle_with_earlier(options, plan, environment_digest, credited, journal);
  const Missing missing = missing_of(plan, outcome.measurements, decisions);
  const auto elapsed = std::chrono::steady_clock::now() - process.begin;
  const auto generation = journal.finish(
      state_of(outcome.end), decisions, to_publish(settled),
      to_text(summary_of(plan, availability, outcome, decisions, options.launch_of, elapsed)),
      fit_maker_of(catalogue));
  if (process.take_findings) {
    process.take_findings({.plan = plan,
                           .measurements = outcome.measurements,
                           .decisions = decisions,
                           .environment = environment,
                           .sweep_uuid = sweep_uuid,
                           .generation = generation});
    return exit_code_of(missing, has_fault(outcome.trials));
  }
  // With both results on one stream, no program could tell them apart.
  const bool prints_lines = options.results && *options.results == standard_output;
  if (prints_lines) std::cout.flush();
  fmt::print(prints_lines ? stderr : stdout, "{}",
             render_results(outcome.measurements, decisions, options.is_wide));
  finish_results();
  if (!options.quiet) {
    std::size_t trials = 0;
    for (const auto& [ended_as, count] : outcome.trials) trials += count;
    fmt::print(stderr, "sweep {}: {}, {} trials in {:.1f} s: {}\n", sweep_uuid,
               name_of(outcome.end), trials, std::chrono::duration<double>(elapsed).count(),
               render_shares(outcome.activities, elapsed));
    fmt::print(stderr, "{}", trust_text(plan, outcome, decisions));
    if (generation)
      fmt::print(stderr, "published generation {} of {}: {}", generation->number,
                 options.database->string(), describe_publication(settled));
    else if (options.database)
      fmt::print(stderr, "nothing is published: {}", describe_publication(settled));
    if (options.results) fmt::print(stderr, "results in {}\n", options.results->string());
  }
  if (outcome.end == SweepEnd::budget && outcome.measurements.empty())
    throw Error(
        StatusCode::not_found,
        fmt::format("nothing was measured: the budget of {:.3g} s was over before the first "
                    "key, {:.1f} s after the start; give more budget_seconds",
                    std::chrono::duration<double>(plan.budget).count(),
                    std::chrono::duration<double>(elapsed).count()));
  fmt::print(stderr, "{}", describe_missing(missing, plan, outcome.end));
  const int code = exit_code_of(missing, has_fault(outcome.trials));
  if (options.trace && options.database && code == 0 && !options.quiet)
    fmt::print(stderr, "what that is worth to the program: colltune show trace {} --db {}\n",
               options.trace->string(), options.database->string());
  return code;
}

/// Measures the next unmeasured key in this process, and no other. Collective.
SweepOutcome run_part(SweepTools tools, const SweepPlan& plan, const MeasurePolicy& policy,
                      SweepJournal* journal) {
  std::int64_t next = -1;
  if (tools.control.rank() == 0)
    if (const auto cell = next_cell(plan, tools.stored)) next = static_cast<std::int64_t>(*cell);
  tools.control.all_reduce_max({&next, 1});
  const SweepPlan part =
      plan_of_cell(plan, next < 0 ? std::nullopt : std::optional(static_cast<std::size_t>(next)));
  std::optional<PortionJournal> of_whole;
  if (journal != nullptr) tools.journal = &of_whole.emplace(*journal, plan);
  // The time to start the launch does not count for the key.
  tools.begin = std::chrono::steady_clock::now();
  const std::size_t before = tools.stored.size();
  SweepOutcome outcome = run_sweep(tools, part, policy);
  run_on_rank_zero(tools.control, [&] {
    if (next >= 0 && outcome.end != SweepEnd::stopped && outcome.measurements.size() == before)
      throw Error(StatusCode::resource_exhausted,
                  fmt::format("nothing of key {} of {} could be measured in its {:.3g} s of the "
                              "budget; give more budget_seconds",
                              next + 1, plan.cells.size(),
                              std::chrono::duration<double>(part.budget).count()));
  });
  return outcome;
}

/// Collective; only rank 0's `measured` is used.
std::int64_t cells_left(ControlPlane& control, const SweepPlan& plan,
                        std::span<const Measurement> measured) {
  std::int64_t left = 0;
  if (control.rank() == 0) {
    std::set<TuningKey> done;
    for (const Measurement& measurement : measured) done.insert(measurement.key);
    left = std::ranges::count_if(plan.cells,
                                 [&](const Cell& cell) { return !done.contains(cell.key); });
  }
  control.all_reduce_max({&left, 1});
  return left;
}

/// Ends the launch while keys are left for further launches. Returns the exit code.
int leave_to_next_launch(const AgentProcess& process, const SweepPlan& plan, std::int64_t left) {
  process.end_state = LaunchState::unfinished;
  // Rank 0 decides, since ranks on other hosts may lack the supervisor's variable.
  std::int64_t code = 0;
  if (process.control.rank() == 0 && !InFlightFile::is_awaited())
    code = exit_code_of(StatusCode::resource_exhausted);
  process.control.all_reduce_max({&code, 1});
  if (process.control.rank() == 0 && code != 0)
    fmt::print(stderr,
               "colltune-agent: {} of {} keys are left, each for a process of its own ({}=fresh): "
               "run the same command again, or let 'colltune-agent supervise' do so\n",
               left, plan.cells.size(), malloc_regime_variable);
  return static_cast<int>(code);
}

/// `why_refused`: why the sweep would not begin; empty if it would.
std::string dry_run_text(const SweepPlan& plan, const std::string& why_refused) {
  std::string text =
      fmt::format("{}\nIt takes {:.0f} s at the least, preparation besides.\n", render_plan(plan),
                  static_cast<double>(least_duration(plan, {}).count()) / 1e9);
  if (!why_refused.empty()) text += fmt::format("It would be refused here: {}\n", why_refused);
  return text;
}

}  // namespace

int run_sweep_command(const SweepOptions& options, const AgentProcess& process) {
  ControlPlane& control = process.control;
  const bool is_first = control.rank() == 0;

  const SweepSpec spec = share_configuration(control, options);
  if (is_first && !spec.launch_environments.empty() && options.launch_of.series.empty())
    fmt::print(
        stderr,
        "colltune-agent: {} names {} launch environment(s), which 'colltune-agent supervise' "
        "launches one after the other; this launch measures in the environment that it has\n",
        options.configuration.string(), spec.launch_environments.size());
  std::vector<std::filesystem::path> plugins(spec.plugins.begin(), spec.plugins.end());
  plugins.insert(plugins.end(), options.plugins.begin(), options.plugins.end());
  const auto [catalogue, environment, provenance, digest, launch, availability] =
      learn_launch(process, plugins, options.call_limit, options.rules);

  if (process.settings.malloc == MallocRegime::fresh && !options.database && !options.dry_run)
    throw Error(StatusCode::invalid_argument,
                std::string(malloc_regime_variable) +
                    "=fresh measures each key in a launch of its own: it needs a database (--db)");
  if (options.share_gpus) refuse_alike_hosts(control);
  // What earlier sweeps found goes into the plan. A database that is not there has found nothing,
  // and is made once the plan stands, so that a plan that fails leaves no trace.
  std::unique_ptr<SweepJournal> journal;
  EarlierFindings earlier;
  run_on_rank_zero(control, [&] {
    if (!options.database || !std::filesystem::exists(*options.database)) return;
    // A plan that is only shown neither changes the database nor waits for its owner.
    if (!options.dry_run)
      journal = std::make_unique<SweepJournal>(options.database, options.results);
    earlier = read_findings(*options.database, digest);
  });
  SweepPlan plan = share_plan(control, spec, availability, catalogue, digest,
                              {.quarantined = earlier.quarantined,
                               .decisions = earlier.decisions,
                               .measured = earlier.measured});
  run_on_rank_zero(control, [&] {
    if (!options.dry_run) refuse_empty(plan);
    if (options.share_gpus) refuse_pretended_hosts(plan);
  });
  // The least memory that any rank sees, which is what its node has left.
  std::int64_t least_memory = -static_cast<std::int64_t>(
      std::min<std::uint64_t>(available_memory().value, std::numeric_limits<std::int64_t>::max()));
  control.all_reduce_max({&least_memory, 1});
  const Bytes memory{static_cast<std::uint64_t>(-least_memory)};
  // A configuration names sizes that somebody wants; a trace, what a program happens to call.
  std::string too_large;
  if (options.trace) too_large = leave_out_too_large(plan, availability, memory);
  if (options.dry_run) {
    if (is_first)
      fmt::print("{}", dry_run_text(plan, why_not_in_memory(plan, availability, memory)));
    return 0;
  }
  if (!too_large.empty() && is_first && !options.quiet) fmt::print(stderr, "{}\n", too_large);
  run_on_rank_zero(control, [&] {
    refuse_empty(plan);
    if (!options.allow_oversubscribe) refuse_oversubscription(plan);
    refuse_too_large(plan, availability, memory);
  });
  run_on_rank_zero(control, [&] {
    if (!journal) journal = std::make_unique<SweepJournal>(options.database, options.results);
    journal->file_under({.uuid = random_uuid(),
                         .started_at = utc_now(),
                         .finished_at = {},
                         .configuration = spec.text,
                         .environment_digest = digest,
                         .launch = launch,
                         .seed = plan.seed,
                         .summary = {},
                         .provenance = provenance},
                        environment, plan, options.resume);
    if (!journal->stored().empty() && !options.quiet)
      fmt::print(stderr, "continuing sweep {}: {} measurement(s) are stored already\n",
                 journal->sweep_uuid(), journal->stored().size());
  });
  process.watch = std::make_unique<RankWatch>(control, process.launch, options.database,
                                              is_first ? journal->sweep_uuid() : std::string());
  std::unique_ptr<ConsoleProgress> progress;
  if (is_first && !options.quiet) progress = std::make_unique<ConsoleProgress>(stderr);

  MeasurePolicy policy;
  if (options.most_rounds > 0) policy.max_rounds = options.most_rounds;
  policy.call_limit_floor = call_limit_floor(options.call_limit, plan);
  process.set_control_time_out(control_time_out(plan, policy));
  SweepTools tools{
      .control = control,
      .launch = process.launch,
      .implementations = catalogue,
      .journal = journal.get(),
      .progress = progress.get(),
      .recorder = &process.watch->recorder(),
      .stored = journal ? std::span(journal->stored()) : std::span<const Measurement>{},
      .stop = process.stop};
  tools.begin = process.begin;
  const bool in_parts = process.settings.malloc == MallocRegime::fresh;
  const SweepOutcome outcome =
      in_parts ? run_part(tools, plan, policy, journal.get()) : run_sweep(tools, plan, policy);
  process.watch->recorder().enter({.activity = "end"});
  if (in_parts && outcome.end != SweepEnd::stopped) {
    if (const std::int64_t left = cells_left(control, plan, outcome.measurements); left > 0)
      return leave_to_next_launch(process, plan, left);
  }
  int code = 0;
  run_on_rank_zero(control, [&] {
    code =
        conclude(options, process, plan, availability, outcome, environment, catalogue, *journal);
  });
  std::int64_t agreed = code;
  control.all_reduce_max({&agreed, 1});
  return static_cast<int>(agreed);
}

}  // namespace colltune
