// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>

#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/environment.h"

namespace colltune {

/// The JSON export of one generation, as configs/export.schema.json documents it: `decisions` with
/// their evidence, `tables` with one variant per range of message sizes (see size_ranges), and the
/// environments that they name. Pure; the same decisions in any order give the same document.
///
/// Throws Error(data_loss) where a decision names an environment that is not given, or where a key
/// and family come twice.
[[nodiscard]] nlohmann::json export_json(
    const Generation& generation, std::span<const Decision> decisions,
    std::span<const std::pair<std::string, Environment>> environments);

}  // namespace colltune
