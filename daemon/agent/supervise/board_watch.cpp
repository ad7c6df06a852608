// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "board_watch.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <string_view>

#include "colltune/flight/process_status.h"

namespace colltune {
namespace {

std::string own_host() {
  std::array<char, 65> host{};
  gethostname(host.data(), host.size() - 1);
  return std::string(std::string_view(host.data()).substr(0, 64));
}

bool is_alive(pid_t pid, std::uint64_t start_ticks) {
  const auto status = read_process_status(pid);
  return status && status->start_ticks == start_ticks && status->state != 'Z' &&
         status->state != 'X';
}

}  // namespace

BoardWatch::BoardWatch(std::span<const std::byte> board)
    : board_(board), host_(own_host()), ranks_(board.size() / flight_region_size) {}

std::span<const std::byte> BoardWatch::region(std::size_t slot) const {
  return board_.subspan(slot * flight_region_size, flight_region_size);
}

void BoardWatch::find_new_ranks() {
  for (std::size_t slot = 0; slot < ranks_.size(); ++slot) {
    Rank& rank = ranks_[slot];
    if (rank.is_known) continue;
    const auto position = read_position(region(slot));
    if (!position) continue;
    rank.is_known = true;
    rank.pid = position->pid;
    rank.start_ticks = position->start_ticks;
    rank.is_local = position->host.view() == host_;
    // Through syscall(), since glibc has the function only from 2.36 on.
    if (rank.is_local)
      rank.pidfd = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, rank.pid, 0)));
  }
}

void BoardWatch::append_poll(std::vector<pollfd>& polled) const {
  for (const Rank& rank : ranks_)
    if (rank.pidfd && is_alive(rank.pid, rank.start_ticks))
      polled.push_back({.fd = rank.pidfd.get(), .events = POLLIN, .revents = 0});
}

std::vector<std::size_t> BoardWatch::find_dead() const {
  std::vector<std::size_t> dead;
  for (std::size_t slot = 0; slot < ranks_.size(); ++slot) {
    const Rank& rank = ranks_[slot];
    if (!rank.is_local || is_alive(rank.pid, rank.start_ticks)) continue;
    const auto position = read_position(region(slot));
    if (position && position->fate != Fate::finished) dead.push_back(slot);
  }
  return dead;
}

bool BoardWatch::is_late(SteadyTime now, std::chrono::nanoseconds grace) const {
  for (std::size_t slot = 0; slot < ranks_.size(); ++slot) {
    const auto step = read_current_step(region(slot));
    if (!step || !step->deadline || now <= *step->deadline + grace) continue;
    const auto position = read_position(region(slot));
    if (position && position->fate != Fate::finished) return true;
  }
  return false;
}

}  // namespace colltune
