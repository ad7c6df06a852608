// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <chrono>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace colltune {

/// What a rank tells the others before its first collective call.
struct RankSetUp {
  std::map<std::string, std::string> settings;  ///< ProcessSettings::of_launch
  std::string host;                             ///< host name and boot id
  std::string pid_namespace;                    ///< PID namespace of its processes
};

/// The set-up of this process, with `settings`.
[[nodiscard]] RankSetUp describe_rank(std::map<std::string, std::string> settings);

/// Why this rank and the others of its host cannot reach each other, for a person: this rank is in
/// a PID namespace of its own, made below the launcher, where its pid may equal another rank's.
/// MPI's own messages between such ranks crash (Open MPI 4.1 takes a segment of a process with the
/// same pid for its own), so this is checked before MPI_Init, by this rank alone. Empty if all is
/// well, or if it is the only rank of its host. `proc` replaces "/proc".
[[nodiscard]] std::string why_alone(const std::function<const char*(const char*)>& environment,
                                    int process, const std::string& proc = "/proc");

/// Why ranks with these set-ups cannot be measured together, for a person; empty if they can. Names
/// ranks, variables and values. If a setting differs, MPI's ranks may run different algorithms and
/// wait for each other for ever, or rank 0's value would be recorded for all. The ranks of a host
/// also need pids that are valid for each other to access each other's memory. Pure.
[[nodiscard]] std::string why_unlike(const std::vector<RankSetUp>& ranks);

/// Collective over `world`, with only point-to-point messages, each wait bounded by `deadline`.
/// Returns why_unlike of all ranks, on all of them. Throws Error(deadline_exceeded) that names the
/// missing ranks.
[[nodiscard]] std::string compare_ranks(MPI_Comm world, const RankSetUp& own,
                                        std::chrono::steady_clock::time_point deadline);

}  // namespace colltune
