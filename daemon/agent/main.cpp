// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <mpi.h>
#include <pthread.h>
#include <signal.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <stop_token>
#include <string>
#include <thread>

#include "build_info.h"
#include "colltune/kernels/mpi_communicator.h"
#include "colltune/vocabulary/error.h"
#include "mpi_control_plane.h"
#include "process_environment.h"
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

/// Rank as the launcher tells it, before MPI is initialized; 0 where there is no launcher.
int rank_from_launcher() {
  for (const char* variable : {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"})
    if (const char* value = std::getenv(variable)) return std::atoi(value);
  return 0;
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

/// Ends a launch in which this rank caught `error`. Where all ranks did (they agreed on it), one of
/// them says so and all finalize; where this rank is alone, it says so and takes the others down
/// with it.
int end_after(const Error& error, MpiControlPlane* control, int rank) {
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
  return code;
}

int run(const colltune::SweepOptions& options) {
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
    code = colltune::run_sweep_command(
        options, {.control = *control,
                  .launch = *world,
                  .stop = stop,
                  .malloc_settings = std::move(malloc_settings),
                  .begin = begin,
                  .set_control_time_out = [&](std::chrono::milliseconds time_out) {
                    control->set_time_out(time_out);
                  }});
  } catch (const Error& error) {
    is_leaving = true;
    code = end_after(error, control.get(), rank);
  } catch (const std::exception& error) {
    is_leaving = true;
    code = end_after(Error(colltune::StatusCode::internal, error.what()), control.get(), rank);
  }
  control.reset();
  MPI_Finalize();
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Measures the implementations of collective operations on the ranks of an MPI launch and "
      "stores the winners.");
  app.set_version_flag("--version", std::string(colltune::build_info::version));
  app.require_subcommand(1);
  CLI::App* sweep =
      app.add_subcommand("sweep", "run one synchronized sweep over what the configuration names");
  colltune::SweepOptions options;
  sweep
      ->add_option("--config", options.configuration,
                   "sweep configuration (JSON); configs/README.md describes it")
      ->required();
  sweep->add_option("--db", options.database,
                    "tuning database to add to; created where it is not there");
  sweep->add_option("--json", options.results,
                    "also (or only) write JSON Lines that `colltune import` reads; for a job whose "
                    "only disk is a "
                    "network file system");
  sweep->add_flag("--dry-run", options.dry_run,
                  "print the plan and what it skips, without measuring");
  sweep->add_flag("--quiet", options.quiet, "no progress on stderr; errors and the result remain");
  sweep->add_flag(
      "--allow-oversubscribe", options.allow_oversubscribe,
      "measure with more ranks than cores; results are kept apart (placement oversubscribed)");
  sweep->footer(
      "Example:\n"
      "  mpirun -n 2 colltune-agent sweep --config configs/quick.json --db tuning.db\n"
      "  colltune-agent sweep --dry-run --config configs/quick.json\n\n"
      "Exit codes: 0 done; 1 some variant was wrong or failed, or an internal error; 2 wrong input "
      "or state;\n"
      "3 a file was not found; 4 a rank or a disk failed; 5 damaged data.");
  app.footer(
      "Example:\n  mpirun -n 2 colltune-agent sweep --config configs/quick.json --db tuning.db");

  // Under a launcher every rank parses the same words: rank 0 speaks for all.
  const bool speaks = rank_from_launcher() == 0;
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return speaks ? app.exit(error) : 0;
    if (speaks) {
      std::fprintf(stderr, "colltune-agent: %s\n", error.what());
      std::fprintf(stderr, "Run with --help for more information.\n");
    }
    return colltune::exit_code_of(colltune::StatusCode::invalid_argument);
  }
  if (!options.dry_run && !options.database && !options.results) {
    if (speaks)
      report(
          "sweep: nowhere to put the results: name a database (--db FILE), a results file (--json "
          "FILE) or both");
    return colltune::exit_code_of(colltune::StatusCode::invalid_argument);
  }
  return run(options);
}
