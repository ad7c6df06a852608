// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace colltune {

/// Parses `text` and checks it against the JSON Schema `schema`. Throws Error(invalid_argument)
/// that names the file, the place (line and column, or JSON path), what was found and what the
/// schema allows there. Also throws for duplicate keys, more than 1 MiB of text, and nesting deeper
/// than 32.
[[nodiscard]] nlohmann::json parse_checked_json(std::string_view text, const std::string& file_name,
                                                std::string_view schema);

}  // namespace colltune
