// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "colltune/flight/flight_recorder.h"
#include "colltune/hosts/launch_host.h"
#include "colltune/hosts/witness_watch.h"
#include "colltune/supervise/failure_log.h"

namespace colltune {

/// Why the supervisor ended a launch, if it did.
enum class EndedFor {
  nothing,    ///< it ended by itself
  lateness,   ///< a step was late
  dead_rank,  ///< a rank had died, and the launcher did not react
  lost_host,  ///< no rank took a step, and a host stopped answering
};

/// What the supervisor observed of a launch that failed.
struct LaunchEnd {
  int wait_status = 0;  ///< the launcher's
  EndedFor ended_for = EndedFor::nothing;
  std::string sweep_uuid;
  SteadyTime seen_at;  ///< the first sign of the failure
  /// The positions at that time.
  std::vector<RankPosition> positions;
  std::vector<int> dead_first;    ///< ranks that were already dead at that moment
  std::vector<int> missing;       ///< ranks that the others waited for, as far as known
  std::vector<LaunchHost> hosts;  ///< of the launch
  /// Hosts that answered at the launch's start and no longer when it failed.
  std::vector<LaunchHost> lost_hosts;
  /// Hosts that did not answer even at the launch's start, unless an earlier launch found the same:
  /// lost right after they joined, or behind a firewall.
  std::vector<LaunchHost> unclear_hosts;
  /// Ranks that were seen stopped during the launch, on any host.
  std::vector<StoppedRank> stopped;
};

/// What the observations mean.
struct LaunchVerdict {
  Outcome outcome = Outcome::crashed;  ///< crashed or timed_out
  std::optional<FailedTrial> trial;    ///< empty if no trial was in flight
  std::int64_t cell = -1;              ///< the highest that a rank had reached
  /// A rank died without recording an end: it was killed from outside, not by a fault of its own.
  bool is_silent = false;
  std::string detail;  ///< for a person
};

/// Names the trial and the rank to blame: the rank that died by itself, otherwise the one that the
/// others waited for, otherwise (if all are in the same step) the step. Blames none if a host was
/// lost. If a host may have been lost, or a rank was stopped, blames only a rank of this node that
/// crashed. Pure.
[[nodiscard]] LaunchVerdict judge(const LaunchEnd& end);

/// "host lab1 (ranks 2, 3) does not answer any more".
[[nodiscard]] std::string describe_lost(const std::vector<LaunchHost>& hosts);

/// "exit code 137 (Killed)", "signal 15 (Terminated)".
[[nodiscard]] std::string describe_wait_status(int status);

}  // namespace colltune
