// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "launch_agreement.h"

#include <fmt/format.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <thread>

#include "colltune/vocabulary/error.h"
#include "colltune/vocabulary/number_ranges.h"

namespace colltune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int set_up_tag = 7101;
constexpr int verdict_tag = 7102;

void check(int code, const char* what) {
  if (code != MPI_SUCCESS)
    throw Error(StatusCode::internal, std::string("comparing the ranks: ") + what + " failed");
}

/// False at the deadline.
bool wait_for(const std::function<bool()>& is_done, Clock::time_point deadline) {
  const auto begin = Clock::now();
  while (!is_done()) {
    const auto now = Clock::now();
    if (now >= deadline) return false;
    // The rank that this waits for may need this core.
    if (now - begin < std::chrono::milliseconds(1))
      sched_yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
  return true;
}

/// Empty at the deadline.
std::optional<std::string> receive(MPI_Comm world, int from, int tag, Clock::time_point deadline) {
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  const auto is_there = [&] {
    int found = 0;
    check(PMPI_Improbe(from, tag, world, &found, &message, &status), "MPI_Improbe");
    return found != 0;
  };
  if (!wait_for(is_there, deadline)) return std::nullopt;
  int bytes = 0;
  check(PMPI_Get_count(&status, MPI_BYTE, &bytes), "MPI_Get_count");
  std::string text(static_cast<std::size_t>(bytes), '\0');
  MPI_Request request = MPI_REQUEST_NULL;
  check(PMPI_Imrecv(text.data(), bytes, MPI_BYTE, &message, &request), "MPI_Imrecv");
  const auto is_received = [&] {
    int done = 0;
    check(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done != 0;
  };
  if (!wait_for(is_received, deadline)) return std::nullopt;
  return text;
}

/// False at the deadline.
bool send(MPI_Comm world, int to, int tag, const std::string& text, Clock::time_point deadline) {
  MPI_Request request = MPI_REQUEST_NULL;
  check(PMPI_Isend(text.data(), static_cast<int>(text.size()), MPI_BYTE, to, tag, world, &request),
        "MPI_Isend");
  return wait_for(
      [&] {
        int done = 0;
        check(PMPI_Test(&request, &done, MPI_STATUS_IGNORE), "MPI_Test");
        return done != 0;
      },
      deadline);
}

std::string to_message(const RankSetUp& rank) {
  const nlohmann::json message{rank.settings, rank.host, rank.pid_namespace};
  return message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

RankSetUp from_message(const std::string& text) {
  const auto message = nlohmann::json::parse(text);
  return {.settings = message.at(0), .host = message.at(1), .pid_namespace = message.at(2)};
}

[[noreturn]] void throw_missing(int rank) {
  throw Error(StatusCode::deadline_exceeded,
              fmt::format("rank {} did not say in time what it was launched with; it is missing "
                          "(stopped, hung, its host is unreachable, or launched with settings of "
                          "MPI's transports unlike the others')",
                          rank));
}

std::string name_of_host(const RankSetUp& rank) { return rank.host.substr(0, rank.host.find(' ')); }

/// " (lab1, lab2)", a few hosts at most; empty if all ranks of the launch are on one host.
std::string render_hosts(const std::vector<RankSetUp>& ranks, const std::vector<int>& of) {
  constexpr std::size_t shown = 4;
  std::set<std::string> all;
  for (const RankSetUp& rank : ranks) all.insert(name_of_host(rank));
  if (all.size() < 2) return {};
  std::vector<std::string> hosts;
  for (const int r : of)
    if (const auto host = name_of_host(ranks[static_cast<std::size_t>(r)]);
        std::ranges::find(hosts, host) == hosts.end())
      hosts.push_back(host);
  if (hosts.size() > shown) {
    hosts.resize(shown);
    hosts.emplace_back("…");
  }
  return fmt::format(" ({})", fmt::join(hosts, ", "));
}

/// "'3' on rank 0 (lab0), not set on ranks 1-3 (lab1)".
std::string render_values(const std::vector<RankSetUp>& ranks, const std::string& name) {
  std::map<std::optional<std::string>, std::vector<int>> with;
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    const auto found = ranks[r].settings.find(name);
    with[found == ranks[r].settings.end() ? std::nullopt : std::optional(found->second)].push_back(
        static_cast<int>(r));
  }
  std::vector<std::string> parts;
  for (const auto& [value, of] : with)
    parts.push_back(fmt::format("{} on rank{} {}{}", value ? "'" + *value + "'" : "not set",
                                of.size() > 1 ? "s" : "", render_ranges(of),
                                render_hosts(ranks, of)));
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::set<std::string> unlike_settings(const std::vector<RankSetUp>& ranks) {
  std::set<std::string> names;
  const auto& first = ranks.front().settings;
  for (const RankSetUp& rank : ranks) {
    for (const auto& [name, value] : rank.settings)
      if (const auto found = first.find(name); found == first.end() || found->second != value)
        names.insert(name);
    for (const auto& [name, value] : first)
      if (!rank.settings.contains(name)) names.insert(name);
  }
  return names;
}

// Variables that launchers set only for ranks; the second list says how many ranks are on the host.
constexpr std::array<std::string_view, 4> rank_variables{
    "OMPI_COMM_WORLD_RANK=", "PMI_RANK=", "PMIX_RANK=", "SLURM_PROCID="};
constexpr std::array<const char*, 3> local_size_variables{
    "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS", "SLURM_STEP_TASKS_PER_NODE"};

bool has_peers_on_host(const std::function<const char*(const char*)>& environment) {
  for (const char* name : local_size_variables)
    if (const char* text = environment(name)) return std::atoi(text) > 1;
  return false;
}

/// Whether the process is a rank that a launcher started, or starts a rank below the launcher.
bool is_below_launcher(const std::string& environ_path) {
  std::ifstream file(environ_path, std::ios::binary);
  for (std::string entry; std::getline(file, entry, '\0');)
    for (const std::string_view variable : rank_variables)
      if (entry.starts_with(variable)) return true;
  return false;
}

}  // namespace

std::string why_alone(const std::function<const char*(const char*)>& environment, int process,
                      const std::string& proc) {
  if (!has_peers_on_host(environment)) return {};
  std::error_code error;
  const std::string self = std::filesystem::read_symlink(proc + "/self", error).string();
  const std::string advice =
      "; launch the ranks of a host in one PID namespace (the launcher inside the container, or "
      "hostPID)";
  if (!error && self != std::to_string(process))
    return fmt::format(
        "this rank runs in a PID namespace whose {} shows another one's processes ({} is {} "
        "there), "
        "so that the other ranks of its host cannot reach its memory{}",
        proc, process, self, advice);
  if (is_below_launcher(proc + "/1/environ"))
    return "this rank runs in a PID namespace of its own, made below the launcher: the other ranks "
           "of its host cannot reach its memory, and MPI's own messages between them may crash" +
           advice;
  return {};
}

RankSetUp describe_rank(std::map<std::string, std::string> settings) {
  RankSetUp own{.settings = std::move(settings), .host = {}, .pid_namespace = {}};
  char name[256] = {};
  gethostname(name, sizeof name - 1);
  std::string boot;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), boot);
  own.host = std::string(name) + " " + boot;
  struct stat space {};
  if (stat("/proc/self/ns/pid", &space) == 0)
    own.pid_namespace = fmt::format("{}:{}", space.st_dev, space.st_ino);
  // Detects a namespace whose /proc shows the processes of another.
  std::array<char, 32> self{};
  if (readlink("/proc/self", self.data(), self.size() - 1) > 0 &&
      std::to_string(getpid()) != self.data())
    own.pid_namespace +=
        fmt::format(" with the /proc of another (process {} is {} there)", getpid(), self.data());
  return own;
}

std::string why_unlike(const std::vector<RankSetUp>& ranks) {
  if (const auto names = unlike_settings(ranks); !names.empty()) {
    std::string text =
        "the ranks were launched with unlike settings; give all of them the same (mpirun -x NAME, "
        "or one file of parameters for all hosts):";
    for (const std::string& name : names)
      text += fmt::format("\n  {}: {}", name, render_values(ranks, name));
    return text;
  }
  std::map<std::string, std::size_t> first_on;  // host -> rank
  for (std::size_t r = 0; r < ranks.size(); ++r) {
    if (ranks[r].pid_namespace.find(" with ") != std::string::npos)
      return fmt::format(
          "rank {} runs in PID namespace {}; mount that namespace's own (unshare "
          "--mount-proc)",
          r, ranks[r].pid_namespace);
    const auto [first, is_first] = first_on.emplace(ranks[r].host, r);
    const std::size_t other = first->second;
    if (is_first || ranks[r].pid_namespace == ranks[other].pid_namespace) continue;
    return fmt::format(
        "ranks {} and {} run on host {} in PID namespaces of their own ({} and {}), where they "
        "cannot reach each other's memory, and MPI's single copy goes wrong; launch the ranks of a "
        "host in one namespace (the launcher inside the container, or hostPID)",
        other, r, name_of_host(ranks[r]), ranks[other].pid_namespace, ranks[r].pid_namespace);
  }
  return {};
}

std::string compare_ranks(MPI_Comm world, const RankSetUp& own, Clock::time_point deadline) {
  int rank = 0;
  int size = 0;
  check(PMPI_Comm_rank(world, &rank), "MPI_Comm_rank");
  check(PMPI_Comm_size(world, &size), "MPI_Comm_size");
  if (rank != 0) {
    // Rank 0 names the missing ranks, so it must report first.
    const auto later = deadline + std::chrono::seconds(2);
    if (!send(world, 0, set_up_tag, to_message(own), later)) throw_missing(0);
    auto verdict = receive(world, 0, verdict_tag, later);
    if (!verdict) throw_missing(0);
    return *verdict;
  }
  std::vector<RankSetUp> ranks{own};
  for (int from = 1; from < size; ++from) {
    const auto text = receive(world, from, set_up_tag, deadline);
    if (!text) throw_missing(from);
    ranks.push_back(from_message(*text));
  }
  std::string verdict = why_unlike(ranks);
  for (int to = 1; to < size; ++to)
    if (!send(world, to, verdict_tag, verdict, deadline + std::chrono::seconds(1)))
      throw_missing(to);
  return verdict;
}

}  // namespace colltune
