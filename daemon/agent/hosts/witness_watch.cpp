// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/hosts/witness_watch.h"

#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <sstream>
#include <utility>

namespace colltune {
namespace {

// Each witness takes a descriptor as long as the launch runs, and some systems allow only 1024.
constexpr std::size_t most_witnesses = 256;
// A witness reports twice per second, a few bytes for each rank that is stopped. Whoever says more
// between two looks is none.
constexpr std::size_t most_between_looks = 1 << 16;

/// "2, 3"
std::set<int> ranks_of(const LaunchHost& host) {
  std::istringstream text(host.ranks);
  std::set<int> ranks;
  for (int rank = 0; text >> rank; text.ignore(1)) ranks.insert(rank);
  return ranks;
}

}  // namespace

void note_seen_stopped(std::vector<StoppedRank>& stopped, const StoppedRank& seen) {
  const auto known = std::ranges::find(stopped, seen.rank, &StoppedRank::rank);
  if (known == stopped.end())
    stopped.push_back(seen);
  else
    known->last_seen = std::max(known->last_seen, seen.last_seen);
}

WitnessWatch::WitnessWatch(const std::vector<HostAddress>& hosts, std::string_view token)
    : token_(token) {
  for (const HostAddress& host : hosts) {
    if (host.host.witness_port == 0) continue;
    if (lines_.size() == most_witnesses) return;
    const sockaddr_storage address = host.with_port(host.host.witness_port);
    Line line{.host = host.host.name,
              .ranks = ranks_of(host.host),
              .socket = Descriptor(
                  socket(address.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0))};
    if (!line.socket) return;
    if (connect(line.socket.get(), reinterpret_cast<const sockaddr*>(&address),
                host.address_size) != 0 &&
        errno != EINPROGRESS)
      continue;
    lines_.push_back(std::move(line));
  }
}

void WitnessWatch::append_poll(std::vector<pollfd>& polled) const {
  for (const Line& line : lines_) {
    const auto events = static_cast<short>(line.is_connected ? POLLIN : POLLOUT);
    if (line.socket) polled.push_back({.fd = line.socket.get(), .events = events, .revents = 0});
  }
}

void WitnessWatch::take_reports(SteadyTime now) {
  for (Line& line : lines_)
    if (line.socket && !continue_line(line, now)) line.socket = Descriptor();
}

/// False if the connection is of no more use.
bool WitnessWatch::continue_line(Line& line, SteadyTime now) {
  if (!line.is_connected) {
    pollfd connected{.fd = line.socket.get(), .events = POLLOUT, .revents = 0};
    if (poll(&connected, 1, 0) == 0) return true;
    if (!introduce(line)) return false;
    line.is_connected = true;
  }
  return take_text(line, now);
}

bool WitnessWatch::introduce(Line& line) const {
  const std::string introduction = token_ + "\n";
  return send(line.socket.get(), introduction.data(), introduction.size(), MSG_NOSIGNAL) ==
         static_cast<ssize_t>(introduction.size());
}

bool WitnessWatch::take_text(Line& line, SteadyTime now) {
  std::array<char, 4096> buffer{};
  for (std::size_t taken = 0; taken < most_between_looks;) {
    const ssize_t size = recv(line.socket.get(), buffer.data(), buffer.size(), 0);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return true;
    if (size <= 0) return false;
    taken += static_cast<std::size_t>(size);
    line.text.append(buffer.data(), static_cast<std::size_t>(size));
    std::size_t begin = 0;
    for (std::size_t end = 0; (end = line.text.find('\n', begin)) != std::string::npos;
         begin = end + 1)
      if (!take_report(line, std::string_view(line.text).substr(begin, end - begin), now))
        return false;
    line.text.erase(0, begin);
    if (line.text.size() > most_between_looks) return false;
  }
  return false;
}

/// "stopped 2 3". False if it is no report about this host.
bool WitnessWatch::take_report(const Line& line, std::string_view report, SteadyTime now) {
  constexpr std::string_view begin = "stopped";
  if (!report.starts_with(begin)) return false;
  report.remove_prefix(begin.size());
  std::vector<int> ranks;
  while (!report.empty()) {
    int rank = -1;
    const auto [stop, error] =
        std::from_chars(report.data() + 1, report.data() + report.size(), rank);
    if (report.front() != ' ' || error != std::errc() || !line.ranks.contains(rank)) return false;
    ranks.push_back(rank);
    report.remove_prefix(static_cast<std::size_t>(stop - report.data()));
  }
  for (const int rank : ranks)
    note_seen_stopped(stopped_, {.rank = rank, .host = line.host, .last_seen = now});
  return true;
}

}  // namespace colltune
