// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// fake_agent DB FAULT [RANK [TIMES]]: plays `colltune-agent sweep` of three cells with two variants
// each, journalled in DB.journal and resumed from it. On rank RANK (0) it does FAULT in the middle
// of the trial bad{} of cell 1, TIMES times over all launches (always, where TIMES is 0).

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "colltune/flight/watchdog.h"
#include "colltune/supervise/in_flight_file.h"
#include "colltune/supervise/rank_guard.h"
#include "colltune/vocabulary/error.h"

namespace {

using namespace std::chrono_literals;
using colltune::InFlightFile;
using colltune::LaunchState;

constexpr int cells = 3;
constexpr std::array variants{"bad{}", "good{}"};
constexpr auto call_limit = 800ms;

int from_environment(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value == nullptr ? otherwise : std::atoi(value);
}

void append_line(const std::string& path, const std::string& line) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  const std::string text = line + "\n";
  if (write(file, text.data(), text.size()) != static_cast<ssize_t>(text.size())) std::abort();
  close(file);
}

std::vector<std::string> lines_of(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) lines.push_back(line);
  return lines;
}

std::string journal_of_signals;
void note_signal(int signal) { append_line(journal_of_signals, std::to_string(signal)); }

[[noreturn]] void sleep_for_ever() {
  for (;;) pause();
}

/// A child in a session of its own whose parent dies, that takes no notice of any signal it can.
void start_stubborn_grandchild() {
  if (fork() != 0) return;
  if (fork() != 0) _exit(0);
  setsid();
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGPIPE}) ::signal(signal, SIG_IGN);
  sleep_for_ever();
}

struct Rank {
  int index = from_environment("OMPI_COMM_WORLD_RANK", 0);
  int size = from_environment("OMPI_COMM_WORLD_SIZE", 1);
  std::string database;
  std::optional<InFlightFile> file;
  std::unique_ptr<colltune::FlightRecorder> recorder;

  void enter(const colltune::FlightStep& step) { recorder->enter(step); }

  /// Waits until all ranks have taken as many collective steps as this one, as a collective does.
  void wait_for_others() {
    const auto steps = [&](int rank) {
      const auto step = colltune::read_current_step(file->record(rank));
      return step ? step->collective_steps : 0;
    };
    for (int rank = 0; rank < size; ++rank)
      while (steps(rank) < steps(index)) std::this_thread::sleep_for(1ms);
  }
};

void do_fault(const std::string& fault, Rank& rank) {
  const std::map<std::string, std::function<void()>> faults{
      {"segv", [] { raise(SIGSEGV); }},
      {"abort", [] { std::abort(); }},
      {"kill", [] { raise(SIGKILL); }},
      {"kill_each", [] { raise(SIGKILL); }},
      // As the system does where memory runs out: it counts, and kills.
      {"run_out_of_memory",
       [&] {
         append_line(rank.database + ".kills", "kill");
         raise(SIGKILL);
       }},
      {"exit", [] { std::exit(3); }},
      {"_exit", [] { _exit(3); }},
      {"hang", [] { sleep_for_ever(); }},
      {"hang_beside_silent_hosts", [] { sleep_for_ever(); }},
      {"watched_hang", [] { sleep_for_ever(); }},
      {"stop", [] { raise(SIGSTOP); }},
      {"stubborn",
       [] {
         ::signal(SIGTERM, SIG_IGN);
         start_stubborn_grandchild();
         sleep_for_ever();
       }},
      {"leave_child_and_crash",
       [] {
         start_stubborn_grandchild();
         raise(SIGSEGV);
       }},
      // Waits at leisure: no limit. Says that it does, and goes on when it may.
      {"linger",
       [&] {
         rank.enter({.activity = "leisure", .is_collective = false});
         append_line(rank.database + ".lingers", std::to_string(getpid()));
         while (access((rank.database + ".go").c_str(), F_OK) != 0)
           std::this_thread::sleep_for(5ms);
       }},
      {"linger_stubbornly",
       [&] {
         ::signal(SIGTERM, SIG_IGN);
         ::signal(SIGINT, SIG_IGN);
         start_stubborn_grandchild();
         rank.enter({.activity = "leisure", .is_collective = false});
         append_line(rank.database + ".lingers", std::to_string(getpid()));
         sleep_for_ever();
       }},
      {"crash_outside_trial",
       [&] {
         rank.enter({.activity = "control"});
         raise(SIGKILL);
       }},
      {"refuse",
       [&] {
         rank.file->set_state(LaunchState::refused);
         rank.recorder->mark(colltune::Fate::finished);
         _exit(4);
       }},
  };
  faults.at(fault)();
}

bool is_due(const std::string& database, int times) {
  const std::string path = database + ".faults";
  if (times > 0 && lines_of(path).size() >= static_cast<std::size_t>(times)) return false;
  append_line(path, "fault");
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const pid_t parent = getppid();
  Rank rank{.database = argv[1]};
  const std::string fault = argv[2];
  const int fault_rank = argc > 3 ? std::atoi(argv[3]) : 0;
  const int times = argc > 4 ? std::atoi(argv[4]) : 0;
  if (rank.index == 0) append_line(rank.database + ".launches", "launch");
  if (fault == "wrong_input") return 2;
  if (fault == "die_early") return 1;
  if (fault == "never_begin") sleep_for_ever();
  if (rank.size > 1) colltune::end_with_parent(parent);
  if (fault == "linger") {
    journal_of_signals = rank.database + ".signals";
    for (const int signal : {SIGUSR1, SIGUSR2}) ::signal(signal, note_signal);
  }

  // The ranks meet as the agent's do before the sweep: here, by a file that has this launch's name.
  const auto path = InFlightFile::path_for(rank.database);
  const std::string met = rank.database + ".met." + std::to_string(parent);
  if (rank.index == 0) {
    std::vector<colltune::LaunchHost> hosts;
    // To a broadcast or multicast address no TCP connection can lead.
    if (fault == "hang_beside_silent_hosts") hosts = {{"255.255.255.255", "2"}, {"224.0.0.1", "3"}};
    rank.file.emplace(InFlightFile::create(path, rank.size, hosts));
    rank.file->set_sweep("11111111-2222-3333-4444-555555555555");
    append_line(met, "created");
  } else {
    while (access(met.c_str(), F_OK) != 0) std::this_thread::sleep_for(1ms);
    rank.file.emplace(InFlightFile::join(path));
  }
  rank.recorder =
      std::make_unique<colltune::FlightRecorder>(rank.file->record(rank.index), rank.index);
  const colltune::CrashMarks marks(*rank.recorder);
  std::unique_ptr<colltune::Watchdog> watchdog;
  if (fault == "watched_hang" || fault == "stop")
    watchdog = std::make_unique<colltune::Watchdog>(
        *rank.recorder,
        colltune::WatchdogOptions{.board = rank.file->board(), .interval = 100ms, .grace = 100ms});
  rank.enter({.activity = "start", .is_collective = true});
  rank.wait_for_others();
  if (rank.index == 0) rank.file->set_state(LaunchState::running);

  const auto done = lines_of(rank.database + ".journal");
  const auto quarantined = lines_of(rank.database + ".quarantine");
  for (int cell = 0; cell < cells; ++cell)
    for (const std::string variant : variants) {
      const std::string digest = "digest-of-cell-" + std::to_string(cell);
      const std::string trial = digest + " " + variant;
      if (std::ranges::count(done, trial) + std::ranges::count(quarantined, trial) > 0) continue;
      rank.enter({.activity = "batch",
                  .key_digest = digest,
                  .variant = variant,
                  .cell = cell,
                  .run = 1,
                  .limit = call_limit});
      const bool is_meant = variant == variants[0] || fault == "kill_each";
      if (cell == 1 && is_meant && rank.index == fault_rank && fault != "none" &&
          !fault.starts_with("finish_") && is_due(rank.database, times))
        do_fault(fault, rank);
      rank.wait_for_others();
      rank.enter({.activity = "vote", .is_collective = true});
      rank.wait_for_others();
      if (rank.index == 0) append_line(rank.database + ".journal", trial);
    }
  rank.enter({.activity = "end"});
  rank.wait_for_others();
  if (rank.index == 0) rank.file->set_state(LaunchState::finished);
  rank.recorder->mark(colltune::Fate::finished);
  if (fault == "finish_badly") raise(SIGSEGV);
  if (fault == "finish_never") sleep_for_ever();
  return 0;
}
