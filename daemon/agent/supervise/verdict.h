// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "colltune/flight/flight_recorder.h"
#include "colltune/supervise/failure_log.h"
#include "colltune/supervise/in_flight_file.h"

namespace colltune {

/// Why the supervisor ended a launch, if it did.
enum class EndedFor {
  nothing,    ///< it ended by itself
  lateness,   ///< a step was late
  dead_rank,  ///< a rank had died, and the launcher did nothing about it
  lost_host,  ///< nothing went on, and a host did not answer any more
};

/// What was seen of a launch that failed.
struct LaunchEnd {
  int wait_status = 0;  ///< the launcher's
  EndedFor ended_for = EndedFor::nothing;
  std::string sweep_uuid;
  /// As they were at the first sign of the failure.
  std::vector<RankPosition> positions;
  std::vector<int> dead_first;    ///< ranks that were dead when that was seen, others not yet
  std::vector<int> missing;       ///< ranks that the others waited for, as far as known
  std::vector<LaunchHost> hosts;  ///< of the launch
  /// Those of them that answered at its start and no more when it failed.
  std::vector<LaunchHost> lost_hosts;
  /// Those that did not even answer at its start, if no earlier launch had the same finding: lost
  /// right after they joined, or behind a firewall.
  std::vector<LaunchHost> unclear_hosts;
};

/// What it means.
struct LaunchVerdict {
  Outcome outcome = Outcome::crashed;  ///< crashed or timed_out
  std::optional<FailedTrial> trial;    ///< empty where no trial was in flight
  std::int64_t cell = -1;              ///< the furthest that a rank had come
  /// A rank died without a word: killed from outside, not by a fault of its own.
  bool is_silent = false;
  std::string detail;  ///< for a person
};

/// Names the trial and the rank to blame: the rank that died by itself, else the one that the
/// others waited for, else (all in the same step) the step. Blames nobody if a host was lost, nor,
/// unless a rank of this node crashed, if one may have been. Pure.
[[nodiscard]] LaunchVerdict judge(const LaunchEnd& end);

/// "host lab1 (ranks 2, 3) does not answer any more".
[[nodiscard]] std::string describe_lost(const std::vector<LaunchHost>& hosts);

/// "exit code 137 (Killed)", "signal 15 (Terminated)".
[[nodiscard]] std::string describe_wait_status(int status);

}  // namespace colltune
