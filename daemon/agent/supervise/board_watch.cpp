// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "board_watch.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "colltune/flight/process_status.h"
#include "colltune/hosts/launch_host.h"

namespace colltune {
namespace {

constexpr std::size_t longest_host = 64;  // in a record

}  // namespace

BoardWatch::BoardWatch(std::span<const std::byte> board)
    : board_(board),
      host_(own_host_name().substr(0, longest_host)),
      ranks_(board.size() / flight_region_size) {}

std::span<const std::byte> BoardWatch::region(std::size_t record) const {
  return board_.subspan(record * flight_region_size, flight_region_size);
}

void BoardWatch::find_new_ranks() {
  for (std::size_t record = 0; record < ranks_.size(); ++record) {
    Rank& rank = ranks_[record];
    if (rank.is_known) continue;
    const auto position = read_position(region(record));
    if (!position) continue;
    rank.is_known = true;
    rank.rank = position->rank;
    rank.pid = position->pid;
    rank.start_ticks = position->start_ticks;
    rank.is_local = position->host.view() == host_;
    // Through syscall(), since glibc has the function only from 2.36 on.
    if (rank.is_local)
      rank.pidfd = Descriptor(static_cast<int>(syscall(SYS_pidfd_open, rank.pid, 0)));
  }
}

void BoardWatch::look(SteadyTime now) {
  find_new_ranks();
  for (Rank& rank : ranks_) {
    if (!rank.is_local) continue;
    const auto status = read_process_status(rank.pid);
    const bool is_there = status && status->start_ticks == rank.start_ticks;
    rank.is_alive = is_there && status->state != 'Z' && status->state != 'X';
    if (is_there && (status->state == 'T' || status->state == 't'))
      note_seen_stopped(stopped_, {.rank = rank.rank, .host = host_, .last_seen = now});
  }
}

void BoardWatch::append_poll(std::vector<pollfd>& polled) const {
  for (const Rank& rank : ranks_)
    if (rank.pidfd && rank.is_alive)
      polled.push_back({.fd = rank.pidfd.get(), .events = POLLIN, .revents = 0});
}

std::vector<std::size_t> BoardWatch::find_dead() const {
  std::vector<std::size_t> dead;
  for (std::size_t record = 0; record < ranks_.size(); ++record) {
    const Rank& rank = ranks_[record];
    if (!rank.is_local || rank.is_alive) continue;
    const auto position = read_position(region(record));
    if (position && position->fate != Fate::finished) dead.push_back(record);
  }
  return dead;
}

bool BoardWatch::is_late(SteadyTime now, std::chrono::nanoseconds grace) const {
  for (std::size_t record = 0; record < ranks_.size(); ++record) {
    const auto step = read_current_step(region(record));
    if (!step || !step->deadline || now <= *step->deadline + grace) continue;
    const auto position = read_position(region(record));
    if (position && position->fate != Fate::finished) return true;
  }
  return false;
}

}  // namespace colltune
