// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <vector>

#include "colltune/journal/sweep_journal.h"
#include "colltune/sweep/measure/compat.h"
#include "launch/launch_facts.h"
#include "launch_series.h"

namespace colltune {

/// The user's request for `colltune-agent sweep`.
struct SweepOptions {
  std::filesystem::path configuration;  ///< empty: none; then there is a trace
  /// The configuration itself instead of its file: of a sweep inside a program.
  std::string configuration_text;
  std::optional<std::filesystem::path> trace;  ///< measure the calls of this trace
  std::optional<std::filesystem::path> database;
  std::optional<std::filesystem::path> results;  ///< JSON Lines
  std::optional<CompatTool> compat;              ///< use another benchmark's loop and table instead
  bool dry_run = false;
  bool quiet = false;
  bool is_wide = false;  ///< print all columns of nccl-tests
  bool allow_oversubscribe = false;
  bool gpus = false;                           ///< the ranks' buffers lie on GPUs
  bool share_gpus = false;                     ///< several ranks share a GPU, each a separate host
                                               ///< to NCCL
  std::vector<std::filesystem::path> plugins;  ///< in addition to those of the configuration
  std::vector<std::string> variables;          ///< "NAME=value", set before MPI and NCCL read them
  SeriesLaunch launch_of;                      ///< empty series: the sweep belongs to none
  CapabilityRules rules{};                     ///< about ranks: masked features, declared tags
  Resume resume = Resume::automatic;
  int most_rounds = 0;  ///< of each visit to a key; 0: the usual limit
  /// No call counts as timed out before this time, however small its modelled cost.
  std::chrono::milliseconds call_limit{};
};

/// Plans, measures, decides and publishes. Collective; throws the same Error on all ranks if one of
/// them cannot run the sweep. Returns the exit code (publication.h).
[[nodiscard]] int run_sweep_command(const SweepOptions& options, const AgentProcess& process);

}  // namespace colltune
