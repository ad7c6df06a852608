// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include "colltune/vocabulary/decision_set.h"

namespace colltune {

/// The JSON export of one generation, or of some of its decisions, as configs/export.schema.json
/// documents it: `decisions` with their evidence, `tables` with one variant per range of message
/// sizes (see size_ranges), and what the decisions name: environments, compositions with their
/// parts, and the worlds, whose ranks are of the kinds that parts are for. Pure; the same source in
/// any order gives the same document.
///
/// Throws Error(data_loss) where a decision names an environment or a composition that is not
/// given, or where a key and family come twice.
[[nodiscard]] nlohmann::json export_json(const DecisionSet& source);

}  // namespace colltune
