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

/// What `colltune-agent supervise` was asked for.
struct SuperviseOptions {
  std::filesystem::path database;    ///< the same as the launch's --db
  std::vector<std::string> command;  ///< the launch: mpirun, srun, …
  int failures = 2;                  ///< after which a variant is quarantined for the key
  int launches = 100;                ///< at most
  /// Launches that may fail one after the other without getting further: no trial to blame and no
  /// new cell reached, or a trial that fails although it is quarantined.
  int fruitless_launches = 5;
  /// Launches of which the system killed a rank because memory ran out, after which it is given up:
  /// the environment's fault, of which no variant is blamed.
  int memory_kills = 3;
  /// That a step may be late before the supervisor ends the launch. Longer than a watchdog's grace,
  /// so that the ranks can say themselves who was where.
  std::chrono::milliseconds grace{1000};
  /// Between SIGTERM and SIGKILL: a launcher ends its ranks on other hosts meanwhile (Open MPI
  /// 4.1.4 needs a little over one second).
  std::chrono::milliseconds patience{3000};
  /// Until the first rank must have begun; 0: no limit (a launch that waits in a batch queue).
  std::chrono::milliseconds start_patience{600'000};
  /// That the launch may take to end once everything is stored; 0: no limit (agents that go on to
  /// serve).
  std::chrono::milliseconds finish_patience{60'000};
  /// That a host that does not answer any more may take to come back, before the supervision is
  /// given up.
  std::chrono::milliseconds host_patience{30'000};
  /// That the agent may take to end after the user's SIGINT, SIGTERM or SIGHUP.
  std::chrono::milliseconds farewell{10000};
};

/// Who is told what happens.
struct SuperviseTools {
  FailureLog& failures;
  const SupervisionLock& lock;                       ///< on the database
  std::function<void(const std::string& text)> say;  ///< for a person; whole lines
  /// How many processes the system has killed so far because memory ran out (own_memory_kills);
  /// nothing where nobody counts.
  std::function<std::optional<std::uint64_t>()> memory_kills = [] {
    return std::optional<std::uint64_t>();
  };
};

/// Launches `options.command` until it ends in order, however often its ranks crash or hang: sees
/// the failure, ends all processes of the launch, records the trial that was in flight and starts
/// it again (the agent resumes by itself). Passes on SIGINT, SIGTERM, SIGHUP (which also end the
/// supervision), SIGUSR1 and SIGUSR2. If this process is killed, all processes of the launch on
/// this host end, and the launcher ends those on others.
///
/// The calling process has no other children, one thread, and calls run_launch_helper() first thing
/// in main. Throws Error(invalid_argument) without a command, and what the failure log throws.
///
/// Returns the exit code:
///   0       the sweep is complete
///   1       it is complete, but variants were quarantined, or the agent found some wrong or failed
///   2, 3, 5 the launch refused its input or the database, or nothing could be measured (the
///           agent's codes); not repeated
///   4       given up: too many launches, or launches that get nowhere, or memory runs out, or a
///           host that does not come back
///   6       it ended by its budget before it came to all keys (the agent's code)
///   128+n   ended by signal n; the database is resumable
[[nodiscard]] int supervise(const SuperviseOptions& options, const SuperviseTools& tools);

}  // namespace colltune
