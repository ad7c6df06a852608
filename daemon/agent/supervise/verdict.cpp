// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "verdict.h"

#include <fmt/core.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>

#include "colltune/flight/flight_board.h"
#include "colltune/flight/watchdog.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;

// A launcher that ends a launch, because of a watchdog on another host, first wakes the ranks that
// are stopped. These may come to further steps before it kills them: with Open MPI 4.1.4 2 s later,
// on a busy machine more.
constexpr auto longest_end = 5s;

const RankPosition* find_rank(const LaunchEnd& end, int rank) {
  const auto found = std::ranges::find(end.positions, rank, &RankPosition::rank);
  return found == end.positions.end() ? nullptr : &*found;
}

const RankPosition* find_fate(const LaunchEnd& end, Fate fate) {
  const auto found = std::ranges::find(end.positions, fate, &RankPosition::fate);
  return found == end.positions.end() ? nullptr : &*found;
}

bool ended_as_late(const LaunchEnd& end) {
  return end.ended_for == EndedFor::lateness || find_fate(end, Fate::late) != nullptr ||
         (WIFEXITED(end.wait_status) && WEXITSTATUS(end.wait_status) == late_exit_code);
}

/// The launcher itself was killed, and its ranks with it: no variant is to blame.
bool lost_its_launcher(const LaunchEnd& end) {
  return WIFSIGNALED(end.wait_status) && end.ended_for == EndedFor::nothing &&
         end.positions.size() > 1;
}

/// The rank that died by itself; null if none is known to have.
const RankPosition* find_crashed(const LaunchEnd& end) {
  if (const auto* rank = find_fate(end, Fate::signalled)) return rank;
  if (const auto* rank = find_fate(end, Fate::exited)) return rank;
  // A late rank ends the launch; ranks that died without recording an end died because of that.
  if (ended_as_late(end) || lost_its_launcher(end)) return nullptr;
  return end.dead_first.empty() ? nullptr : find_rank(end, end.dead_first.front());
}

/// The rank whose step is to blame for a wait that did not end: a missing rank if one is known,
/// else the rank whose step was due first.
const RankPosition* find_late(const LaunchEnd& end) {
  for (const int missing : end.missing)
    if (const auto* rank = find_rank(end, missing)) return rank;
  const RankPosition* late = nullptr;
  for (const RankPosition& position : end.positions) {
    const FlightStepRecord* step = position.current();
    if (step == nullptr || !step->deadline || position.fate == Fate::finished) continue;
    if (late == nullptr || *step->deadline < *late->current()->deadline) late = &position;
  }
  return late;
}

/// The ranks that were stopped during the step that did not end, or shortly before the failure was
/// seen. A rank that went on before that does not count.
std::vector<StoppedRank> find_stopped(const LaunchEnd& end) {
  SteadyTime begin = SteadyTime::min();  // of the last step that a rank of this node came to
  std::vector<StoppedRank> stopped;
  for (const RankPosition& position : end.positions) {
    if (position.current() == nullptr || position.fate == Fate::finished) continue;
    begin = std::max(begin, position.current()->begin);
    if (position.whereabouts == Whereabouts::stopped)
      note_seen_stopped(stopped, {.rank = position.rank,
                                  .host = std::string(position.host.view()),
                                  .last_seen = SteadyTime::max()});
  }
  const SteadyTime since = std::min(begin, end.seen_at - longest_end);
  for (const StoppedRank& rank : end.stopped)
    if (rank.last_seen >= since) note_seen_stopped(stopped, rank);
  std::ranges::sort(stopped, {}, &StoppedRank::rank);
  return stopped;
}

std::optional<FailedTrial> trial_of(const RankPosition* rank, const std::string& sweep_uuid) {
  const FlightStepRecord* step = rank == nullptr ? nullptr : rank->current();
  if (step == nullptr || step->variant.size == 0) return std::nullopt;
  return FailedTrial{.sweep_uuid = sweep_uuid,
                     .key_digest = std::string(step->key_digest.view()),
                     .variant = std::string(step->variant.view()),
                     .variant_is_cut = step->variant_is_cut,
                     .cell = step->cell};
}

std::string name(const RankPosition& rank) {
  return fmt::format("rank {} on {} (pid {})", rank.rank, rank.host.view(), rank.pid);
}

std::string describe(const LaunchHost& host) {
  return fmt::format("host {} (rank{} {})", host.name,
                     host.ranks.find(',') == std::string::npos ? "" : "s", host.ranks);
}

std::string names_and_verb(const std::vector<LaunchHost>& hosts, const char* of_one,
                           const char* of_several) {
  std::string text;
  for (const LaunchHost& host : hosts) text += (text.empty() ? "" : ", ") + describe(host);
  return text + (hosts.size() == 1 ? of_one : of_several);
}

std::string where(const RankPosition& rank) {
  return rank.current() == nullptr ? "before its first step"
                                   : "in " + describe_step(*rank.current());
}

std::string describe_crash(const RankPosition* rank) {
  if (rank == nullptr) return "no rank of this node is known to have died first";
  std::string how = "died";
  if (rank->fate == Fate::signalled)
    how = fmt::format("crashed by signal {} ({})", rank->fate_code, strsignal(rank->fate_code));
  if (rank->fate == Fate::exited) how = "called exit()";
  return fmt::format("{} {} {}", name(*rank), how, where(*rank));
}

std::string names_of_others(const LaunchEnd& end) {
  std::string names;
  for (const RankPosition& rank : end.positions)
    if (std::ranges::find(end.missing, rank.rank) == end.missing.end())
      names += fmt::format("{}rank {}", names.empty() ? "" : ", ", rank.rank);
  return names.empty() ? "ranks of other nodes" : names;
}

/// "rank 1 on lab1, rank 3 on lab1 were stopped (SIGSTOP, or a debugger)".
std::string describe(const std::vector<StoppedRank>& stopped) {
  std::string names;
  for (const StoppedRank& rank : stopped)
    names += fmt::format("{}rank {} on {}", names.empty() ? "" : ", ", rank.rank, rank.host);
  return names + (stopped.size() == 1 ? " was" : " were") + " stopped (SIGSTOP, or a debugger)";
}

/// Lists the other hosts of the launch; what their ranks did is not known here.
std::string other_hosts(const LaunchEnd& end) {
  std::string others;
  for (const LaunchHost& host : end.hosts)
    if (end.positions.empty() || host.name != end.positions.front().host.view())
      others += (others.empty() ? "" : ", ") + describe(host);
  return others.empty() ? others : "; they may have waited for " + others;
}

std::string describe_lateness(const LaunchEnd& end, const RankPosition* rank) {
  if (rank == nullptr) return "a rank of another node was late" + other_hosts(end);
  if (end.missing.empty())
    return fmt::format("all ranks of this node were {} beyond its limit, none of them behind{}",
                       where(*rank).substr(std::strlen("in ")), other_hosts(end));
  std::string names;
  bool all_wait = true;
  for (const int missing : end.missing)
    if (const auto* late = find_rank(end, missing)) {
      names += (names.empty() ? "" : ", ") + name(*late);
      if (late->whereabouts == Whereabouts::elsewhere || late->whereabouts == Whereabouts::at_peers)
        names += fmt::format(" in {}", late->stack.view());
      all_wait = all_wait && late->whereabouts == Whereabouts::at_peers;
    }
  const std::string what = "of " + where(*rank).substr(std::strlen("in "));
  // A rank that is behind and waits inside MPI was left alone by ranks that went on.
  if (all_wait)
    return fmt::format("{} did not come out {} in time, waiting for {}, who left that call", names,
                       what, names_of_others(end));
  return fmt::format("{} did not come out {} in time; the others waited", names, what);
}

}  // namespace

std::string describe_lost(const std::vector<LaunchHost>& hosts) {
  return names_and_verb(hosts, " does", " do") + " not answer any more";
}

std::string describe_wait_status(int status) {
  if (WIFSIGNALED(status))
    return fmt::format("signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
  const int code = WEXITSTATUS(status);
  constexpr int signal_base = 128;  // added to a signal's number by shells and Open MPI
  if (code > signal_base && code < signal_base + 32)
    return fmt::format("exit code {} ({})", code, strsignal(code - signal_base));
  if (code == late_exit_code) return fmt::format("exit code {} (a rank was late)", code);
  return fmt::format("exit code {}", code);
}

LaunchVerdict judge(const LaunchEnd& end) {
  LaunchVerdict verdict;
  for (const RankPosition& position : end.positions)
    if (position.current() != nullptr)
      verdict.cell = std::max(verdict.cell, position.current()->cell);
  if (!end.lost_hosts.empty()) {
    verdict.outcome = Outcome::timed_out;
    verdict.detail =
        fmt::format("{}: no variant is blamed; the launch ended with {}",
                    describe_lost(end.lost_hosts), describe_wait_status(end.wait_status));
    return verdict;
  }
  // A rank that crashed made the others late, not the other way round.
  const RankPosition* crashed = find_crashed(end);
  const bool crashed_by_itself =
      crashed != nullptr && (crashed->fate == Fate::signalled || crashed->fate == Fate::exited);
  if (!end.unclear_hosts.empty() && !crashed_by_itself) {
    verdict.outcome = Outcome::timed_out;
    verdict.detail = fmt::format(
        "{} not answered since this launch began, lost or behind a firewall: no variant is blamed "
        "this time; the launch ended with {}",
        names_and_verb(end.unclear_hosts, " has", " have"), describe_wait_status(end.wait_status));
    return verdict;
  }
  const std::vector<StoppedRank> stopped = find_stopped(end);
  if (!stopped.empty() && !crashed_by_itself && !lost_its_launcher(end)) {
    verdict.outcome = Outcome::timed_out;
    verdict.detail = fmt::format("{}: no variant is blamed; the launch ended with {}",
                                 describe(stopped), describe_wait_status(end.wait_status));
    return verdict;
  }
  const bool is_late = crashed == nullptr && ended_as_late(end);
  const RankPosition* blamed = is_late ? find_late(end) : crashed;
  const bool is_nobodys_fault = !is_late && crashed == nullptr && lost_its_launcher(end);
  if (!is_late && blamed == nullptr && !is_nobodys_fault && !end.missing.empty())
    blamed = find_rank(end, end.missing.front());
  verdict.outcome = is_late ? Outcome::timed_out : Outcome::crashed;
  verdict.trial = trial_of(blamed, end.sweep_uuid);
  verdict.is_silent = crashed != nullptr && !crashed_by_itself;
  verdict.detail = fmt::format("{}; the launch ended with {}",
                               is_nobodys_fault ? "the launcher was killed"
                               : is_late        ? describe_lateness(end, blamed)
                                                : describe_crash(crashed),
                               describe_wait_status(end.wait_status));
  return verdict;
}

}  // namespace colltune
