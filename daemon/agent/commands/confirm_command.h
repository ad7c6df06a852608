// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "colltune/supervise/supervision_lock.h"
#include "colltune/sweep/ranks/capability_rules.h"

namespace colltune {

/// `colltune-agent confirm` as the user asked for it.
struct ConfirmOptions {
  std::filesystem::path database;
  int launches = 5;
  double seconds_per_key = 0.3;
  std::optional<double> most_kept_waiting{};  ///< ConfirmPolicy::most_kept_waiting; null: as there
  std::vector<std::filesystem::path> plugins;
  CapabilityRules rules{};  ///< of the sweep, so that its worlds come again
  /// Set in the launches' environment, "NAME=value".
  std::vector<std::string> variables{};
  /// Decisions of this environment alone; empty: all.
  std::string environment_digest{};
  /// The launcher's command up to and including the agent.
  std::vector<std::string> command;
  std::chrono::seconds call_limit{};
};

/// Sets of launches at most: after as many vetoes of one decision its baseline stays.
constexpr int most_confirm_sets = 3;

/// Measures the winners of the newest generation's provisional decisions again, each beside its
/// baseline, in fresh launches, and publishes what they say (confirm() in colltune/decide): a set
/// of `launches` launches, and another set for those whose winner was vetoed and has a successor.
/// Each set publishes one generation. Every launch is supervised: a hang or a crash of a winner is
/// recorded, and quarantines it when it comes again.
///
/// `lock`: on the database.
/// `say` gets whole lines for a person. The calling process is as for supervise(). Throws what the
/// database throws. Returns the exit code: 0; 1 where a variant was wrong, failed or was
/// quarantined in a launch; else supervise()'s of the launch that could not be made: what was
/// published before stays.
[[nodiscard]] int run_confirm_command(const ConfirmOptions& options, const SupervisionLock& lock,
                                      const std::function<void(const std::string&)>& say);

}  // namespace colltune
