// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace colltune {

/// The length in bytes of the UTF-8 character at the start of `text`, which must not be empty; 0 if
/// there is none.
[[nodiscard]] std::size_t utf8_length(std::string_view text);

/// Whether `text` is UTF-8.
[[nodiscard]] bool is_utf8(std::string_view text);

}  // namespace colltune
