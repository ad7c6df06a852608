// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <vector>

#include "colltune/hosts/launch_host.h"

namespace colltune {

/// Checks whether the other hosts of a launch are reachable. A host that is off or whose cable was
/// cut makes a trial late just as a hanging variant does, and no process on this side can tell. The
/// check is a TCP connection to port 22, which launchers use: the host answers by accepting or
/// refusing. Its kernel does so, whatever its processes do.
class HostWatch {
 public:
  /// Probes all `hosts`.
  explicit HostWatch(std::vector<HostAddress> hosts);

  /// The hosts that answered in the constructor and do not answer now. Takes `patience` if one does
  /// not answer, otherwise one round trip.
  [[nodiscard]] std::vector<LaunchHost> find_silent() const;

  /// The hosts that did not answer in the constructor: hidden by a firewall, or lost in the moments
  /// since they joined the launch. A single launch cannot distinguish the two.
  [[nodiscard]] const std::vector<LaunchHost>& silent_from_the_start() const {
    return silent_from_the_start_;
  }

  static constexpr std::chrono::milliseconds patience{2000};

 private:
  std::vector<HostAddress> peers_;  ///< those that answered in the constructor
  std::vector<LaunchHost> silent_from_the_start_;
};

}  // namespace colltune
