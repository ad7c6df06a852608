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
  /// Asks all `hosts` except this one. A host whose name is not known here is left out.
  explicit HostWatch(const std::vector<LaunchHost>& hosts);

  /// The hosts that answered the constructor and do not answer now. Takes `patience` if one does
  /// not answer, else one round trip.
  [[nodiscard]] std::vector<LaunchHost> find_silent() const;

  /// The hosts that did not answer the constructor: a firewall hides them, or they were lost since
  /// they joined the launch, moments before. One launch cannot tell these apart.
  [[nodiscard]] const std::vector<LaunchHost>& silent_from_the_start() const {
    return silent_from_the_start_;
  }

  static constexpr std::chrono::milliseconds patience{2000};

 private:
  struct Peer {
    LaunchHost host;
    sockaddr_storage address{};
    socklen_t address_size = 0;
  };
  std::vector<Peer> peers_;  ///< those that answered the constructor
  std::vector<LaunchHost> silent_from_the_start_;
};

}  // namespace colltune
