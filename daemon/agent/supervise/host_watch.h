// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/socket.h>

#include <chrono>
#include <string>
#include <vector>

#include "colltune/supervise/in_flight_file.h"

namespace colltune {

/// Whether the other hosts of a launch are there: a host whose cable was cut, or that is off, makes
/// a trial late as a variant that hangs does, and no process on this side can tell. It is asked for
/// a TCP connection to its port 22 (as launchers use), and answers by accepting or by refusing it:
/// its kernel does so, whatever its processes do.
class HostWatch {
 public:
  /// Looks which of `hosts`, this one left out, answer now. Of the others, behind a firewall or
  /// without a name that is known here, nothing is ever said.
  explicit HostWatch(const std::vector<LaunchHost>& hosts);

  /// Those that answered then and do not now. Takes `patience` where one does not, else as long as
  /// the way there and back.
  [[nodiscard]] std::vector<LaunchHost> find_silent() const;

  static constexpr std::chrono::milliseconds patience{2000};

 private:
  struct Peer {
    LaunchHost host;
    sockaddr_storage address{};
    socklen_t address_size = 0;
  };
  std::vector<Peer> peers_;
};

}  // namespace colltune
