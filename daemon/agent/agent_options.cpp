// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "agent_options.h"

#include <chrono>
#include <cmath>
#include <string>
#include <vector>

#include "colltune/sweep/measure/compat.h"
#include "colltune/sweep/ranks/capability_rules.h"
#include "colltune/sweep/spec/launch_environment.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

void add_call_limit(CLI::App& command, std::chrono::milliseconds& limit) {
  command
      .add_option_function<double>(
          "--call-limit",
          [&limit](double seconds) {
            limit = std::chrono::milliseconds(std::llround(seconds * 1e3));
          },
          "seconds before which no call counts as timed out, 0.001 to 3600 (default: an eighth of "
          "the budget, from 1 to 10; never before ten times what its cost line says)")
      ->check(CLI::Range(0.001, 3600.0));
}

void add_variables(CLI::App& command, std::vector<std::string>& variables) {
  command
      .add_option("--variable", variables,
                  "NAME=value: set in the environment of every rank before a library reads it, and "
                  "recorded with the results; may be repeated")
      ->check([](const std::string& text) {
        try {
          const auto variable = parse_assignment(text);
          const std::string why = why_not_set_per_process(variable.name);
          return why.empty() ? why : variable.name + ": " + why;
        } catch (const Error& error) {
          return std::string(error.what());
        }
      });
}

void add_rules(CLI::App& command, CapabilityRules& rules) {
  command.add_option("--mask", rules.masks,
                     "RANKS:FEATURE: these ranks do without it, to rehearse a mixed cluster: "
                     "1:avx512, 2-3:sm_90, 0:impl=cpu.*, 0,4-7:mpi.tuned.*; may be repeated");
  command.add_option("--declare", rules.declarations,
                     "RANKS:TAG: these ranks have what no probe can see: 0:leader, 8-15:edge_nic, "
                     "*:aws; may be repeated");
  command
      .add_option_function<std::string>(
          "--unlike-builds",
          [&rules](const std::string& word) { rules.builds_may_differ = word == "group"; },
          "refuse (default): the ranks must run one build with the same libraries; group: they may "
          "run unlike builds of one version, which then meet in calls of the MPI library alone")
      ->check(CLI::IsMember({"refuse", "group"}));
}

}  // namespace

void add_sweep(CLI::App& app, SweepOptions& options) {
  CLI::App* sweep =
      app.add_subcommand("sweep", "run one synchronized sweep over what the configuration names");
  const auto* configuration =
      sweep->add_option("--config", options.configuration,
                        "sweep configuration (JSON); configs/README.md describes it");
  auto* trace = sweep->add_option(
      "--from", options.trace,
      "measure just the calls of a program, heaviest first: a trace that 'colltune run --record' "
      "wrote; --config then says how to measure, and may be left out");
  sweep->callback([configuration, trace] {
    if (configuration->count() == 0 && trace->count() == 0)
      throw CLI::RequiredError("--config FILE or --from TRACE");
  });
  sweep->add_option("--db", options.database,
                    "tuning database to add to; created where it is not there");
  sweep->add_option("--json", options.results,
                    "also (or only) write JSON Lines that `colltune import` reads; for a job whose "
                    "only disk is a network file system");
  sweep->add_option("--plugin", options.plugins,
                    "shared object whose implementations take part; may be repeated");
  sweep->add_flag(
      "--dry-run", options.dry_run,
      "print the plan and what it skips, without measuring; with --db as the earlier sweeps there "
      "make it (order, pruning, quarantine)");
  sweep
      ->add_option_function<std::string>(
          "--compat",
          [&options](const std::string& name) { options.compat = parse_name<CompatTool>(name); },
          "measure in another benchmark's loop and print its table, to compare: osu, nccl-tests; "
          "nothing is decided or stored")
      ->check(CLI::IsMember({"osu", "nccl-tests"}))
      ->excludes(trace);
  sweep->add_flag("--wide", options.is_wide,
                  "print the table with all columns of nccl-tests [80 columns]");
  sweep->add_flag("--quiet", options.quiet, "no progress on stderr; errors and the result remain");
  sweep->add_flag("--allow-oversubscribe", options.allow_oversubscribe,
                  "measure with more ranks than cores; results are kept apart (placement "
                  "oversubscribed)");
  sweep->add_flag(
      "--gpus", options.gpus,
      "the ranks' buffers lie on GPUs: the first rank of a node takes its first GPU, and "
      "so on; measures what runs there, and nothing else");
  sweep
      ->add_flag("--share-gpus", options.share_gpus,
                 "several ranks on one GPU, each a host of its own to NCCL: shows that calls work, "
                 "not how fast they are; results are kept apart (placement shared_device)")
      ->needs("--gpus");
  add_variables(*sweep, options.variables);
  // Written by a supervisor of several launch environments; not for people.
  auto& launch = options.launch_of;
  auto* series = sweep->add_option("--series", launch.series)->group("");
  for (CLI::Option* part :
       {sweep->add_option("--series-command", launch.command)->group(""),
        sweep->add_option("--launch-environment", launch.environment)->group(""),
        sweep->add_option("--launch-turn", launch.turn)->group("")->check(CLI::Range(1, 64))}) {
    series->needs(part);
    part->needs(series);
  }
  add_rules(*sweep, options.rules);
  add_call_limit(*sweep, options.call_limit);
  sweep
      ->add_option(
          "--most-rounds", options.most_rounds,
          "rounds of each visit to a key at most, 12 to 1000 (default: 1000): for a sweep that "
          "has to end soon, however busy the machine is; its decisions have less behind them")
      ->check(CLI::Range(12, 1000));
  auto* resume = sweep->add_flag_callback(
      "--resume", [&options] { options.resume = Resume::always; },
      "continue the unfinished sweep of the same configuration, environment and launch, also where "
      "its budget ended it (default: where it was killed or interrupted)");
  sweep
      ->add_flag_callback(
          "--no-resume", [&options] { options.resume = Resume::never; },
          "begin a new sweep in any case")
      ->excludes(resume);
  sweep->footer(
      "Example:\n"
      "  mpirun -n 2 colltune-agent sweep --config configs/quick.json --db tuning.db\n"
      "  mpirun -n 2 colltune-agent sweep --from trace.ctr --db tuning.db\n"
      "  colltune-agent sweep --dry-run --config configs/quick.json\n\n"
      "Exit codes: 0 done; 1 some variant was wrong or failed, or an internal error; 2 wrong input "
      "or state;\n"
      "3 a file was not found; 4 a rank or a disk failed; 5 damaged data.");
}

void add_supervise(CLI::App& app, SuperviseOptions& options, int& confirm_launches) {
  CLI::App* supervise =
      app.add_subcommand("supervise",
                         "launch a sweep again and again until it is complete, whatever its "
                         "candidates do to it; where "
                         "its configuration names launch environments, in each of them by turns");
  supervise->add_option("--db", options.database, "the database of the sweep: the same as its --db")
      ->required();
  supervise
      ->add_option("--failures", options.failures,
                   "failures of a variant for a key after which it is quarantined there")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  supervise->add_option("--launches", options.launches, "launches at most")
      ->capture_default_str()
      ->check(CLI::PositiveNumber);
  supervise
      ->add_option_function<int>(
          "--host-patience",
          [&options](int seconds) { options.host_patience = std::chrono::seconds(seconds); },
          "seconds that a host which does not answer any more may take to come back (default: 30)")
      ->check(CLI::Range(0, 86400));
  supervise
      ->add_option("--confirm", confirm_launches,
                   "confirm the decisions afterwards in so many fresh launches each (5; default: "
                   "not)")
      ->check(CLI::Range(1, 1000));
  supervise->add_option("command", options.command, "the launch, after --")->required();
  supervise->footer(
      "Example:\n"
      "  colltune-agent supervise --db tuning.db -- mpirun -n 4 colltune-agent sweep --config "
      "configs/bringup.json --db tuning.db\n\n"
      "Exit codes: 0 the sweep is complete; 1 it is complete, but variants were quarantined, wrong "
      "or failed;\n"
      "2, 3, 5 the launch refused its input or the database; 4 given up; 128+n ended by signal n.");
}

void add_confirm(CLI::App& app, ConfirmOptions& options) {
  CLI::App* confirm = app.add_subcommand(
      "confirm",
      "measure the winners again in fresh launches; promote those that hold, veto the others");
  confirm->add_option("--db", options.database, "the database whose decisions are provisional")
      ->required();
  confirm
      ->add_option("--launches", options.launches,
                   "fresh launches for each winner; with fewer than 5 there is no 95 % bound")
      ->capture_default_str()
      ->check(CLI::Range(1, 1000));
  confirm
      ->add_option("--seconds-per-key", options.seconds_per_key,
                   "what a key may take in each launch, on average")
      ->capture_default_str()
      ->check(CLI::Range(0.001, 3600.0));
  confirm
      ->add_option("--most-kept-waiting", options.most_kept_waiting,
                   "of a launch in which ranks waited for a core for more than this share of the "
                   "time, only what the load cannot have done counts (default: 0.05; of a whole "
                   "sweep command: as in its "
                   "configuration)")
      ->check(CLI::Range(0.0, 1.0));
  confirm->add_option("--plugin", options.plugins,
                      "shared object whose implementations may be among the winners; may be "
                      "repeated");
  add_rules(*confirm, options.rules);
  confirm->add_option("command", options.command, "the launch up to the agent's name, after --")
      ->required();
  confirm->footer(
      "Example:\n"
      "  colltune-agent confirm --db tuning.db -- mpirun -n 4 colltune-agent\n\n"
      "Exit codes: 0 done; 1 a winner was wrong, failed or was quarantined in a launch; 2, 3, 5 "
      "wrong input, nothing\npublished, damaged data; 4 a launch could not be made; 128+n ended by "
      "signal n. What was published before stays.");
}

void add_confirm_launch(CLI::App& app, ConfirmLaunchOptions& options) {
  CLI::App* confirm_launch =
      app.add_subcommand("confirm-launch", "one launch of confirm; not for people");
  confirm_launch->group("");  // not in the help
  confirm_launch->add_option("--db", options.database)->required();
  confirm_launch->add_option("--confirmation", options.confirmation)->required();
  confirm_launch->add_option("--launch", options.launch)->required();
  confirm_launch->add_option("--seconds-per-key", options.seconds_per_key);
  confirm_launch->add_flag("--with-confirmed", options.with_confirmed);
  confirm_launch->add_option("--plugin", options.plugins);
  confirm_launch->add_option("--environment", options.environment_digest);
  add_variables(*confirm_launch, options.variables);
  add_rules(*confirm_launch, options.rules);
  add_call_limit(*confirm_launch, options.call_limit);
}

}  // namespace colltune
