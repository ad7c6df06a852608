// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// NCCL between two processes that share one GPU, without MPI and without Python: whether NCCL loads
// our object as its tuner and its profiler, whether every algorithm, protocol and some numbers of
// channels of the five collectives that have a choice run as they are forced, read back from NCCL,
// or are unavailable with a reason; whether results are right; and whether a call ends at its
// deadline, and a new communicator works, where the other process is held back. It goes the
// product's way: the entries of the catalogue, their communicators and their tuner.
//
// The processes are hosts of their own to NCCL, which would refuse a GPU that two ranks of one host
// share. They meet over sockets: this shows that calls work, never how fast they are.
//
// Lines that begin with WRONG, TARGET MISSED or NOT MEASURED are findings. Exit: 0 none; 1
// something is wrong; 5 else, a combination did not run as forced; 4 else, something was not
// measured, as where there is no libnccl; 3 no GPU; 2 no start.

#include <fmt/core.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>
#include <vector>

#include "colltune/kernels/nccl_library/nccl_environment.h"
#include "nccl_library/library.h"
#include "pair/pair_gpu.h"
#include "pair/pair_judge.h"
#include "pair/pair_launch.h"
#include "pair/pair_rank.h"

namespace colltune {
namespace {

constexpr int exit_not_started = 2;
constexpr int exit_no_gpu = 3;
constexpr int exit_not_measured = 4;

struct Options {
  std::string tuner;
  std::string library;
  std::string json;
  std::string message = "1MiB";
  int call_limit_ms = 10'000;
  int held_limit_ms = 3'000;
  int init_limit_ms = 60'000;
  PairRankOptions rank;
};

std::string absolute(const std::string& file, const char* option) {
  std::error_code missing;
  const auto path = std::filesystem::canonical(file, missing);
  if (missing)
    throw Error(StatusCode::invalid_argument,
                fmt::format("{}: there is no file '{}'", option, file));
  return path.string();
}

/// What NCCL looks at in the environment of both processes.
void set_environment(const Options& options) {
  const std::string tuner =
      options.tuner.empty() ? find_nccl_tuner() : absolute(options.tuner, "--tuner");
  if (tuner.empty())
    throw Error(StatusCode::not_found,
                "libnccl-tuner-colltune.so is not in ../lib beside the program; --tuner names it");
  ::setenv("NCCL_TUNER_PLUGIN", tuner.c_str(), 1);
  ::setenv("NCCL_PROFILER_PLUGIN", tuner.c_str(), 1);
  ::setenv("NCCL_SOCKET_IFNAME", "lo", 0);
  if (!options.library.empty())
    ::setenv("COLLTUNE_NCCL_LIBRARY", absolute(options.library, "--library").c_str(), 1);
}

/// Whoever ends this meanwhile leaves the whole file of before.
void write_json(const std::string& file, const nlohmann::json& result) {
  if (file.empty()) return;
  const std::string part = file + ".part";
  std::ofstream(part) << result.dump(1, ' ', false, nlohmann::json::error_handler_t::replace)
                      << '\n';
  std::filesystem::rename(part, file);
}

int run(const Options& options, std::vector<std::string> command) {
  if (const std::string why = why_no_pair_gpu(); !why.empty()) {
    std::cerr << "nccl_two_processes: no GPU: " << why << '\n';
    return exit_no_gpu;
  }
  set_environment(options);
  if (const nccl::Opened opened = nccl::open_libraries(nccl::find_places());
      !opened.why_not.empty()) {
    fmt::print("NOT MEASURED: NCCL: {}\n", opened.why_not);
    write_json(options.json, {{"findings", {"NOT MEASURED: NCCL: " + opened.why_not}},
                              {"exit", exit_not_measured}});
    return exit_not_measured;
  }
  const auto deadline = std::chrono::steady_clock::now() +
                        std::chrono::milliseconds(static_cast<int>(options.rank.seconds * 1e3));
  const PairVerdict verdict = judge_pair(launch_pair(command, deadline));
  for (const std::string& line : verdict.lines) fmt::print("{}\n", line);
  write_json(options.json, verdict.result);
  return verdict.exit_code;
}

int run_rank(PairRankOptions options) {
  // Nobody reads what it tells, or ends it, behind its parent's end.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  ::signal(SIGPIPE, SIG_IGN);
  run_pair_rank(options);
  return 0;
}

}  // namespace
}  // namespace colltune

int main(int argc, char** argv) {
  colltune::Options options;
  CLI::App app("NCCL between two processes on one GPU: forced, read back, and aborted in time");
  app.option_defaults()->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  app.add_option("--tuner", options.tuner,
                 "libnccl-tuner-colltune.so, where it is not in ../lib beside this program");
  app.add_option("--library", options.library, "libnccl.so.2, where the loader does not find it");
  app.add_option("--seconds", options.rank.seconds, "all ends by then")
      ->check(CLI::Range(5.0, 86400.0));
  app.add_option("--json", options.json, "file to write");
  app.add_option("--bytes", options.message, "of a message");
  app.add_option("--call-limit-ms", options.call_limit_ms, "how long a call may take")
      ->check(CLI::Range(100, 600'000));
  app.add_option("--held-limit-ms", options.held_limit_ms, "the same while a rank is held back")
      ->check(CLI::Range(100, 600'000));
  app.add_option("--init-limit-ms", options.init_limit_ms, "how long a communicator may take")
      ->check(CLI::Range(100, 600'000));
  // Of the processes that it starts.
  app.add_option("--rank", options.rank.rank)->group("");
  app.add_option("--arena", options.rank.arena)->group("");
  app.add_option("--report", options.rank.report)->group("");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : colltune::exit_not_started;
  }
  try {
    options.rank.message = colltune::parse_bytes(options.message);
    options.rank.call_limit = std::chrono::milliseconds(options.call_limit_ms);
    options.rank.held_limit = std::chrono::milliseconds(options.held_limit_ms);
    options.rank.init_limit = std::chrono::milliseconds(options.init_limit_ms);
    if (options.rank.arena >= 0) return colltune::run_rank(options.rank);
    return colltune::run(options, {argv, argv + argc});
  } catch (const std::exception& error) {
    std::cerr << "nccl_two_processes: " << error.what() << '\n';
    return colltune::exit_not_started;
  }
}
