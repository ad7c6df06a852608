// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace colltune {

enum class LineEnds { keep, escape };

/// `text` as it may reach a terminal: control characters (a terminal obeys some of them) and those
/// that change the direction of writing (what is read is not what is there) become `\u001b`, bytes
/// that are no UTF-8 `\x9b`. A JSON text stays one of the same value. Tabulators and line ends stay
/// where `line_ends` says so.
[[nodiscard]] std::string printable(std::string_view text, LineEnds line_ends = LineEnds::keep);

}  // namespace colltune
