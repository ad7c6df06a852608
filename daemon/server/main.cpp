// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// colltuned: serves the newest published generation of a tuning database by gRPC.

#include <fmt/core.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "colltune/serve/lookup_server.h"
#include "colltune/vocabulary/printable.h"
#include "library_log.h"
#include "notify.h"
#include "table_loader.h"

namespace {

using namespace std::chrono_literals;

// A look at one file's metadata: cheap enough to be felt as "at once" after a publish.
constexpr auto snapshot_check_interval = 250ms;
// A lookup takes far less; this is for streams of tables to slow clients.
constexpr auto shutdown_grace = 2s;

struct Options {
  std::filesystem::path database;
  std::vector<std::string> listen;
  bool allow_insecure_network = false;
  std::string log_level = "info";
};

/// Fills `options`; an exit code where the program has nothing more to do.
std::optional<int> parse_command_line(int argc, char** argv, Options& options) {
  CLI::App app(
      "Answers lookups from the newest published generation of a tuning database, and goes on with "
      "every new one.");
  app.name("colltuned");
  app.add_option("--db", options.database, "tuning database (or a snapshot of one)")
      ->required()
      ->type_name("FILE");
  app.add_option("--listen", options.listen,
                 "unix:/path, 127.0.0.1:PORT or [::1]:PORT (port 0: the system chooses); may be "
                 "given several times")
      ->required()
      ->type_name("ADDRESS");
  app.add_flag("--allow-insecure-network", options.allow_insecure_network,
               "also listen on addresses that other hosts reach, unencrypted and for anyone");
  app.add_option("--log-level", options.log_level, "of the log on stderr")
      ->check(CLI::IsMember({"debug", "info", "warning", "error"}))
      ->capture_default_str();
  app.set_version_flag("--version", COLLTUNE_VERSION);
  app.footer(
      "Example:\n"
      "  colltuned --db tuning.db --listen unix:/run/colltune.sock --listen 127.0.0.1:50061\n\n"
      "Prints 'listening on ADDRESS' per address on stdout when ready; logs go to stderr.\n"
      "Ends with 0 on SIGTERM or SIGINT, having answered what it was asked; SIGHUP reads the\n"
      "database again. Exit codes: 2 wrong usage or input (an address in use, "
      "no\n"
      "database), 4 something was unreachable, 5 damaged database, 1 anything else.");
  if (argc == 1) {
    fmt::print(stderr,
               "colltuned: answers lookups from a tuning database.\n\n"
               "  mpirun -n 2 colltune-agent sweep --config configs/quick.json --db tuning.db\n"
               "      makes one\n"
               "  colltuned --db tuning.db --listen 127.0.0.1:50061\n"
               "      serves it; colltune lookup … --server 127.0.0.1:50061 asks\n"
               "  colltuned --help\n"
               "      all options\n");
    return 2;
  }
  try {
    app.parse(argc, argv);
    return {};
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
}

void set_up_log(const std::string& level) {
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("", std::make_shared<spdlog::sinks::stderr_sink_mt>()));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S%z colltuned %l: %v");
  spdlog::set_level(spdlog::level::from_str(level));
}

/// Blocks the signals that end the program or have it read again, in this thread and those that it
/// will start, so that the loop below receives them. Those that users may send by mistake do
/// nothing.
sigset_t block_signals() {
  sigset_t awaited;
  sigemptyset(&awaited);
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) sigaddset(&awaited, number);
  pthread_sigmask(SIG_BLOCK, &awaited, nullptr);
  for (const int number : {SIGPIPE, SIGUSR1, SIGUSR2}) std::signal(number, SIG_IGN);
  return awaited;
}

/// Serves a new generation where there is one. True where one is served now.
bool refresh(colltune::TableLoader& loader, colltune::TableSource& source) {
  if (const auto table = loader.load_if_changed(colltune::TableLoader::Clock::now())) {
    source.replace(table);  // before it is said: who reads the log may ask at once
    spdlog::info("serving generation {} with {} decisions from {}", table->generation().number,
                 table->set().decisions.size(), loader.file().string());
    if (!loader.left_out().empty())
      spdlog::warn("{}: {}", loader.file().string(), colltune::printable(loader.left_out()));
  }
  return source.newest() != nullptr;
}

/// As refresh, for a daemon that already runs: a file that cannot be read is logged and tried
/// again, and what was served stays.
void refresh_while_serving(colltune::TableLoader& loader, colltune::TableSource& source,
                           colltune::LookupServer& server) {
  const bool had_table = source.newest() != nullptr;
  try {
    if (refresh(loader, source) && !had_table) server.set_serving(true);
    server.set_snapshot_read(loader.failures() == 0);
  } catch (const std::exception& error) {
    server.set_snapshot_read(false);
    spdlog::error("{} is not served: {}; it is tried again in {} ms", loader.file().string(),
                  colltune::printable(error.what()), loader.wait().count());
  }
}

int run(const Options& options) {
  const sigset_t awaited = block_signals();
  colltune::ServerOptions server_options{
      .listen = {},
      .allow_insecure_network = options.allow_insecure_network,
      .warn = [](const std::string& text) { spdlog::warn(text); }};
  for (const std::string& text : options.listen)
    server_options.listen.push_back(colltune::parse_listen_address(text));

  colltune::TableSource source;
  colltune::TableLoader loader(options.database);
  const bool has_table = refresh(loader, source);
  if (!has_table) spdlog::warn("{} has no generation yet", options.database.string());

  colltune::LookupServer server(source, server_options);
  server.set_serving(has_table);
  for (const auto& address : server.addresses())
    fmt::print("listening on {}\n", to_string(address));
  std::fflush(stdout);
  colltune::notify_supervisor("READY=1");

  const timespec interval{.tv_sec = 0,
                          .tv_nsec = std::chrono::nanoseconds(snapshot_check_interval).count()};
  int received = 0;
  while (received != SIGTERM && received != SIGINT) {
    received = sigtimedwait(&awaited, nullptr, &interval);
    if (received == SIGHUP) {
      spdlog::info("received SIGHUP, reading {} again", loader.file().string());
      loader.forget();
    }
    if (received < 0 || received == SIGHUP) refresh_while_serving(loader, source, server);
  }
  spdlog::info("received {}, shutting down", received == SIGINT ? "SIGINT" : "SIGTERM");
  colltune::notify_supervisor("STOPPING=1");
  server.shutdown(shutdown_grace);
  return EXIT_SUCCESS;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  if (const auto exit_code = parse_command_line(argc, argv, options)) return *exit_code;
  // gRPC's own lines would stand beside our one clear message; who needs them sets the variable.
  setenv("GRPC_VERBOSITY", "NONE", 0);
  try {
    set_up_log(options.log_level);
    colltune::limit_library_log();
    return run(options);
  } catch (const colltune::Error& error) {
    fmt::print(stderr, "colltuned: {}\n", colltune::printable(error.what()));
    return colltune::exit_code_of(error.code());
  } catch (const std::exception& error) {
    fmt::print(stderr, "colltuned: {}\n", error.what());
    return EXIT_FAILURE;
  }
}
