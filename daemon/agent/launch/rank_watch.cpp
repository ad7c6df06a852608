// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "rank_watch.h"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

#include "agreement.h"

namespace colltune {
namespace {

/// The number of ranks on the same node that come before `rank`.
int local_rank(std::span<const int> nodes, int rank) {
  const auto own = static_cast<std::size_t>(rank);
  return static_cast<int>(std::ranges::count(nodes.first(own), nodes[own]));
}

/// Collective; returns the launch's hosts and the ranks on each, on rank 0.
std::vector<LaunchHost> gather_hosts(ControlPlane& control, std::span<const int> nodes) {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  const std::string_view own(name.data());
  const std::vector<Payload> names = control.gather({own.begin(), own.end()});
  std::map<int, LaunchHost> hosts;
  for (std::size_t rank = 0; rank < names.size(); ++rank) {
    LaunchHost& host = hosts[nodes[rank]];
    host.name.assign(names[rank].begin(), names[rank].end());
    host.ranks += (host.ranks.empty() ? "" : ", ") + std::to_string(rank);
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
  const std::vector<LaunchHost> hosts = gather_hosts(control, nodes);
  run_on_rank_zero(control, [&] {
    if (!database) return;
    const auto slots = static_cast<int>(std::ranges::count(nodes, nodes[0]));
    own_path_ = InFlightFile::path_for(*database);
    file_ = InFlightFile::create(own_path_, slots, hosts);
    file_->set_sweep(sweep_uuid);
  });
  run_on_all_ranks(control, [&] {
    if (shares_file && !is_first_) file_ = InFlightFile::join(InFlightFile::path_for(*database));
    if (!file_) own_ = std::make_unique<Region>();
    recorder_.emplace(
        file_ ? file_->slot(local_rank(nodes, launch.rank())) : std::span(own_->bytes),
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
