// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "rank_watch.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "agreement.h"
#include "colltune/flight/process_status.h"
#include "colltune/hosts/launch_host.h"
#include "colltune/hosts/launch_supervisor.h"

namespace colltune {
namespace {

using nlohmann::json;

/// The number of ranks on the same node that come before `rank`.
int local_rank(std::span<const int> nodes, int rank) {
  const auto own = static_cast<std::size_t>(rank);
  return static_cast<int>(std::ranges::count(nodes.first(own), nodes[own]));
}

/// What a rank tells rank 0 of its process.
Payload describe_process() {
  const auto status = read_process_status(getpid());
  return json::to_cbor({{"host", own_host_name()},
                        {"pid", getpid()},
                        {"start_ticks", status ? status->start_ticks : 0}});
}

/// The launch's hosts and the ranks on each, in the order of the nodes.
std::map<int, LaunchHost> find_hosts(const std::vector<json>& processes,
                                     std::span<const int> nodes) {
  std::map<int, LaunchHost> hosts;
  for (std::size_t rank = 0; rank < processes.size(); ++rank) {
    LaunchHost& host = hosts[nodes[rank]];
    host.name = processes[rank].at("host").get<std::string>();
    host.ranks += (host.ranks.empty() ? "" : ", ") + std::to_string(rank);
  }
  return hosts;
}

/// What a witness on this node is to do.
WitnessTask make_task(const json& brief, std::span<const int> nodes, int own_rank) {
  WitnessTask task{.token = brief.at("token").get<std::string>()};
  const json& processes = brief.at("processes");
  for (std::size_t rank = 0; rank < nodes.size(); ++rank)
    if (nodes[rank] == nodes[static_cast<std::size_t>(own_rank)])
      task.ranks.push_back({.rank = static_cast<int>(rank),
                            .pid = processes[rank].at("pid").get<pid_t>(),
                            .start_ticks = processes[rank].at("start_ticks").get<std::uint64_t>()});
  return task;
}

/// Collective. Starts a witness on each host other than the supervisor's; `witness` is set on the
/// rank that owns it. Does nothing without a supervisor. Returns the launch's hosts on rank 0.
std::vector<LaunchHost> gather_hosts(ControlPlane& control, std::span<const int> nodes,
                                     std::unique_ptr<Witness>& witness) {
  std::vector<json> processes;
  for (const Payload& payload : control.gather(describe_process()))
    processes.push_back(json::from_cbor(payload));
  std::map<int, LaunchHost> hosts = find_hosts(processes, nodes);
  json brief;
  const auto supervisor = find_supervisor();
  const auto is_elsewhere = [&](const auto& host) { return host.second.name != supervisor->host; };
  if (supervisor && std::ranges::any_of(hosts, is_elsewhere))
    brief = {{"host", supervisor->host}, {"token", supervisor->token}, {"processes", processes}};
  brief = json::from_cbor(control.broadcast(json::to_cbor(brief)));
  if (!brief.is_null()) {
    if (local_rank(nodes, control.rank()) == 0 && own_host_name() != brief.at("host"))
      witness = Witness::start(make_task(brief, nodes, control.rank()));
    const auto ports = control.gather(json::to_cbor(witness ? witness->port() : std::uint16_t{0}));
    for (std::size_t rank = 0; rank < ports.size(); ++rank)
      hosts[nodes[rank]].witness_port = std::max(hosts[nodes[rank]].witness_port,
                                                 json::from_cbor(ports[rank]).get<std::uint16_t>());
  }
  std::vector<LaunchHost> found;
  for (auto& [node, host] : hosts) found.push_back(std::move(host));
  return found;
}

}  // namespace

RankWatch::RankWatch(ControlPlane& control, const Communicator& launch,
                     const std::optional<std::filesystem::path>& database,
                     const std::string& sweep_uuid)
    : is_first_(launch.rank() == 0) {
  const auto nodes = launch.nodes();
  const bool shares_file = database && nodes[static_cast<std::size_t>(launch.rank())] == nodes[0];
  const std::vector<LaunchHost> hosts = gather_hosts(control, nodes, witness_);
  run_on_rank_zero(control, [&] {
    if (!database) return;
    const auto records = static_cast<int>(std::ranges::count(nodes, nodes[0]));
    own_path_ = InFlightFile::path_for(*database);
    file_ = InFlightFile::create(own_path_, records, hosts);
    file_->set_sweep(sweep_uuid);
  });
  run_on_all_ranks(control, [&] {
    if (shares_file && !is_first_) file_ = InFlightFile::join(InFlightFile::path_for(*database));
    if (!file_) own_ = std::make_unique<Region>();
    recorder_.emplace(
        file_ ? file_->record(local_rank(nodes, launch.rank())) : std::span(own_->bytes),
        launch.rank());
    crash_marks_.emplace(*recorder_);
    WatchdogOptions options;
    if (file_) options.board = file_->board();
    // If MPI is linked into the program itself, its frames cannot be distinguished.
    if (const void* mpi = dlsym(RTLD_DEFAULT, "MPI_Init")) options.peer_libraries.push_back(mpi);
    watchdog_.emplace(*recorder_, std::move(options));
  });
}

void RankWatch::finish() noexcept {
  recorder_->mark(Fate::finished);
  if (own_path_.empty() || InFlightFile::is_awaited()) return;
  std::error_code ignored;
  std::filesystem::remove(own_path_, ignored);
}

void RankWatch::set_state(LaunchState state) noexcept {
  if (is_first_ && file_) file_->set_state(state);
}

}  // namespace colltune
