// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "colltune/supervise/failure_log.h"
#include "colltune/supervise/supervision_lock.h"

namespace colltune {

/// The user's request for `colltune-agent supervise`.
struct SuperviseOptions {
  std::filesystem::path database;    ///< the database given to the launch as --db
  std::vector<std::string> command;  ///< the launch: mpirun, srun, …
  int failures = 2;                  ///< number after which a variant is quarantined for the key
  int launches = 100;                ///< the most launches
  /// The most launches in a row that may fail without progress: no trial to blame and no new cell
  /// reached, or a failure of a trial that is quarantined already.
  int fruitless_launches = 5;
  /// Gives up after this many launches in which the system killed a rank because memory ran out.
  /// That is the environment's fault, so no variant is blamed.
  int memory_kills = 3;
  /// How late a step may be before the supervisor ends the launch. Longer than a watchdog's grace,
  /// so that the ranks can first report where each was.
  std::chrono::milliseconds grace{1000};
  /// Time between SIGTERM and SIGKILL, in which a launcher ends its ranks on other hosts (Open MPI
  /// 4.1.4 needs a little over one second).
  std::chrono::milliseconds patience{3000};
  /// Time by which the first rank must have begun; 0: no limit (a launch that waits in a batch
  /// queue).
  std::chrono::milliseconds start_patience{600'000};
  /// How long the launch may take to end once everything is stored; 0: no limit (agents that go on
  /// to serve).
  std::chrono::milliseconds finish_patience{60'000};
  /// How long a host that stopped answering may take to come back before the supervision is given
  /// up.
  std::chrono::milliseconds host_patience{30'000};
  /// How long the agent may take to end after the user's SIGINT, SIGTERM or SIGHUP.
  std::chrono::milliseconds farewell{10000};
};

/// What the supervisor reports to, and the facilities that it uses.
struct SuperviseTools {
  FailureLog& failures;
  const SupervisionLock& lock;                       ///< on the database
  std::function<void(const std::string& text)> say;  ///< for a person; whole lines
  /// How many processes the system has killed so far because memory ran out (own_memory_kills);
  /// nothing if that is not counted.
  std::function<std::optional<std::uint64_t>()> memory_kills = [] {
    return std::optional<std::uint64_t>();
  };
};

/// Launches `options.command` until it ends normally, however often its ranks crash or hang. On a
/// failure it ends all processes of the launch, records the trial that was in flight, and launches
/// again (the agent resumes by itself). Passes on SIGINT, SIGTERM, SIGHUP (which also end the
/// supervision), SIGUSR1 and SIGUSR2. If this process is killed, all processes of the launch on
/// this host end, and the launcher ends those on other hosts.
///
/// The calling process has no other children, one thread, and calls run_launch_helper() first in
/// main. Throws Error(invalid_argument) without a command, and what the failure log throws.
///
/// Returns the exit code:
///   0       the sweep is complete
///   1       it is complete, but variants were quarantined, or the agent found some wrong or failed
///   2, 3, 5 the launch refused its input or the database, or nothing could be measured (the
///           agent's codes); not repeated
///   4       given up: too many launches, launches without progress, memory that ran out, or a host
///           that does not come back
///   6       the budget ran out before all keys were measured (the agent's code)
///   128+n   ended by signal n; the same command resumes the sweep
[[nodiscard]] int supervise(const SuperviseOptions& options, const SuperviseTools& tools);

}  // namespace colltune
