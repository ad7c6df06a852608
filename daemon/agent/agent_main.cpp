// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "agent_main.h"

#include <fmt/core.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "agent_options.h"
#include "build_info.h"
#include "colltune/kernels/device/cuda_device.h"
#include "colltune/kernels/mpi_library/mpi_communicator.h"
#include "colltune/kernels/mpi_library/mpi_settings.h"
#include "colltune/kernels/nccl_library/nccl_environment.h"
#include "colltune/machine/control_groups.h"
#include "colltune/supervise/launch_helper.h"
#include "colltune/supervise/supervise.h"
#include "colltune/supervise/supervision_lock.h"
#include "colltune/sweep/spec/launch_environment.h"
#include "colltune/vocabulary/error.h"
#include "colltune/vocabulary/printable.h"
#include "commands/compat_command.h"
#include "commands/confirm_command.h"
#include "commands/confirm_launch_command.h"
#include "commands/series_command.h"
#include "commands/store_failure_log.h"
#include "commands/sweep_command.h"
#include "commands/sweep_configuration.h"
#include "launch/launch_agreement.h"
#include "launch/mpi_control_plane.h"
#include "launch/plugin_probe.h"
#include "launch/process_settings.h"

namespace {

using namespace std::chrono_literals;
using colltune::AbortFlag;
using colltune::Error;
using colltune::MpiControlPlane;

constexpr auto start_up_time_out = 60s;
// Long enough for ranks that fail together to meet; short enough that all are gone within 2 s of an
// error.
constexpr auto farewell_time_out = 1500ms;

/// The rank that the launcher's environment names, before MPI is initialized; empty without a
/// launcher.
std::optional<int> rank_from_launcher() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* value = std::getenv(variable)) return std::atoi(value);
  return std::nullopt;
}

/// Whether this process reports for its launch. All ranks parse the same command line, so only rank
/// 0 reports.
bool speaks_for_launch() { return rank_from_launcher().value_or(0) == 0; }

void report(const std::string& message) {
  std::fprintf(stderr, "colltune-agent: %s\n", colltune::printable(message).c_str());
  std::fflush(stderr);
}

int say_error(const Error& error) {
  report(error.what());
  return colltune::exit_code_of(error.code());
}

/// The first SIGINT or SIGTERM requests to end with the results so far; a second one ends the
/// process at once. All threads block the signals (the mask is inherited), and this one waits for
/// them.
class SignalListener {
 public:
  explicit SignalListener(AbortFlag& stop) {
    sigset_t set = signals();
    pthread_sigmask(SIG_BLOCK, &set, nullptr);
    thread_ = std::jthread([&stop](const std::stop_token& done) {
      const sigset_t wanted = signals();
      constexpr timespec slice{.tv_sec = 0, .tv_nsec = 200'000'000};
      while (!done.stop_requested()) {
        const int signal = sigtimedwait(&wanted, nullptr, &slice);
        if (signal < 0) continue;
        if (stop.is_raised()) std::_Exit(128 + signal);
        stop.raise();
      }
    });
  }

 private:
  static sigset_t signals() {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGINT);
    sigaddset(&set, SIGTERM);
    return set;
  }
  std::jthread thread_;
};

/// Whether a second launch would meet the same error: wrong input, or a database or disk that
/// refuses data.
bool would_come_again(colltune::StatusCode code) {
  using colltune::StatusCode;
  switch (code) {
    case StatusCode::invalid_argument:
    case StatusCode::not_found:
    case StatusCode::already_exists:
    case StatusCode::permission_denied:
    case StatusCode::resource_exhausted:
    case StatusCode::failed_precondition:
    case StatusCode::out_of_range:
    case StatusCode::unimplemented:
    case StatusCode::data_loss:
      return true;
    case StatusCode::deadline_exceeded:
    case StatusCode::aborted:
    case StatusCode::internal:
    case StatusCode::unavailable:
      return false;
  }
  return false;
}

/// Ends a launch in which this rank caught `error`. If all ranks did, since they agreed on it, one
/// of them reports it and all finalize. If this rank is alone, it reports the error and aborts the
/// others.
int end_after(const Error& error, MpiControlPlane* control, colltune::RankWatch* watch, int rank) {
  const int code = colltune::exit_code_of(error.code());
  if (control == nullptr) {
    // There is no control plane yet, so the fault lies with MPI or the launch, on this rank.
    report("rank " + std::to_string(rank) + ": " + error.what());
    MPI_Abort(MPI_COMM_WORLD, code);
    return code;
  }
  control->set_time_out(farewell_time_out);
  try {
    control->barrier();
  } catch (const Error&) {
    report("rank " + std::to_string(rank) + ": " + error.what());
    MPI_Abort(MPI_COMM_WORLD, code);
    return code;
  }
  if (rank == 0) report(error.what());
  if (watch != nullptr) {
    if (would_come_again(error.code())) watch->set_state(colltune::LaunchState::refused);
    watch->finish();
  }
  return code;
}

/// A command that all ranks of a launch run together. Returns the exit code.
using LaunchedCommand = std::function<int(const colltune::AgentProcess&)>;

/// Collective over the ranks of MPI_COMM_WORLD.
int rank_on_node() {
  MPI_Comm node = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
  int rank = 0;
  MPI_Comm_rank(node, &rank);
  MPI_Comm_free(&node);
  return rank;
}

/// This rank's GPU. The visible GPUs are dealt to the ranks of a node in turn. If the launcher
/// shows each rank a GPU of its own (Slurm's --gpus-per-task), that choice stands.
std::unique_ptr<colltune::Device> take_gpu() {
  const int place = rank_on_node();
  const colltune::CudaDevices gpus = colltune::count_cuda_devices();
  if (gpus.count == 0)
    throw Error(colltune::StatusCode::failed_precondition, "--gpus: " + gpus.why_none);
  return colltune::open_cuda_device(place % gpus.count);
}

/// The settings of a launch, in addition to its command.
struct LaunchOptions {
  pid_t parent = 0;
  bool gpus = false;
  bool share_gpus = false;
  std::span<const std::string> variables{};  ///< "NAME=value"
};

int run(const LaunchedCommand& command, const std::function<colltune::Implementations()>& catalogue,
        const LaunchOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  if (const std::string why = colltune::why_alone(
          [](const char* name) { return static_cast<const char*>(std::getenv(name)); }, getpid());
      !why.empty()) {
    std::array<char, 256> host{};
    gethostname(host.data(), host.size() - 1);
    report("rank " + std::to_string(rank_from_launcher().value_or(0)) + " on " + host.data() +
           ": " + why);
    return colltune::exit_code_of(colltune::StatusCode::failed_precondition);
  }
  // Before there are threads, and before any library reads its environment.
  if (!options.variables.empty() && !colltune::set_variables(options.variables)) {
    if (speaks_for_launch())
      report(
          "--variable: the environment has these values already, so that this launch would be one "
          "in the unchanged environment");
    return colltune::exit_code_of(colltune::StatusCode::invalid_argument);
  }
  if (options.share_gpus) colltune::pretend_own_host(rank_from_launcher().value_or(0));
  colltune::MpiSettings mpi;
  colltune::ProcessSettings settings;
  try {
    const colltune::MallocRegime malloc = colltune::read_malloc_regime();
    colltune::prepare_malloc(malloc);
    mpi = colltune::read_mpi_settings();
    settings = colltune::read_process_settings(malloc, mpi);
  } catch (const Error& error) {
    return say_error(error);
  }
  colltune::prepare_mpi_environment(mpi);
  if (options.gpus) colltune::prepare_nccl_environment();
  AbortFlag stop;
  const SignalListener listener(stop);
  // MPI_Init, as most programs use it. After a request for threads each call takes locks, even for
  // MPI_THREAD_FUNNELED: with Open MPI 4.1.4 a gather of 256 B then takes 0.22 us instead of 0.12.
  // The library's own variable can request a level. This process has threads, but only this one
  // calls MPI.
  if (MPI_Init(nullptr, nullptr) != MPI_SUCCESS) {
    report("MPI_Init failed");
    return 1;
  }
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  AbortFlag abort;
  std::unique_ptr<MpiControlPlane> control;
  int code = 0;
  bool is_leaving = false;
  std::unique_ptr<colltune::RankWatch> watch;
  colltune::LaunchState end_state = colltune::LaunchState::finished;
  if (rank_from_launcher()) colltune::end_with_parent(options.parent);
  try {
    const auto start_up_end = std::chrono::steady_clock::now() + start_up_time_out;
    if (const std::string why = compare_ranks(
            MPI_COMM_WORLD, colltune::describe_rank(settings.of_launch), start_up_end);
        !why.empty()) {
      if (rank == 0) report(why);
      MPI_Finalize();
      return colltune::exit_code_of(colltune::StatusCode::failed_precondition);
    }
    const std::unique_ptr<colltune::Device> gpu = options.gpus ? take_gpu() : nullptr;
    const auto world =
        colltune::make_mpi_world(abort, start_up_end, {}, gpu.get(),
                                 mpi.uses_dynamic_rules ? colltune::NamedAlgorithms::kept
                                                        : colltune::NamedAlgorithms::cleared);
    control = std::make_unique<MpiControlPlane>(
        MPI_COMM_WORLD, start_up_time_out, [&](const std::string& message, int /*missing*/) {
          if (is_leaving) throw Error(colltune::StatusCode::deadline_exceeded, message);
          const int missing_code = colltune::exit_code_of(colltune::StatusCode::deadline_exceeded);
          report(message);
          MPI_Abort(MPI_COMM_WORLD, missing_code);
          std::_Exit(missing_code);
        });
    code =
        command({.control = *control,
                 .launch = *world,
                 .stop = stop,
                 .settings = settings,
                 .begin = begin,
                 .set_control_time_out =
                     [&](std::chrono::milliseconds time_out) { control->set_time_out(time_out); },
                 .watch = watch,
                 .end_state = end_state,
                 .make_catalogue = catalogue});
    if (watch) {
      watch->set_state(end_state);
      watch->finish();
    }
  } catch (const Error& error) {
    is_leaving = true;
    code = end_after(error, control.get(), watch.get(), rank);
  } catch (const std::exception& error) {
    is_leaving = true;
    code = end_after(Error(colltune::StatusCode::internal, error.what()), control.get(),
                     watch.get(), rank);
  }
  control.reset();
  MPI_Finalize();
  watch.reset();
  return code;
}

/// The words of a launch: up to and including the agent's name, and those that follow it.
struct LaunchWords {
  std::vector<std::string> launcher;
  std::vector<std::string> agents;
};

/// Empty if the launch does not name the agent. `program` is the name by which this program was
/// called.
std::optional<LaunchWords> split_launch(const std::vector<std::string>& command,
                                        const std::string& program) {
  const auto is_agent = [&](const std::string& word) {
    const auto name = std::filesystem::path(word).filename();
    return name == "colltune-agent" || name == std::filesystem::path(program).filename();
  };
  const auto agent = std::ranges::find_if(command, is_agent);
  if (agent == command.end()) return std::nullopt;
  return LaunchWords{.launcher = {command.begin(), agent + 1},
                     .agents = {agent + 1, command.end()}};
}

/// `words` begin with "sweep". Throws CLI::ParseError.
colltune::SweepOptions parse_sweep(std::vector<std::string> words) {
  CLI::App app;
  colltune::SweepOptions sweep;
  add_sweep(app, sweep);
  std::ranges::reverse(words);
  app.parse(words);
  return sweep;
}

/// Throws Error(invalid_argument) if the sweep of `words` stores its results elsewhere than in
/// `database`, which was given to `command`.
void require_database(const colltune::SweepOptions& sweep, const std::filesystem::path& database,
                      const std::string& command) {
  const auto absolute = [](const std::filesystem::path& path) {
    std::error_code error;
    const auto found = std::filesystem::weakly_canonical(path, error);
    return error ? path : found;
  };
  if (sweep.dry_run || sweep.compat ||
      (sweep.database && absolute(*sweep.database) == absolute(database)))
    return;
  throw Error(colltune::StatusCode::invalid_argument,
              command + " --db " + database.string() + ": the sweep that it launches has " +
                  (sweep.database ? "--db " + sweep.database->string() : std::string("no --db")) +
                  "; give both the same database");
}

/// The configuration of the sweep that `command` launches. Empty if it is hidden (in a script) or
/// cannot be read here; the agent then reports the problem itself, or that its launch environments
/// need a supervisor. Throws Error(invalid_argument) if the configuration is wrong, or if its
/// database is not `database`.
std::optional<colltune::SweepSpec> spec_of_launch(const std::vector<std::string>& command,
                                                  const std::filesystem::path& database,
                                                  const std::string& program) {
  const auto words = split_launch(command, program);
  if (!words || words->agents.empty() || words->agents.front() != "sweep") return std::nullopt;
  try {
    const colltune::SweepOptions sweep = parse_sweep(words->agents);
    require_database(sweep, database, "supervise");
    return colltune::load_configuration(sweep).spec;
  } catch (const CLI::ParseError&) {
    return std::nullopt;
  } catch (const Error& error) {
    if (error.code() != colltune::StatusCode::failed_precondition) throw;
    return std::nullopt;
  }
}

/// Supervises the sweep, or those of its series.
int run_supervise(const colltune::SuperviseOptions& options, const colltune::SupervisionLock& lock,
                  const std::optional<colltune::SweepSpec>& spec) {
  colltune::StoreFailureLog failures(options.database);
  const auto supervise_launch = [&](const colltune::SuperviseOptions& launch) {
    return colltune::supervise(launch, {.failures = failures,
                                        .lock = lock,
                                        .say = report,
                                        .memory_kills = colltune::own_memory_kills});
  };
  if (!spec || spec->launch_environments.empty()) return supervise_launch(options);
  return colltune::run_series({.supervised = options, .spec = *spec}, supervise_launch, report);
}

/// Whether the environment selects malloc's regime `fresh`.
bool needs_fresh_processes(const colltune::SweepSpec& spec, const std::string& name) {
  const auto environment =
      std::ranges::find(spec.launch_environments, name, &colltune::LaunchEnvironment::name);
  return environment != spec.launch_environments.end() &&
         std::ranges::any_of(environment->variables, [](const colltune::Assignment& variable) {
           return variable.name == colltune::malloc_regime_variable && variable.value == "fresh";
         });
}

/// Confirms the decisions of each environment of a series in launches of that environment.
int run_confirm_of_series(const colltune::ConfirmOptions& options,
                          const colltune::SupervisionLock& lock, const colltune::SweepSpec& spec,
                          const colltune::SeriesProgress& series) {
  int code = 0;
  std::set<std::string> done;
  for (std::size_t i = 0; i < series.finished.size(); ++i) {
    const std::string& name = series.finished[i].environment;
    if (!done.insert(name).second) continue;
    if (needs_fresh_processes(spec, name)) {
      report("environment '" + name + "' is not confirmed: its keys need a process each");
      continue;
    }
    colltune::ConfirmOptions of_environment = options;
    of_environment.environment_digest = series.digests[i];
    for (const auto& environment : spec.launch_environments)
      if (environment.name == name)
        for (const auto& variable : environment.variables)
          of_environment.variables.push_back(variable.name + "=" + variable.value);
    report("environment '" + name + "':");
    const int ended_with = colltune::run_confirm_command(of_environment, lock, report);
    code = std::max(code, ended_with);
    if (ended_with > 1) break;
  }
  return code;
}

/// `program` is the name by which this program was called.
int run_confirm(colltune::ConfirmOptions options, const colltune::SupervisionLock& lock,
                const std::string& program) {
  const std::vector<std::string> whole_command = options.command;
  try {
    auto words = split_launch(options.command, program);
    if (!words)
      throw Error(colltune::StatusCode::invalid_argument,
                  "confirm: the launch does not name colltune-agent; write it up to there: "
                  "colltune-agent confirm --db tuning.db -- mpirun -n 4 colltune-agent");
    options.command = std::move(words->launcher);
    if (words->agents.empty()) return colltune::run_confirm_command(options, lock, report);
    if (words->agents.front() != "sweep")
      throw Error(colltune::StatusCode::invalid_argument,
                  "confirm: '" + words->agents.front() +
                      "' follows the agent's name; confirm itself says what the agent is to do (a "
                      "whole sweep command is accepted: its plug-ins are used)");
    // The sweep that made these decisions: the plug-ins that it loaded are needed again.
    const colltune::SweepOptions sweep = parse_sweep(words->agents);
    // A sweep command without a database is taken to mean these decisions.
    if (sweep.database) require_database(sweep, options.database, "confirm");
    const colltune::SweepSpec spec = colltune::load_configuration(sweep).spec;
    for (const auto& plugin : spec.plugins) options.plugins.emplace_back(plugin);
    if (!options.most_kept_waiting) options.most_kept_waiting = spec.decision.most_kept_waiting;
    options.plugins.insert(options.plugins.end(), sweep.plugins.begin(), sweep.plugins.end());
    options.call_limit = sweep.call_limit;
    options.rules.append(sweep.rules);
    options.variables = sweep.variables;
    if (!spec.launch_environments.empty()) {
      const auto series = colltune::read_series(
          {.supervised = {.database = options.database, .command = whole_command}, .spec = spec});
      if (!series.finished.empty()) return run_confirm_of_series(options, lock, spec, series);
    }
    return colltune::run_confirm_command(options, lock, report);
  } catch (const CLI::ParseError& error) {
    return say_error(Error(colltune::StatusCode::invalid_argument,
                           std::string("confirm: the sweep command: ") + error.what()));
  } catch (const Error& error) {
    return say_error(error);
  }
}

/// Supervises the sweep, then confirms what it decided.
int run_supervise_and_confirm(const colltune::SuperviseOptions& supervised,
                              const colltune::SupervisionLock& lock, int launches,
                              const std::string& program) {
  int code = 0;
  try {
    code = run_supervise(supervised, lock,
                         spec_of_launch(supervised.command, supervised.database, program));
  } catch (const Error& error) {
    code = say_error(error);
  }
  if (launches == 0 || (code != 0 && code != 1)) return code;
  return std::max(code, run_confirm({.database = supervised.database,
                                     .launches = launches,
                                     .plugins = {},
                                     .command = supervised.command},
                                    lock, program));
}

/// Printed if the program is started without arguments.
constexpr const char* what_to_do =
    "colltune-agent: measures collectives on the ranks of an MPI launch and stores the winners.\n\n"
    "  mpirun -n 2 colltune-agent sweep --config configs/quick.json --db tuning.db\n"
    "      measures all collectives on two ranks in about a minute\n"
    "  colltune-agent supervise --db tuning.db -- mpirun -n 2 colltune-agent sweep …\n"
    "      the same, whatever a variant does: ends what hangs, launches again\n"
    "  colltune report sweep --db tuning.db\n"
    "      says what was found\n"
    "  colltune-agent --help\n"
    "      all commands\n";

/// Runs a command that supervises launches on `database`. Returns the exit code.
int run_locked(const std::filesystem::path& database,
               const std::function<int(const colltune::SupervisionLock&)>& command) {
  std::optional<colltune::SupervisionLock> lock;
  try {
    lock.emplace(database, colltune::patience_with_earlier_launch, report);
  } catch (const Error& error) {
    return say_error(error);
  }
  return command(*lock);
}

}  // namespace

namespace colltune {

int run_agent(int argc, char** argv, const std::function<Implementations()>& make_catalogue) {
  if (const auto code = run_launch_helper(argc, argv)) return *code;
  if (const auto code = run_plugin_probe(argc, argv)) return *code;
  const pid_t parent = getppid();
  CLI::App app(
      "Measures the implementations of collective operations on the ranks of an MPI launch and "
      "stores the winners.");
  app.set_version_flag("--version", std::string(build_info::version));
  app.require_subcommand(1);
  SweepOptions sweep;
  SuperviseOptions supervise;
  int confirm_launches = 0;
  ConfirmOptions confirm;
  ConfirmLaunchOptions confirm_launch;
  add_sweep(app, sweep);
  add_supervise(app, supervise, confirm_launches);
  add_confirm(app, confirm);
  add_confirm_launch(app, confirm_launch);
  app.footer(
      "Example:\n  mpirun -n 2 colltune-agent sweep --config configs/quick.json --db tuning.db");

  const bool speaks = speaks_for_launch();
  constexpr auto wrong_usage = StatusCode::invalid_argument;
  if (argc == 1) {
    if (speaks) fmt::print(stderr, "{}", what_to_do);
    return exit_code_of(wrong_usage);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return speaks ? app.exit(error) : 0;
    if (speaks) report(std::string(error.what()) + "\nRun with --help for more information.");
    return exit_code_of(wrong_usage);
  }
  if (app.got_subcommand("supervise"))
    return run_locked(supervise.database, [&](const SupervisionLock& lock) {
      return run_supervise_and_confirm(supervise, lock, confirm_launches, argv[0]);
    });
  if (app.got_subcommand("confirm") && !std::filesystem::exists(confirm.database))
    return say_error(Error(StatusCode::failed_precondition,
                           confirm.database.string() + ": there is no such file"));
  if (app.got_subcommand("confirm"))
    return run_locked(confirm.database, [&](const SupervisionLock& lock) {
      return run_confirm(confirm, lock, argv[0]);
    });
  if (app.got_subcommand("confirm-launch"))
    return run(
        [&](const AgentProcess& process) {
          return run_confirm_launch_command(confirm_launch, process);
        },
        make_catalogue, {.parent = parent, .variables = confirm_launch.variables});
  if (sweep.compat && (sweep.database || sweep.results)) {
    if (speaks)
      report(
          "sweep --compat prints what another benchmark would print and stores nothing: leave out "
          "--db and --json");
    return exit_code_of(wrong_usage);
  }
  if (sweep.compat && !sweep.dry_run)
    return run(
        [&](const AgentProcess& process) {
          return run_compat_command(*sweep.compat, sweep, process);
        },
        make_catalogue,
        {.parent = parent,
         .gpus = sweep.gpus,
         .share_gpus = sweep.share_gpus,
         .variables = sweep.variables});
  if (!sweep.dry_run && !sweep.database && !sweep.results) {
    if (speaks)
      report(
          "sweep: nowhere to put the results: name a database (--db FILE), a results file "
          "(--json FILE) or both");
    return exit_code_of(wrong_usage);
  }
  return run([&](const AgentProcess& process) { return run_sweep_command(sweep, process); },
             make_catalogue,
             {.parent = parent,
              .gpus = sweep.gpus,
              .share_gpus = sweep.share_gpus,
              .variables = sweep.variables});
}

}  // namespace colltune
