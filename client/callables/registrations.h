// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "colltune/callables.h"

namespace colltune {

/// Prefix of the variants' names and of the families.
inline constexpr const char* callables_prefix = "python";

/// A description as the plug-in interface takes it, with defaults filled in: its name is
/// <collective>_<name>. Throws Error(invalid_argument).
[[nodiscard]] nlohmann::json described_entry(const colltune_callable& callable);

/// "python:<name>" of an entry's name and collective.
[[nodiscard]] std::string family_of_entry(const nlohmann::json& entry);

/// The entries of all ranks, each name once, sorted by name. Throws Error(invalid_argument) that
/// names the rank, if two ranks describe one name unlike. Pure.
[[nodiscard]] std::vector<nlohmann::json> merge_entries(
    std::span<const std::vector<nlohmann::json>> by_rank);

}  // namespace colltune
