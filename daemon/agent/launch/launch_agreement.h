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
  std::string host;                             ///< name of the host and number of its boot
  std::string pid_namespace;                    ///< of its processes' numbers
};

/// This process's, with `settings`.
[[nodiscard]] RankSetUp describe_rank(std::map<std::string, std::string> settings);

/// Why this rank and the others of its host cannot reach each other, for a person: its PID
/// namespace was made below the launcher, for itself, where its number may be another rank's, too.
/// MPI's own messages between such ranks crash (Open MPI 4.1 takes a segment of a process with the
/// same number for its own), so it is found out before MPI_Init, by this rank alone. Empty where
/// all is well, and where it is the only rank of its host. `proc` replaces "/proc".
[[nodiscard]] std::string why_alone(const std::function<const char*(const char*)>& environment,
                                    int process, const std::string& proc = "/proc");

/// Why ranks that are set up so cannot be measured together, for a person; empty where they can.
/// Names ranks, variables and values: where one setting is unlike, MPI's ranks may run unlike
/// algorithms and wait for each other for ever, or rank 0's value would be recorded for all. And
/// the ranks of a host reach each other's memory by their processes' numbers. Pure.
[[nodiscard]] std::string why_unlike(const std::vector<RankSetUp>& ranks);

/// Collective over `world`, by messages between two ranks alone, each wait bounded by `deadline`.
/// Returns why_unlike of all ranks, on all of them. Throws Error(deadline_exceeded) that names who
/// is missing.
[[nodiscard]] std::string compare_ranks(MPI_Comm world, const RankSetUp& own,
                                        std::chrono::steady_clock::time_point deadline);

}  // namespace colltune
