// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "colltune/vocabulary/decision_set.h"

namespace colltune {

/// The JSON export of one generation, or of some of its decisions, as documented in
/// configs/export.schema.json. It has `decisions` with their evidence, and `tables` with one
/// variant per range of message sizes (see size_ranges). It also has everything that the decisions
/// name: environments, compositions with their parts, and worlds, whose ranks are of the kinds that
/// parts are for. Pure; the order of the source does not affect the document.
///
/// Throws Error(data_loss) if a decision names an environment or a composition that is missing, or
/// if a key and family occur twice.
[[nodiscard]] nlohmann::json export_json(const DecisionSet& source);

}  // namespace colltune
