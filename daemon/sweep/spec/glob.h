// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace colltune {

/// Whether `pattern` matches all of `text`: * stands for any text, ? for any one character.
[[nodiscard]] bool matches_glob(std::string_view pattern, std::string_view text);

}  // namespace colltune
