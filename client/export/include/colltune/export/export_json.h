// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>

#include "colltune/vocabulary/composition.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/environment.h"
#include "colltune/vocabulary/world_members.h"

namespace colltune {

/// What an export is made of: one generation, or some of its decisions, and what they name. More
/// than they name does no harm. Valid while its parts are.
struct ExportSource {
  const Generation& generation;
  std::span<const Decision> decisions;
  std::span<const std::pair<std::string, Environment>> environments;
  /// Of the worlds that the decisions were measured in, by sweep and topology, where it is known.
  std::span<const WorldMembers> members = {};
  std::span<const Composition> compositions = {};
};

/// The JSON export of one generation, as configs/export.schema.json documents it: `decisions` with
/// their evidence, `tables` with one variant per range of message sizes (see size_ranges), and what
/// the decisions name: environments, compositions with their parts, and the worlds, whose ranks are
/// of the kinds that parts are for. Pure; the same source in any order gives the same document.
///
/// Throws Error(data_loss) where a decision names an environment or a composition that is not
/// given, or where a key and family come twice.
[[nodiscard]] nlohmann::json export_json(const ExportSource& source);

}  // namespace colltune
