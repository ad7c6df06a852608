// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "agent_main.h"

#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "build_info.h"
#include "colltune/kernels/mpi_communicator.h"
#include "colltune/supervise/launch_helper.h"
#include "colltune/supervise/supervise.h"
#include "colltune/vocabulary/error.h"
#include "mpi_control_plane.h"
#include "process_environment.h"
#include "store_failure_log.h"
#include "sweep_command.h"

namespace {

using namespace std::chrono_literals;
using colltune::AbortFlag;
using colltune::Error;
using colltune::MpiControlPlane;

constexpr auto start_up_time_out = 60s;
// Long enough for ranks that fail together to meet, short enough that all are gone within 2 s of an
// error.
constexpr auto farewell_time_out = 1500ms;

/// Rank as the launcher tells it, before MPI is initialized; empty where there is no launcher.
std::optional<int> rank_from_launcher() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* value = std::getenv(variable)) return std::atoi(value);
  return std::nullopt;
}

void report(const std::string& message) {
  std::fprintf(stderr, "colltune-agent: %s\n", message.c_str());
  std::fflush(stderr);
}

/// Turns SIGINT and SIGTERM into a request to end with what there is; a second one ends the process
/// at once. All threads block them (the mask is inherited), this one waits for them.
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

/// Whether a second launch would meet the same error: wrong input, a database or a disk that does
/// not take it.
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

/// Ends a launch in which this rank caught `error`. Where all ranks did (they agreed on it), one of
/// them says so and all finalize; where this rank is alone, it says so and takes the others down
/// with it.
int end_after(const Error& error, MpiControlPlane* control, colltune::RankWatch* watch, int rank) {
  const int code = colltune::exit_code_of(error.code());
  if (control == nullptr) {
    // No control plane yet: MPI itself, or the launch, is at fault on this rank.
    report(error.what());
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

/// A command that all ranks of a launch run together; returns the exit code.
using LaunchedCommand = std::function<int(const colltune::AgentProcess&)>;

int run(const LaunchedCommand& command, const std::function<colltune::Implementations()>& catalogue,
        pid_t parent) {
  std::string malloc_settings = colltune::pin_malloc();
  colltune::prepare_mpi_environment();
  AbortFlag stop;
  const SignalListener listener(stop);
  int provided = 0;
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
    report("MPI_Init failed");
    return 1;
  }
  const auto begin = std::chrono::steady_clock::now();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);

  AbortFlag abort;
  std::unique_ptr<MpiControlPlane> control;
  int code = 0;
  bool is_leaving = false;
  std::unique_ptr<colltune::RankWatch> watch;
  if (rank_from_launcher()) colltune::end_with_parent(parent);
  try {
    const auto world = colltune::make_mpi_world(abort, begin + start_up_time_out);
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
                 .malloc_settings = std::move(malloc_settings),
                 .begin = begin,
                 .set_control_time_out =
                     [&](std::chrono::milliseconds time_out) { control->set_time_out(time_out); },
                 .watch = watch,
                 .make_catalogue = catalogue});
    if (watch) {
      watch->set_state(colltune::LaunchState::finished);
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

void add_sweep(CLI::App& app, colltune::SweepOptions& options) {
  CLI::App* sweep =
      app.add_subcommand("sweep", "run one synchronized sweep over what the configuration names");
  sweep
      ->add_option("--config", options.configuration,
                   "sweep configuration (JSON); configs/README.md describes it")
      ->required();
  sweep->add_option("--db", options.database,
                    "tuning database to add to; created where it is not there");
  sweep->add_option("--json", options.results,
                    "also (or only) write JSON Lines that `colltune import` reads; for a job whose "
                    "only disk is a network file system");
  sweep->add_option("--plugin", options.plugins,
                    "shared object whose implementations take part; may be repeated");
  sweep->add_flag("--dry-run", options.dry_run,
                  "print the plan and what it skips, without measuring");
  sweep->add_flag("--quiet", options.quiet, "no progress on stderr; errors and the result remain");
  sweep->add_flag("--allow-oversubscribe", options.allow_oversubscribe,
                  "measure with more ranks than cores; results are kept apart (placement "
                  "oversubscribed)");
  sweep
      ->add_option_function<int>(
          "--call-limit",
          [&options](int seconds) { options.call_limit = std::chrono::seconds(seconds); },
          "seconds before which no call counts as timed out (default 10)")
      ->check(CLI::Range(1, 3600));
  auto* resume = sweep->add_flag_callback(
      "--resume", [&options] { options.resume = colltune::Resume::always; },
      "continue the unfinished sweep of the same configuration, environment and launch, also where "
      "its budget ended it (default: where it was killed or interrupted)");
  sweep
      ->add_flag_callback(
          "--no-resume", [&options] { options.resume = colltune::Resume::never; },
          "begin a new sweep in any case")
      ->excludes(resume);
  sweep->footer(
      "Example:\n"
      "  mpirun -n 2 colltune-agent sweep --config configs/quick.json --db tuning.db\n"
      "  colltune-agent sweep --dry-run --config configs/quick.json\n\n"
      "Exit codes: 0 done; 1 some variant was wrong or failed, or an internal error; 2 wrong input "
      "or state;\n"
      "3 a file was not found; 4 a rank or a disk failed; 5 damaged data.");
}

void add_supervise(CLI::App& app, colltune::SuperviseOptions& options) {
  CLI::App* supervise = app.add_subcommand(
      "supervise",
      "launch a sweep again and again until it is complete, whatever its candidates do to it");
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
  supervise->add_option("command", options.command, "the launch, after --")->required();
  supervise->footer(
      "Example:\n"
      "  colltune-agent supervise --db tuning.db -- mpirun -n 4 colltune-agent sweep --config "
      "configs/bringup.json --db tuning.db\n\n"
      "Exit codes: 0 the sweep is complete; 1 it is complete, but variants were quarantined, wrong "
      "or failed;\n"
      "2, 3, 5 the launch refused its input or the database; 4 given up; 128+n ended by signal n.");
}

int run_supervise(const colltune::SuperviseOptions& options) {
  try {
    colltune::StoreFailureLog failures(options.database);
    return colltune::supervise(options, {.failures = failures, .say = report});
  } catch (const Error& error) {
    report(error.what());
    return colltune::exit_code_of(error.code());
  }
}

}  // namespace

namespace colltune {

int run_agent(int argc, char** argv, const std::function<Implementations()>& make_catalogue) {
  if (const auto code = run_launch_helper(argc, argv)) return *code;
  const pid_t parent = getppid();
  CLI::App app(
      "Measures the implementations of collective operations on the ranks of an MPI launch and "
      "stores the winners.");
  app.set_version_flag("--version", std::string(build_info::version));
  app.require_subcommand(1);
  SweepOptions sweep;
  SuperviseOptions supervise;
  add_sweep(app, sweep);
  add_supervise(app, supervise);
  app.footer(
      "Example:\n  mpirun -n 2 colltune-agent sweep --config configs/quick.json --db tuning.db");

  // Under a launcher every rank parses the same words: rank 0 speaks for all.
  const bool speaks = rank_from_launcher().value_or(0) == 0;
  constexpr auto wrong_usage = StatusCode::invalid_argument;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return speaks ? app.exit(error) : 0;
    if (speaks) report(std::string(error.what()) + "\nRun with --help for more information.");
    return exit_code_of(wrong_usage);
  }
  if (app.got_subcommand("supervise")) return run_supervise(supervise);
  if (!sweep.dry_run && !sweep.database && !sweep.results) {
    if (speaks)
      report(
          "sweep: nowhere to put the results: name a database (--db FILE), a results file "
          "(--json FILE) or both");
    return exit_code_of(wrong_usage);
  }
  return run([&](const AgentProcess& process) { return run_sweep_command(sweep, process); },
             make_catalogue, parent);
}

}  // namespace colltune
