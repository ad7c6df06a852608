// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <functional>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "colltune/collectives/program_numerics.h"
#include "colltune/export/formats.h"
#include "colltune/export/open_mpi_rules.h"
#include "colltune/vocabulary/collective.h"
#include "colltune/vocabulary/error.h"
#include "colltune/vocabulary/lookup.h"
#include "commands/explain_command.h"
#include "commands/export_command.h"
#include "commands/generations_command.h"
#include "commands/import_command.h"
#include "commands/lookup_command.h"
#include "commands/quarantine_command.h"
#include "commands/show_command.h"
#include "models/crossover_command.h"
#include "models/ctring_command.h"
#include "models/model_report.h"
#include "models/predict_command.h"
#include "reports/report_command.h"
#include "reports/trace_report.h"
#include "run/run_command.h"
#include "text/printable_output.h"

namespace {

using namespace colltune;

constexpr const char* exit_codes =
    "Exit codes: 0 done, 2 wrong usage or input, 3 nothing found, 4 unreachable or late, 5 damaged "
    "data, 1 anything else.";

std::string with_example(const std::string& example) {
  return "Example:\n  " + example + "\n\n" + exit_codes;
}

void add_origin(CLI::App& command, Origin& origin) {
  command.add_option("--db", origin.database, "tuning database, or a snapshot of one");
  command.add_option("--server", origin.server,
                     "address of a colltuned: unix:/path/to/socket or host:port");
  command.add_option("--table", origin.table, "table file, as 'colltune export table' writes it");
  command.add_option("--generation", origin.generation, "this very generation [the newest]");
}

/// Adds the options that name the call and the world of a query.
void add_question(CLI::App& command, LookupOptions& options) {
  command
      .add_option("collective", options.collective,
                  allowed_names<Collective>() + ", mesh_reduce: reductions over a process mesh")
      ->required();
  command
      .add_option("--bytes", options.bytes,
                  "message size, the larger of a rank's send and receive buffers: 64KiB, 1M, 4096")
      ->required();
  command.add_option("--dtype", options.data_type, allowed_names<DataType>() + " [f32]");
  command.add_option("--op", options.reduce_op,
                     allowed_names<ReduceOp>() + " [sum where the collective reduces, else none]");
  command.add_option("--mesh", options.mesh,
                     "mesh_reduce: ranks along each dimension, the last one's are neighbours: 2x3");
  command.add_option("--reduce", options.reduce,
                     "mesh_reduce: what is reduced, in its order, by dimension or groups of ranks: "
                     "0:sum,1:sum or {0-2|3-5}:max");
  command.add_option("--policy", options.policy,
                     "mesh_reduce: sequential, merged or hierarchical: answer this form alone; "
                     "[measured]: the fastest");
  command.add_option("--nodes", options.nodes, "nodes of the world");
  command.add_option("--ranks-per-node", options.ranks_per_node, "ranks on each node");
  add_origin(command, options.origin);
  command.add_option("--arch", options.architecture, "architecture of the world: x86_64-avx2, …");
  command.add_option("--placement", options.placement, allowed_names<Placement>() + " [dedicated]");
  command.add_option("--layout", options.layout_digest, "digest of the map from ranks to nodes");
  command.add_option("--interconnect", options.interconnect, "class of the slowest link");
  command.add_option("--environment", options.environment_digest,
                     "the environment: its digest as 'colltune show environments' prints it, the "
                     "beginning of that, or the name of a launch environment");
  command.add_option("--family", options.family,
                     "whose variants the caller can execute [any: all of them]");
  command.add_option("--calling", options.calling,
                     "how calls are made: " + allowed_names<Calling>() + " [" +
                         std::string(name_of(default_calling)) + "]");
  command.add_option("--input", options.input,
                     "where a call's input was: " + allowed_names<InputMode>() + " [" +
                         std::string(name_of(default_input)) + "]");
  command.add_option("--numeric-class", options.numeric_class,
                     allowed_names<NumericClass>() + " [any]");
  command.add_option("--counts", options.counts,
                     "lengths of the ranks' blocks, of all_gather and reduce_scatter: " +
                         allowed_names<Counts>() + " [equal]");
  command.add_option(
      "--match", options.match,
      "the least match to accept: " + allowed_names<MatchLevel>() + " [any_environment]");
  command.add_option(
      "--members", options.members,
      "file that says what the asking ranks can do, as 'colltune show members --json' "
      "prints it: answer what all of them can run");
  command.add_flag("--in-place", options.in_place, "send and receive buffer are the same");
  command.add_flag("--registered", options.registered, "the buffers lie in symmetric memory");
  command.add_flag("--graph-capture", options.graph_capture,
                   "the call is captured into a device graph");
  command.add_flag("--json", options.json, "print one JSON object");
  command.add_flag("--wide", options.is_wide, "tables as wide as they need to be [80 columns]");
}

/// Adds the options that choose decisions by their regime.
void add_regime(CLI::App& command, RegimeOptions& options, bool is_all_unless_given) {
  const auto without = [&](std::string_view name) {
    return is_all_unless_given ? std::string("all") : std::string(name);
  };
  command.add_option("--calling", options.calling,
                     "decided for calls made so: " + allowed_names<Calling>() + ", all [" +
                         without(name_of(default_calling)) + "]");
  command.add_option("--input", options.input,
                     "decided with input that was so: " + allowed_names<InputMode>() + ", all [" +
                         without(name_of(default_input)) + "]");
}

void add_lookup(CLI::App& program, LookupOptions& options) {
  CLI::App& command = *program.add_subcommand(
      "lookup", "Print which variant of a collective is the fastest, and by what evidence");
  command.footer(with_example(
      "colltune lookup all_reduce --bytes 1MiB --dtype f32 --op sum --nodes 1 --ranks-per-node 2 "
      "--db tuning.db"));
  add_question(command, options);
  command.callback([&options] { run_lookup(options, std::cout); });
}

void add_explain(CLI::App& program, LookupOptions& options) {
  CLI::App& command = *program.add_subcommand(
      "explain", "Say why a lookup is answered so: who ran, who left, who could not");
  command.footer(
      with_example("colltune explain all_reduce --bytes 1MiB --dtype f32 --db tuning.db"));
  add_question(command, options);
  command.callback([&options] { run_explain(options, std::cout); });
}

/// One command for each format of the list; `options` has as many entries.
void add_export(CLI::App& program, std::vector<ExportOptions>& options) {
  CLI::App& command =
      *program.add_subcommand("export", "Write the decisions in the form of another program");
  command.require_subcommand(1);
  std::string list;
  for (std::size_t i = 0; i < export_formats().size(); ++i) {
    const ExportFormat& format = export_formats()[i];
    ExportOptions& own = options.at(i);
    CLI::App& one = *command.add_subcommand(std::string(format.name), std::string(format.what));
    const std::string footer = describe(format);
    one.footer(footer + '\n' + with_example("colltune export " + std::string(format.example)));
    list += std::string(format.name) + ":\n" + footer + '\n';
    add_origin(one, own.origin);
    add_regime(one, own.regime, false);
    if (format.is_for_releases)
      one.add_option("--for", own.release, "the release: " + allowed_names<OpenMpiRelease>())
          ->required();
    if (format.is_of_environment)
      one.add_option("--environment", own.environment,
                     "of this environment: the beginning of its digest, or the name of a launch "
                     "environment [the only one]");
    if (format.is_binary)
      one.add_option("-o,--output", own.output, "file to write, which is replaced as a whole")
          ->required();
    else
      one.add_option("-o,--output", own.output, "file to write; - or nothing: standard output");
    one.callback([&format, &own] { run_export(format, own, std::cout, std::cerr); });
  }
  command.footer(list + with_example("colltune export json --db tuning.db -o decisions.json"));
}

void add_check_export(CLI::App& program, CheckExportOptions& options) {
  CLI::App& command = *program.add_subcommand(
      "check-export", "Say what another program would do with a file, whoever wrote it");
  command.require_subcommand(1);
  const std::string example = with_example("colltune check-export openmpi rules.conf --for 4.1.x");
  command.footer(example);
  CLI::App& rules = *command.add_subcommand("openmpi", "A file of rules for Open MPI's coll/tuned");
  rules.footer(example);
  CLI::App& han = *command.add_subcommand("openmpi-han", "A file of rules for Open MPI's coll/han");
  han.footer(with_example("colltune check-export openmpi-han han.conf --for 4.1.x"));
  for (CLI::App* const one : {&rules, &han})
    one->add_option("--for", options.release, "the release: " + allowed_names<OpenMpiRelease>())
        ->required();
  CLI::App& nccl = *command.add_subcommand("nccl", "A file of NVIDIA's example tuner plug-in");
  nccl.footer(with_example("colltune check-export nccl nccl_tuner.conf"));
  for (CLI::App* const one : {&rules, &han, &nccl}) {
    one->add_option("file", options.file, "the file")->required();
    one->add_flag("--json", options.json, "print one JSON array");
  }
  rules.callback([&options] { run_check_open_mpi(options, std::cout); });
  han.callback([&options] { run_check_open_mpi_han(options, std::cout); });
  nccl.callback([&options] { run_check_nccl(options, std::cout); });
}

void add_show(CLI::App& program, ShowOptions& options, TraceOptions& trace_options) {
  CLI::App& command = *program.add_subcommand("show", "Print what a tuning database holds");
  command.require_subcommand(1);
  command.footer(with_example("colltune show decisions --db tuning.db"));
  const auto add = [&](const char* name, const char* description, auto run) {
    CLI::App& list = *command.add_subcommand(name, description);
    list.footer(with_example(std::string("colltune show ") + name + " --db tuning.db"));
    list.add_option("--db", options.database, "tuning database, or a snapshot of one")->required();
    list.add_flag("--json", options.json, "print one JSON array");
    list.add_flag("--wide", options.is_wide, "one table as wide as it needs to be [80 columns]");
    list.callback([&options, run] { run(options, std::cout); });
    return &list;
  };
  add("sweeps", "The sweeps and how they ended", run_show_sweeps);
  CLI::App& decisions = *add("decisions", "The published winners", run_show_decisions);
  decisions.get_option("--db")->required(false);
  decisions.add_option("--table", options.table, "table file, in place of a database");
  decisions.add_option("--generation", options.generation, "this very generation [the newest]");
  decisions.add_option("--family", options.family,
                       "of this family of variants; all: of each [any: over all families]");
  decisions.add_option("--collective", options.collective,
                       allowed_names<Collective>() + ", mesh_reduce [all]");
  decisions.add_option("--world", options.world,
                       "of worlds so described, or in part so: '2 ranks', 'x86_64-avx2' [all]");
  add_regime(decisions, options.regime, true);
  add("generations", "The tables that were published, oldest first", run_show_generations);
  add("measurements", "The trials and their samples", run_show_measurements)
      ->add_option("--sweep", options.sweep, "of this sweep only [all]");
  add("environments", "The versions and hardware facts that decisions hold for",
      run_show_environments);
  CLI::App& members =
      *add("members", "What the ranks of the worlds that the decisions hold for can do",
           run_show_members);
  members.add_option("--generation", options.generation, "this very generation [the newest]");
  members.add_option("--sweep", options.sweep, "of this sweep only [all]");
  members.add_option("--topology", options.topology,
                     "of the world whose digest begins so only [all]");
  members.get_option("--json")->description(
      "print the members of one world, in the form that lookup --members reads");
  add("failures", "The attempts at trials that failed", run_show_failures)
      ->add_option("--sweep", options.sweep, "of this sweep only [all]");
  add("quarantines", "The variants that are neither measured nor published for a key",
      run_show_quarantines)
      ->add_flag("--all", options.all, "also those that were released");
  CLI::App& trace = *command.add_subcommand(
      "trace", "Which collectives a recorded program called, and what decisions are worth to it");
  trace.footer(with_example("colltune show trace trace.ctr --db tuning.db"));
  trace.add_option("trace", trace_options.trace, "what 'colltune run --record' wrote")->required();
  add_origin(trace, trace_options.origin);
  trace.add_flag("--json", trace_options.json, "print one JSON object");
  trace.add_flag("--wide", trace_options.is_wide, "tables as wide as they need to be [80 columns]");
  trace.callback([&trace_options] { run_show_trace(trace_options, std::cout); });
}

void add_diff(CLI::App& program, DiffOptions& options) {
  CLI::App& command = *program.add_subcommand(
      "diff", "Say what one generation of decisions changed beside another");
  command.footer(with_example("colltune diff --from 3 --to 4 --db tuning.db"));
  command.add_option("--db", options.database, "tuning database")->required();
  command.add_option("--from", options.from, "the older generation [the one before --to]");
  command.add_option("--to", options.to, "the newer generation [the newest]");
  command.add_option("--family", options.family, "of this family; all: of each [any]");
  add_regime(command, options.regime, true);
  command.add_flag("--json", options.json, "print one JSON array");
  command.callback([&options] { run_diff(options, std::cout); });
}

void add_rollback(CLI::App& program, RollbackOptions& options) {
  CLI::App& command = *program.add_subcommand(
      "rollback", "Publish the decisions of an earlier generation again, as a new one");
  command.footer(with_example("colltune rollback --to 3 --db tuning.db"));
  command.add_option("--db", options.database, "tuning database")->required();
  command.add_option("--to", options.to, "that generation [the one before the newest]");
  command.callback([&options] { run_rollback(options, std::cout); });
}

void add_quarantine(CLI::App& program, ReleaseOptions& options) {
  CLI::App& command = *program.add_subcommand(
      "quarantine", "Change which variants are in quarantine; 'show quarantines' lists them");
  command.require_subcommand(1);
  CLI::App& release =
      *command.add_subcommand("release", "Let the next sweep measure a quarantined variant again");
  const std::string footer = with_example(
      "colltune quarantine release --variant 'cpu.one_shot{n=2}' --key-digest 5f0c --db tuning.db");
  command.footer(footer);
  release.footer(footer);
  release.add_option("--db", options.database, "tuning database")->required();
  release.add_option("--variant", options.variant, "as 'show quarantines' prints it")->required();
  release.add_option("--key-digest", options.key_digest,
                     "for the key whose digest begins so [for all keys]");
  release.callback([&options] { run_release(options, std::cout); });
}

void add_report(CLI::App& program, ReportOptions& options) {
  CLI::App& command =
      *program.add_subcommand("report", "Say what sweeps found and what it is worth");
  command.require_subcommand(1);
  command.footer(with_example("colltune report sweep --db tuning.db"));
  const auto add = [&](const char* name, const char* description, auto run) {
    CLI::App& report = *command.add_subcommand(name, description);
    report.footer(with_example(std::string("colltune report ") + name + " --db tuning.db"));
    report.add_option("--db", options.database, "tuning database")->required();
    report.add_option("--sweep", options.sweep,
                      "this very sweep [the newest]; environments: the series that it is of");
    report.add_flag("--json", options.json, "print one JSON object");
    report.add_flag("--wide", options.is_wide, "tables as wide as they need to be [80 columns]");
    report.callback([&options, run] { run(options, std::cout); });
  };
  add("sweep", "One page on a sweep: winners, gain, noise, null test, time", run_report_sweep);
  add("regret",
      "Default, chosen and best of all measured, on samples that took no part in choosing",
      run_report_regret);
  add("environments",
      "Launches in several environments side by side: what a setting of a library would be worth",
      run_report_environments);
  add("model", "How far predicted times are from measured ones that the models did not see",
      run_report_model);
}

void add_crossover(CLI::App& program, CrossoverOptions& options) {
  CLI::App& command = *program.add_subcommand(
      "crossover", "Say at which size two variants meet, and what a constant threshold loses");
  command.footer(
      with_example("colltune crossover --collective all_reduce --threshold 256KiB --db tuning.db"));
  command.add_option("--db", options.database, "tuning database")->required();
  command.add_option("--sweep", options.sweep, "this very sweep [the newest]");
  command.add_option("--collective", options.collective,
                     allowed_names<Collective>() + ", mesh_reduce [all]");
  command.add_option("--first", options.first,
                     "a variant as 'show measurements' prints it [the two best]");
  command.add_option("--second", options.second, "the variant to compare it with");
  command.add_option("--threshold", options.threshold,
                     "the size up to which a library uses the one that is faster at small sizes");
  command.add_flag("--json", options.json, "print one JSON array");
  command.add_flag("--wide", options.is_wide, "tables as wide as they need to be [80 columns]");
  command.callback([&options] { run_crossover(options, std::cout); });
}

void add_import(CLI::App& program, ImportOptions& options) {
  CLI::App& command = *program.add_subcommand(
      "import", "Add the results file of a sweep to a tuning database and publish its decisions");
  command.footer(with_example("colltune import results.jsonl --db tuning.db"));
  command.add_option("results", options.results, "what colltune-agent sweep --json wrote")
      ->required();
  command.add_option("--db", options.database, "tuning database; made where it is not there")
      ->required();
  command.callback([&options] { run_import(options, std::cout, std::cerr); });
}

void add_run(CLI::App& program, RunOptions& options, int& code) {
  CLI::App& command = *program.add_subcommand(
      "run", "Launch a program so that its collectives run what was decided");
  command.footer(with_example("colltune run --db tuning.db -- mpirun -n 2 ./program") +
                 " The command's own exit code is passed on.");
  add_origin(command, options.origin);
  command.add_option("--environment", options.environment,
                     "decisions of this environment: the beginning of its digest, or the name of a "
                     "launch environment [the only one]");
  command.add_option("--numerics", options.numerics,
                     "which floating-point sums among 3 ranks or more are acceptable: " +
                         allowed_names<ProgramNumerics>() + " [same_bits]");
  command.add_option("--memory", options.memory,
                     "shared memory of each rank for each communicator [256MiB]");
  command.add_option("--files", options.files,
                     "folder for the launch's files, which all its hosts see under that name [one "
                     "in this user's caches]");
  command.add_flag("--dry-run{sh}", options.dry_run,
                   "print the variables instead of launching: --dry-run=sh (also for sbatch), "
                   "--dry-run=kubernetes");
  command.add_option("--record", options.trace,
                     "write which collectives the program calls to this file, at its end; without "
                     "decisions it runs as ever");
  command.add_flag("--preload", options.is_preloaded,
                   "preload colltune's library for the MPI library that this was built with, "
                   "instead of the component for Open MPI");
  command.add_option("--ab", options.comparisons,
                     "launch so many times with and without, by turns, and print how much faster");
  command.add_flag("--quiet", options.is_quiet, "say nothing, and no report at the program's end");
  command.add_option("command", options.command, "the launch, after --");
  command.callback([&options, &code] { code = run_run(options, std::cout, std::cerr); });
}

/// The message for wrong usage: CLI11's text, and the list of commands if the command is missing.
std::string usage_message(const CLI::App& program, const CLI::ParseError& error) {
  const CLI::App* deepest = &program;
  while (!deepest->get_subcommands().empty()) deepest = deepest->get_subcommands().front();
  std::string commands;
  for (const CLI::App* command : deepest->get_subcommands([](const CLI::App*) { return true; }))
    commands += (commands.empty() ? "" : ", ") + command->get_name();
  std::string message = error.what();
  for (const std::string& word : deepest->remaining()) message += " ('" + word + "' is none)";
  if (!commands.empty()) message += "; allowed are " + commands;
  return message + "; colltune --help tells more";
}

/// Shown when the program is started without arguments.
constexpr const char* what_to_do =
    "colltune: tells which variant of a collective to use, as it was measured on this cluster.\n\n"
    "  mpirun -n 2 colltune-agent sweep --config configs/quick.json --db tuning.db\n"
    "      measures; all commands below read what it found\n"
    "  colltune report sweep --db tuning.db\n"
    "      one page: winners, gains, noise\n"
    "  colltune run --db tuning.db -- mpirun -n 2 ./program\n"
    "      launches a program that runs the winners, and says what they were worth\n"
    "  colltune lookup all_reduce --bytes 1MiB --dtype f32 --db tuning.db\n"
    "      which variant for this call, and with what evidence\n"
    "  colltune export json --db tuning.db -o decisions.json\n"
    "      all decisions, for other programs\n"
    "  colltune --help\n"
    "      all commands\n";

/// Returns 0, or prints a message and returns 1 if standard output did not take the result (because
/// of a full disk, for example).
int finish_output() {
  std::cout.flush();
  if (std::cout && std::fflush(stdout) == 0) return 0;
  std::cerr << "colltune: the result could not be written to standard output\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  const PrintableOutput output(std::cout);
  const PrintableOutput errors(std::cerr);
  CLI::App program("Asks for, prints and moves the tuning decisions of a cluster", "colltune");
  program.set_version_flag("--version", COLLTUNE_VERSION);
  program.require_subcommand(1);
  program.footer(with_example(
      "colltune lookup all_reduce --bytes 1MiB --dtype f32 --nodes 1 --ranks-per-node 2 --db "
      "tuning.db"));
  LookupOptions lookup_options;
  LookupOptions explain_options;
  std::vector<ExportOptions> export_options(export_formats().size());
  CheckExportOptions check_options;
  ShowOptions show_options;
  TraceOptions trace_options;
  ImportOptions import_options;
  ReleaseOptions release_options;
  ReportOptions report_options;
  CrossoverOptions crossover_options;
  DiffOptions diff_options;
  RollbackOptions rollback_options;
  RunOptions run_options;
  CtringOptions ctring_options;
  PredictOptions predict_options;
  int code = 0;
  if (argc == 1) {
    std::cerr << what_to_do;
    return exit_code_of(StatusCode::invalid_argument);
  }
  const std::vector<std::pair<std::string_view, std::function<void()>>> commands{
      {"run", [&] { add_run(program, run_options, code); }},
      {"lookup", [&] { add_lookup(program, lookup_options); }},
      {"explain", [&] { add_explain(program, explain_options); }},
      {"export", [&] { add_export(program, export_options); }},
      {"check-export", [&] { add_check_export(program, check_options); }},
      {"show", [&] { add_show(program, show_options, trace_options); }},
      {"report", [&] { add_report(program, report_options); }},
      {"crossover", [&] { add_crossover(program, crossover_options); }},
      {"import", [&] { add_import(program, import_options); }},
      {"diff", [&] { add_diff(program, diff_options); }},
      {"rollback", [&] { add_rollback(program, rollback_options); }},
      {"quarantine", [&] { add_quarantine(program, release_options); }},
      {"predict", [&] {
         add_ctring(add_predict(program, predict_options,
                                with_example("colltune predict collectives.json\n"
                                             "  colltune predict ctring --arch sm_90 --ranks 8")),
                    ctring_options, std::cout);
       }}};
  // To describe all options takes longer than some commands: the others of a named one are left
  // out.
  const auto named = std::ranges::find(commands, std::string_view(argv[1]),
                                       [](const auto& command) { return command.first; });
  for (auto command = commands.begin(); command != commands.end(); ++command)
    if (named == commands.end() || named == command) command->second();
  try {
    program.parse(argc, argv);
    const int of_output = finish_output();
    return code != 0 ? code : of_output;
  } catch (const CLI::Success& help) {
    program.exit(help);
    return finish_output();
  } catch (const CLI::ParseError& error) {
    std::cerr << "colltune: " << usage_message(program, error) << '\n';
    return exit_code_of(StatusCode::invalid_argument);
  } catch (const Error& error) {
    std::cerr << "colltune: " << error.what() << '\n';
    return exit_code_of(error.code());
  } catch (const std::exception& error) {
    std::cerr << "colltune: " << error.what() << '\n';
    return exit_code_of(StatusCode::internal);
  }
}
