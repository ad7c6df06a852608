// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace colltune {

enum class LineEnds { keep, escape };

/// `text` in a form that is safe for a terminal. Control characters, some of which a terminal
/// executes, and characters that change the writing direction, so that the reader sees something
/// else than what is there, become `\u001b`. Bytes that are not UTF-8 become `\x9b`. A JSON text
/// keeps its value. Tabs and line ends are kept if `line_ends` says so.
[[nodiscard]] std::string printable(std::string_view text, LineEnds line_ends = LineEnds::keep);

}  // namespace colltune
