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

/// The user's request for `colltune-agent confirm`.
struct ConfirmOptions {
  std::filesystem::path database;
  int launches = 5;
  double seconds_per_key = 0.3;
  std::optional<double> most_kept_waiting{};  ///< ConfirmPolicy::most_kept_waiting; null: its
                                              ///< default
  std::vector<std::filesystem::path> plugins;
  CapabilityRules rules{};  ///< those of the sweep, so that its worlds are formed again
  /// Set in the launches' environment, "NAME=value".
  std::vector<std::string> variables{};
  /// Only decisions of this environment; empty: all.
  std::string environment_digest{};
  /// The launcher's command up to and including the agent.
  std::vector<std::string> command;
  std::chrono::milliseconds call_limit{};
};

/// The most sets of launches: after this many vetoes of one decision its baseline stays.
constexpr int most_confirm_sets = 3;

/// Measures the winners of the newest generation's provisional decisions again, each together with
/// its baseline, in fresh launches. Publishes what they show (confirm() in colltune/decide): first
/// a set of `launches` launches, then another set for the decisions whose winner was vetoed and has
/// a successor. Each set publishes one generation. Every launch is supervised: a hang or crash of a
/// winner is recorded, and if it recurs the winner is quarantined.
///
/// `lock`: on the database.
/// `say` gets whole lines for a person. The calling process must be as for supervise(). Throws what
/// the database throws. Returns the exit code: 0; 1 if a variant was wrong, failed or was
/// quarantined in a launch; otherwise supervise()'s code for the launch that could not be made.
/// What was published before stays.
[[nodiscard]] int run_confirm_command(const ConfirmOptions& options, const SupervisionLock& lock,
                                      const std::function<void(const std::string&)>& say);

}  // namespace colltune
