// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <poll.h>

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/flight/flight_recorder.h"
#include "colltune/hosts/launch_host.h"
#include "colltune/machine/descriptor.h"

namespace colltune {

/// A rank that was seen stopped, by SIGSTOP or a debugger.
struct StoppedRank {
  int rank = 0;
  std::string host;
  SteadyTime last_seen;  ///< by this host's clock
};

/// Adds a rank to those that were seen stopped, or updates when it was.
void note_seen_stopped(std::vector<StoppedRank>& stopped, const StoppedRank& seen);

/// The supervisor's connections to the witnesses of other hosts. Never waits. A witness that cannot
/// be reached, or does not answer as one, is given up: nothing is known about its ranks then.
class WitnessWatch {
 public:
  /// Begins to connect to each host that has a witness.
  WitnessWatch(const std::vector<HostAddress>& hosts, std::string_view token);

  /// Adds descriptors to poll, which become readable or writable when take_reports has something
  /// to do.
  void append_poll(std::vector<pollfd>& polled) const;
  void take_reports(SteadyTime now);

  /// Every rank that a witness has seen stopped so far.
  [[nodiscard]] const std::vector<StoppedRank>& stopped() const { return stopped_; }

 private:
  struct Line {
    std::string host;
    std::set<int> ranks;
    Descriptor socket;  ///< none: given up
    bool is_connected = false;
    std::string text;  ///< the beginning of a line whose end has not come
  };
  [[nodiscard]] bool continue_line(Line& line, SteadyTime now);
  [[nodiscard]] bool introduce(Line& line) const;
  [[nodiscard]] bool take_text(Line& line, SteadyTime now);
  [[nodiscard]] bool take_report(const Line& line, std::string_view report, SteadyTime now);

  std::string token_;
  std::vector<Line> lines_;
  std::vector<StoppedRank> stopped_;
};

}  // namespace colltune
