// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "colltune/decide/decision_policy.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// Ranks the variants of each key: once for all families together and once for each family that has
/// a variant that may rank. Pure; replayable with another policy. The order of `measurements` does
/// not matter.
///
/// Only variants with outcome `ok`, samples and verified calls rank, by their median. A rival
/// replaces the baseline where it is faster by the minimum margin and its ratio to the baseline in
/// the same rounds exceeds 1 with confidence (order statistics, divided by the number of rivals);
/// otherwise the baseline stays. In a family without a baseline of its own the fastest wins and
/// speed-ups refer to the key's baseline. Decisions come ordered by key, `any_family` first.
/// Throws Error(invalid_argument) where a trial occurs twice.
[[nodiscard]] std::vector<Decision> decide(std::span<const Measurement> measurements,
                                           const DecisionPolicy& policy,
                                           const std::string& sweep_uuid);

}  // namespace colltune
