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

/// `colltune-agent retest`: one launch of a confirmation. Not for people; `confirm` writes it.
struct RetestOptions {
  std::filesystem::path database;
  std::string confirmation;  ///< names the set of launches that it is one of
  std::uint64_t launch = 1;  ///< which of them; also the seed of the rounds' order
  double seconds_per_key = 0.3;
  bool with_confirmed = false;  ///< measures confirmed winners, too: to check the confirmation
  std::vector<std::filesystem::path> plugins;
  std::vector<std::string> variables;  ///< as SweepOptions::variables
  std::string environment_digest;      ///< decisions of this environment alone; empty: all
  CapabilityRules rules{};
  std::chrono::seconds call_limit{};
};

/// The decisions of the newest generation that are provisional, without variants that were
/// quarantined since. A winner that was quarantined leaves its claim to the next one.
[[nodiscard]] std::vector<Decision> provisional_decisions(const StoreReader& reader);
/// The same, and those that are confirmed.
[[nodiscard]] std::vector<Decision> decisions_in_force(const StoreReader& reader);

/// Measures, for every provisional decision that this launch can check, the baseline beside the
/// winner, and stores that under a sweep of the purpose `confirm`. Publishes nothing. Collective.
/// Returns 0, or 1 where some variant was wrong or failed.
[[nodiscard]] int run_retest_command(const RetestOptions& options, const AgentProcess& process);

}  // namespace colltune
