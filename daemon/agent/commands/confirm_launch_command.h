// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "colltune/db/store.h"
#include "launch/launch_facts.h"

namespace colltune {

/// `colltune-agent confirm-launch`: one launch of a confirmation. `confirm` builds this command;
/// not for people.
struct ConfirmLaunchOptions {
  std::filesystem::path database;
  std::string confirmation;  ///< names the set of launches that this one belongs to
  std::uint64_t launch = 1;  ///< its number in the set; also the seed of the rounds' order
  double seconds_per_key = 0.3;
  bool with_confirmed = false;  ///< also measures confirmed winners, to check the confirmation
  std::vector<std::filesystem::path> plugins;
  std::vector<std::string> variables;  ///< as in SweepOptions::variables
  std::string environment_digest;      ///< only decisions of this environment; empty: all
  CapabilityRules rules{};
  std::chrono::milliseconds call_limit{};
};

/// The provisional decisions of the newest generation, without variants that were quarantined
/// since. If a winner was quarantined, the next variant takes its place.
[[nodiscard]] std::vector<Decision> provisional_decisions(const StoreReader& reader);
/// The same, and the confirmed decisions.
[[nodiscard]] std::vector<Decision> decisions_in_force(const StoreReader& reader);

/// For every provisional decision that this launch can check, measures the baseline and the winner,
/// and stores the result under a sweep of the purpose `confirm`. Publishes nothing. Collective.
/// Returns 0, or 1 if some variant was wrong or failed.
[[nodiscard]] int run_confirm_launch_command(const ConfirmLaunchOptions& options,
                                             const AgentProcess& process);

}  // namespace colltune
