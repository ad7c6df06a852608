// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "colltune/vocabulary/environment.h"
#include "colltune/vocabulary/lookup.h"

namespace colltune {

/// A stored decision in the form shared by `show decisions --json`, `lookup --json` and the export:
/// `key`, `family`, `winner` (the printed variant), `source`, `median_ns`, `speedup_over_baseline`,
/// `generation`, `evidence` (all that is known about the winner), `alternatives` (the same for the
/// other variants, by rank), `reason`, `sweep_uuid`. `evidence` and `alternatives` say what makes
/// the variant run in its own library (`apply`), as far as it depends on `environment` only if that
/// is not null.
[[nodiscard]] nlohmann::json decision_to_json(const Decision& decision,
                                              const Generation& generation,
                                              const Environment* environment);

/// The answer to a lookup in the same form, with `match`, `measured_sizes_bytes`, `members` (how
/// the measured members compare with the asking ones), `compositions` (by the names that variants
/// give in their parameter `parts`) and `prediction` (`low_ns`, `high_ns` and `model`, or null),
/// and with `environment` if it is known.
[[nodiscard]] nlohmann::json answer_to_json(const LookupAnswer& answer,
                                            const std::optional<Environment>& environment);

}  // namespace colltune
