// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/supervise/supervise.h"

#include <fmt/core.h>
#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "board_watch.h"
#include "colltune/flight/flight_board.h"
#include "colltune/flight/process_status.h"
#include "colltune/hosts/host_watch.h"
#include "colltune/hosts/launch_supervisor.h"
#include "colltune/hosts/witness_watch.h"
#include "colltune/machine/self_spawn.h"
#include "colltune/supervise/in_flight_file.h"
#include "colltune/vocabulary/error.h"
#include "launch.h"
#include "process_tree.h"
#include "verdict.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Interval between checks of the ranks: short compared with the 2 s in which a hang is found, long
// enough not to disturb measurements.
constexpr auto look_interval = 100ms;
// Time for a launcher to end its ranks after one has died: Open MPI 4.1.4 takes 1.1 s.
constexpr auto patience_with_dead_rank = 2500ms;
// How long all ranks of a node must be silent before other hosts are probed. No step of a sweep
// takes long, and a probe takes time from ranks that measure.
constexpr auto silence_before_asking = 2000ms;
constexpr std::size_t history_shown = 3;

constexpr auto look_at_lost_hosts = 1000ms;

constexpr int code_given_up = 4;
constexpr int code_findings = 1;

/// Receives SIGINT and similar signals by poll instead of handlers; restores the old mask.
class SignalInbox {
 public:
  SignalInbox() : inherited_(block_signals({SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2})) {
    sigset_t set;
    sigemptyset(&set);
    for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) sigaddset(&set, signal);
    inbox_ = Descriptor(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  }
  ~SignalInbox() { pthread_sigmask(SIG_SETMASK, &inherited_, nullptr); }
  SignalInbox(const SignalInbox&) = delete;
  SignalInbox& operator=(const SignalInbox&) = delete;

  [[nodiscard]] int descriptor() const { return inbox_.get(); }
  [[nodiscard]] const sigset_t& inherited() const { return inherited_; }
  [[nodiscard]] std::optional<int> take() const {
    signalfd_siginfo info{};
    if (read(inbox_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
    return static_cast<int>(info.ssi_signo);
  }

 private:
  sigset_t inherited_;
  Descriptor inbox_;
};

/// One launch from its start to its end, as the supervisor observed it.
class LaunchWatch {
 public:
  /// hidden_hosts: names of hosts that are known never to answer.
  LaunchWatch(const SuperviseOptions& options, const SuperviseTools& tools,
              const SignalInbox& signals, const std::set<std::string>& hidden_hosts)
      : options_(options),
        tools_(tools),
        signals_(signals),
        hidden_hosts_(hidden_hosts),
        path_(InFlightFile::path_for(options.database)),
        stale_(identity_at(path_)),
        launch_(options.command, signals.inherited(), supervisor_, tools.lock) {}

  /// Returns when all processes of the launch are gone.
  void run() {
    while (!launch_.has_ended()) {
      wait_for_news();
      find_in_flight_file();
      note_states();
      take_signals();
      launch_.take_reports(options_.patience);
      if (launch_.has_ended()) break;
      look_at_ranks();
      if (end_at_ && Clock::now() >= *end_at_) launch_.end(options_.patience);
    }
    find_in_flight_file();
    note_states();
    take_snapshot();
    if (file_) end_.sweep_uuid = file_->sweep_uuid();
    end_.wait_status = launch_.status();
    if (file_) end_.hosts = file_->hosts();
    if (ranks_) end_.stopped = ranks_->stopped();
    if (witnesses_)
      for (const StoppedRank& rank : witnesses_->stopped()) note_seen_stopped(end_.stopped, rank);
    // A launcher, or a rank's watchdog, may have ended the launch before the supervisor saw the
    // failure.
    const bool is_in_the_middle =
        state() == LaunchState::starting || state() == LaunchState::running;
    if (hosts_ && is_in_the_middle && !stopped_by_ && end_.lost_hosts.empty()) {
      end_.lost_hosts = hosts_->find_silent();
      for (const LaunchHost& host : hosts_->silent_from_the_start())
        if (!hidden_hosts_.contains(host.name)) end_.unclear_hosts.push_back(host);
    }
    for (const pid_t left : launch_.left())
      tools_.say(fmt::format("process {} could not be ended", left));
  }

  [[nodiscard]] std::optional<int> stopped_by() const { return stopped_by_; }
  [[nodiscard]] LaunchState state() const { return file_ ? file_->state() : LaunchState::starting; }
  /// Whether a rank entered a step.
  [[nodiscard]] bool took_a_step() const {
    return std::ranges::any_of(end_.positions, [](const auto& rank) { return rank.steps > 0; });
  }
  [[nodiscard]] const LaunchEnd& end() const { return end_; }
  /// Null if the launch has no other hosts, or never listed them.
  [[nodiscard]] const HostWatch* hosts() const { return hosts_ ? &*hosts_ : nullptr; }
  [[nodiscard]] SteadyTime seen_at() const { return end_.seen_at; }

 private:
  static std::optional<FileIdentity> identity_at(const std::filesystem::path& path) {
    const auto file = InFlightFile::open(path);
    return file ? std::optional(file->identity()) : std::nullopt;
  }

  void wait_for_news() {
    polled_.clear();
    polled_.push_back({.fd = launch_.channel(), .events = POLLIN, .revents = 0});
    polled_.push_back({.fd = signals_.descriptor(), .events = POLLIN, .revents = 0});
    if (ranks_ && !has_failed_) ranks_->append_poll(polled_);
    if (witnesses_) witnesses_->append_poll(polled_);
    poll(polled_.data(), polled_.size(), static_cast<int>(look_interval / 1ms));
  }

  void find_in_flight_file() {
    if (file_) return;
    auto file = InFlightFile::open(path_);
    // A file left by an earlier launch says nothing about this one.
    if (!file || (stale_ && file->identity() == *stale_)) return;
    file_.emplace(std::move(*file));
    ranks_.emplace(std::as_const(*file_).board());
    const auto others = resolve_other_hosts(file_->hosts());
    if (others.empty()) return;
    hosts_.emplace(others);
    // Last, since a witness does not wait long for what comes next.
    witnesses_.emplace(others, supervisor_.token);
  }

  /// Notes which ranks live, and which are stopped.
  void note_states() {
    if (ranks_) ranks_->look(Clock::now());
    if (witnesses_) witnesses_->take_reports(Clock::now());
  }

  void take_signals() {
    while (const auto signal = signals_.take()) {
      const bool ends = *signal != SIGUSR1 && *signal != SIGUSR2;
      if (!ends || !ask_first_rank_to_end()) launch_.pass_signal(*signal);
      if (!ends) continue;
      // A second signal kills the launch at once.
      if (stopped_by_) launch_.kill();
      if (!stopped_by_) end_at_ = Clock::now() + options_.farewell;
      stopped_by_ = *signal;
    }
  }

  /// Asks rank 0, which ends a sweep cleanly and tells the others. A launcher that gets the signal
  /// kills its ranks a second later, and what they have measured since the last key is lost.
  [[nodiscard]] bool ask_first_rank_to_end() const {
    if (!file_) return false;
    const auto first = read_position(std::as_const(*file_).board().first(flight_region_size));
    if (!first) return false;
    const auto condition = process_condition(*first);
    const bool hears = condition != "gone" && condition != "stopped" && condition != "unknown";
    return hears && kill(first->pid, SIGTERM) == 0;
  }

  /// Ends a launch that does not begin in time, or that does not end once all is done.
  void look_at_whole_launch(SteadyTime now) {
    if (state() == LaunchState::finished) {
      if (!finished_at_) finished_at_ = now;
      if (options_.finish_patience > 0ms && now > *finished_at_ + options_.finish_patience)
        launch_.end(options_.patience);
    } else if (!file_ && options_.start_patience > 0ms &&
               now > started_at_ + options_.start_patience) {
      launch_.end(options_.patience);
    }
  }

  /// Wakes a launcher that was stopped from outside. Its ranks go on, but it forwards no output and
  /// does not notice their end.
  void wake_stopped_launcher() {
    const auto launcher = launch_.launcher();
    if (!launcher) return;
    const auto status = read_process_status(*launcher);
    if (!status || status->state != 'T') return;
    // If there is no separate launcher, the launched process is a rank and is judged as one.
    if (file_) {
      const auto ranks = read_board(std::as_const(*file_).board());
      if (std::ranges::find(ranks, *launcher, &RankPosition::pid) != ranks.end()) return;
    }
    if (!std::exchange(has_said_stopped_, true))
      tools_.say(fmt::format(
          "the launcher (process {}) was stopped from outside; it is woken up, since its ranks "
          "cannot end without it",
          *launcher));
    launch_.pass_signal(SIGCONT);
  }

  /// If no rank of this node has taken a step for a while, they may wait for a host that is gone.
  void look_at_hosts(SteadyTime now) {
    if (!hosts_ || has_failed_) return;
    std::uint64_t steps = 0;
    for (auto left = std::as_const(*file_).board(); left.size() >= flight_region_size;
         left = left.subspan(flight_region_size))
      if (const auto step = read_current_step(left.first(flight_region_size)))
        steps += step->sequence;
    if (steps != steps_seen_) {
      steps_seen_ = steps;
      look_at_hosts_from_ = now + silence_before_asking;
    }
    if (now < look_at_hosts_from_) return;
    auto lost = hosts_->find_silent();
    look_at_hosts_from_ = Clock::now() + silence_before_asking;
    if (lost.empty()) return;
    take_snapshot();
    end_.lost_hosts = std::move(lost);
    end_.ended_for = EndedFor::lost_host;
    launch_.end(options_.patience);
  }

  void look_at_ranks() {
    if (stopped_by_) return;
    const SteadyTime now = Clock::now();
    wake_stopped_launcher();
    look_at_whole_launch(now);
    if (!ranks_ || state() == LaunchState::finished) return;
    look_at_hosts(now);
    if (!has_failed_ && !ranks_->find_dead().empty()) {
      take_snapshot();
      has_killed_peers_ = kill_ranks_without_a_peer();
      end_because_dead_at_ = now + patience_with_dead_rank;
    }
    // Open MPI's launcher sleeps for a second to give ranks time to end, but they are dead already.
    // SIGCONT wakes it, and does nothing to other launchers.
    if (has_killed_peers_ && end_because_dead_at_) launch_.pass_signal(SIGCONT);
    if (!has_failed_ && ranks_->is_late(now, options_.grace)) {
      take_snapshot();
      end_.ended_for = EndedFor::lateness;
      kill_stopped_ranks();
      launch_.end(options_.patience);
    }
    if (end_because_dead_at_ && now >= *end_because_dead_at_) {
      end_because_dead_at_.reset();
      end_.ended_for = EndedFor::dead_rank;
      launch_.end(options_.patience);
    }
  }

  /// Kills stopped ranks directly. A launcher wakes them before it ends them, and they would
  /// measure on for a moment.
  void kill_stopped_ranks() const {
    for (const RankPosition& rank : end_.positions)
      if (process_condition(rank) == "stopped") kill(rank.pid, SIGKILL);
  }

  /// Kills the remaining ranks, since no step can complete any more. The launcher would first ask
  /// them to end, and twice wait a second for it. If a watchdog ended its rank, the others are
  /// spared: they still write their reports.
  [[nodiscard]] bool kill_ranks_without_a_peer() const {
    const auto is_late = [](const RankPosition& rank) { return rank.fate == Fate::late; };
    if (std::ranges::any_of(end_.positions, is_late)) return false;
    for (const RankPosition& rank : end_.positions)
      if (rank.fate == Fate::running && process_condition(rank) != "gone" &&
          process_condition(rank) != "unknown")
        kill(rank.pid, SIGKILL);
    return true;
  }

  /// Records where the ranks are at the first sign of a failure, since ending them changes that.
  void take_snapshot() {
    if (!ranks_ || std::exchange(has_failed_, true)) return;
    const auto board = std::as_const(*file_).board();
    end_.seen_at = Clock::now();
    end_.positions = read_board(board);
    for (const std::size_t record : ranks_->find_dead())
      if (const auto rank =
              read_position(board.subspan(record * flight_region_size, flight_region_size)))
        end_.dead_first.push_back(rank->rank);
    end_.missing = find_missing_ranks(end_.positions);
  }

  const SuperviseOptions& options_;
  const SuperviseTools& tools_;
  const SignalInbox& signals_;
  const std::set<std::string>& hidden_hosts_;
  std::filesystem::path path_;
  std::optional<FileIdentity> stale_;
  LaunchSupervisor supervisor_ = become_supervisor();
  SupervisedLaunch launch_;
  SteadyTime started_at_ = Clock::now();
  std::optional<SteadyTime> finished_at_;
  std::optional<InFlightFile> file_;
  std::optional<BoardWatch> ranks_;
  std::optional<WitnessWatch> witnesses_;
  std::optional<HostWatch> hosts_;
  std::uint64_t steps_seen_ = 0;  ///< sum over the ranks of this node
  SteadyTime look_at_hosts_from_ = Clock::now() + silence_before_asking;
  std::vector<pollfd> polled_;
  std::optional<int> stopped_by_;
  std::optional<Clock::time_point> end_at_;  ///< set by the user's signal
  std::optional<Clock::time_point> end_because_dead_at_;
  bool has_failed_ = false;
  bool has_killed_peers_ = false;
  bool has_said_stopped_ = false;
  LaunchEnd end_;
};

/// Tracks whether failing launches still make progress.
class Progress {
 public:
  explicit Progress(int patience) : patience_(patience) {}

  void note(const LaunchVerdict& verdict, bool is_quarantined_already) {
    const bool got_further = verdict.cell > furthest_cell_;
    furthest_cell_ = std::max(furthest_cell_, verdict.cell);
    const bool is_fruitful = got_further || (verdict.trial && !is_quarantined_already);
    fruitless_ = is_fruitful ? 0 : fruitless_ + 1;
  }
  void note_launch_without_step() { ++fruitless_; }
  [[nodiscard]] bool is_stuck() const { return fruitless_ >= patience_; }
  [[nodiscard]] int fruitless() const { return fruitless_; }

 private:
  int patience_;
  int fruitless_ = 0;
  std::int64_t furthest_cell_ = -1;
};

class Supervisor {
 public:
  Supervisor(const SuperviseOptions& options, const SuperviseTools& tools)
      : options_(options), tools_(tools), progress_(options.fruitless_launches) {}

  int run() {
    adopt_orphans();
    for (int launch = 1; launch <= options_.launches; ++launch) {
      const auto kills_before = tools_.memory_kills();
      LaunchWatch watch(options_, tools_, signals_, hidden_hosts_);
      watch.run();
      memory_was_out_ = kills_before && tools_.memory_kills() > kills_before;
      if (is_one_part_done(watch)) {
        --launch;  // it does not count, since it ended normally
        continue;
      }
      if (const auto code = conclude(watch)) return *code;
      if (progress_.is_stuck()) {
        tools_.say(
            fmt::format("given up: {} launches in a row got no further", progress_.fruitless()));
        return code_given_up;
      }
      if (launch < options_.launches) tools_.say(fmt::format("launch {} starts", launch + 1));
    }
    tools_.say(fmt::format("given up after {} launches", options_.launches));
    return code_given_up;
  }

 private:
  /// Whether the launch measured its part of the sweep and left the next part to the next launch.
  static bool is_one_part_done(const LaunchWatch& watch) {
    const int status = watch.end().wait_status;
    return watch.state() == LaunchState::unfinished && !watch.stopped_by() && WIFEXITED(status) &&
           WEXITSTATUS(status) == 0;
  }

  /// Returns the exit code if this launch was the last one.
  std::optional<int> conclude(const LaunchWatch& watch) {
    const int status = watch.end().wait_status;
    if (const auto signal = watch.stopped_by()) return end_by_signal(*signal);
    const int code = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    if (watch.state() == LaunchState::finished || code == 0) {
      // It measured all that it could, and reports what is missing.
      constexpr int code_nothing_found = 3;
      constexpr int code_incomplete = 6;
      std::error_code ignored;
      std::filesystem::remove(InFlightFile::path_for(options_.database), ignored);
      if (code == code_nothing_found || code == code_incomplete) return code;
      if (code != 0 && code != code_findings)
        tools_.say(fmt::format("everything was stored; afterwards the launch ended with {}",
                               describe_wait_status(status)));
      return code == 0 && quarantined_.empty() ? 0 : code_findings;
    }
    if (watch.state() == LaunchState::refused) return code > 0 ? code : code_given_up;
    if (!watch.took_a_step()) return conclude_without_step(watch, code);
    return note_failure(watch);
  }

  std::optional<int> conclude_without_step(const LaunchWatch& watch, int code) {
    // Wrong input would fail again. (126, 127: the launcher could not be started.)
    if (code == 2 || code == 3 || code == 5) return code;
    if (code == 126 || code == 127) return exit_code_of(StatusCode::invalid_argument);
    tools_.say(fmt::format("the launch ended with {} before any rank began",
                           describe_wait_status(watch.end().wait_status)));
    progress_.note_launch_without_step();
    return std::nullopt;
  }

  /// Returns the exit code if the supervision is given up.
  std::optional<int> note_failure(const LaunchWatch& watch) {
    const LaunchVerdict verdict = judge(watch.end());
    tools_.say(fmt::format("{}: {}\n{}", name_of(verdict.outcome), verdict.detail,
                           render_board(watch.end().positions, watch.seen_at(), history_shown)));
    if (!watch.end().lost_hosts.empty()) return await_hosts(watch);
    // A host that joins the next launch and is silent again was not lost.
    for (const LaunchHost& host : watch.end().unclear_hosts) hidden_hosts_.insert(host.name);
    if (verdict.is_silent && memory_was_out_) return note_memory_kill(verdict);
    if (!verdict.trial) {
      progress_.note(verdict, false);
      return std::nullopt;
    }
    const FailedTrial& trial = *verdict.trial;
    const auto identity = std::pair(trial.key_digest, trial.variant);
    progress_.note(verdict, quarantined_.contains(identity));
    const int failures = tools_.failures.record_failure(trial, verdict.outcome, verdict.detail);
    if (failures < options_.failures || quarantined_.contains(identity)) return std::nullopt;
    if (verdict.is_silent && silently_dead_ && silently_dead_->key_digest == trial.key_digest)
      return acquit(trial);
    quarantined_.insert(identity);
    tools_.failures.quarantine(trial, verdict.outcome, verdict.detail);
    tools_.say(
        fmt::format("{} is quarantined for this key after {} failure(s)", trial.variant, failures));
    if (verdict.is_silent) silently_dead_ = trial;
    return std::nullopt;
  }

  /// Waits for lost hosts, since a launch without them would fail at once. Returns the exit code if
  /// they do not come back.
  std::optional<int> await_hosts(const LaunchWatch& watch) {
    const auto end = Clock::now() + options_.host_patience;
    auto lost = watch.hosts()->find_silent();
    if (!lost.empty())
      tools_.say(fmt::format("waiting for it to come back, {:.0f} s at most",
                             std::chrono::duration<double>(options_.host_patience).count()));
    while (!lost.empty()) {
      if (Clock::now() > end) {
        tools_.say(fmt::format("given up: {}; the same command goes on when it is back",
                               describe_lost(lost)));
        return code_given_up;
      }
      pollfd signals{.fd = signals_.descriptor(), .events = POLLIN, .revents = 0};
      poll(&signals, 1, static_cast<int>(look_at_lost_hosts / 1ms));
      while (const auto signal = signals_.take())
        if (*signal != SIGUSR1 && *signal != SIGUSR2) return end_by_signal(*signal);
      lost = watch.hosts()->find_silent();
    }
    return std::nullopt;
  }

  int end_by_signal(int signal) const {
    tools_.say(fmt::format("ended by signal {}; the same command goes on where it was", signal));
    constexpr int signal_base = 128;
    return signal_base + signal;
  }

  /// The same launch will run out of memory again, so the supervision is given up after a few.
  std::optional<int> note_memory_kill(const LaunchVerdict& verdict) {
    ++memory_kills_;
    tools_.say("memory ran out, and the system killed a rank: no variant is blamed for it");
    progress_.note(verdict, false);
    if (memory_kills_ < options_.memory_kills) return std::nullopt;
    tools_.say(fmt::format(
        "given up: memory ran out in {} launches{}; what was finished is stored. Allow more "
        "memory, "
        "leave out the largest sizes, or start fewer ranks",
        memory_kills_,
        verdict.trial ? ", the last time at " + verdict.trial->variant : std::string()));
    return code_given_up;
  }

  /// Ranks of two variants of one key were killed from outside. The variants share only the key, so
  /// neither is to blame.
  std::optional<int> acquit(const FailedTrial& trial) {
    tools_.failures.release(*silently_dead_);
    tools_.say(fmt::format(
        "given up: ranks are killed from outside at this key whatever runs, {} and {} alike; no "
        "variant is blamed for it. Does memory run out, or does something end processes?",
        silently_dead_->variant, trial.variant));
    return code_given_up;
  }

  const SuperviseOptions& options_;
  const SuperviseTools& tools_;
  SignalInbox signals_;
  Progress progress_;
  std::set<std::pair<std::string, std::string>> quarantined_;  ///< key digest, variant
  std::set<std::string> hidden_hosts_;  ///< silent since the start of a launch that failed
  bool memory_was_out_ = false;         ///< in the last launch
  int memory_kills_ = 0;                ///< launches that ran out of memory
  /// The last variant that was quarantined because its ranks were killed from outside.
  std::optional<FailedTrial> silently_dead_;
};

}  // namespace

int supervise(const SuperviseOptions& options, const SuperviseTools& tools) {
  if (options.command.empty())
    throw Error(StatusCode::invalid_argument,
                "supervise: nothing to start; write the launch behind '--': "
                "colltune-agent supervise --db tuning.db -- mpirun -n 4 colltune-agent sweep …");
  if (options.failures < 1 || options.launches < 1 || options.fruitless_launches < 1)
    throw Error(StatusCode::invalid_argument,
                "supervise: the numbers of failures and launches are at least 1");
  return Supervisor(options, tools).run();
}

}  // namespace colltune
