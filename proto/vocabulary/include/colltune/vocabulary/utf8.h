// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colltune {

/// The bytes of the UTF-8 character that `text`, which is not empty, begins with; 0 where it begins
/// with none.
[[nodiscard]] std::size_t utf8_length(std::string_view text);

/// Whether `text` is UTF-8.
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace colltune
