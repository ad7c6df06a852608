// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/printable.h"

#include <algorithm>

#include "colltune/vocabulary/utf8.h"

namespace colltune {
namespace {

constexpr std::string_view digits = "0123456789abcdef";

/// The code point of one UTF-8 character.
std::uint32_t code_point(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first;
  std::uint32_t code = first & (0xFFU >> (character.size() + 1));
  for (const char c : character.substr(1)) code = code << 6U | (static_cast<unsigned char>(c) & 0x3FU);
  return code;
}

bool is_harmful(std::uint32_t code) {
  const auto within = [&](std::uint32_t first, std::uint32_t last) {
    return code >= first && code <= last;
  };
  return code < 0x20 || within(0x7F, 0x9F) ||             // C0, DEL, C1
         code == 0x061C || within(0x200E, 0x200F) ||      // marks of direction
         within(0x202A, 0x202E) || within(0x2066, 0x2069) ||  // embeddings, overrides, isolates
         within(0x2028, 0x2029);                          // separators of lines and paragraphs
}

/// How many of the first bytes are printable ASCII, which is kept as it is.
std::size_t plain_length(std::string_view text) {
  const auto* const end = std::ranges::find_if(text.data(), text.data() + text.size(),
                                               [](char c) { return c < ' ' || c > '~'; });
  return static_cast<std::size_t>(end - text.data());
}

}  // namespace

std::string printable(std::string_view text, LineEnds line_ends) {
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    // Nearly all text is plain, so it is passed on in runs and not character by character.
    if (const std::size_t plain = plain_length(text); plain > 0) {
      out += text.substr(0, plain);
      text.remove_prefix(plain);
      continue;
    }
    const std::size_t length = utf8_length(text);
    if (length == 0) {
      const auto byte = static_cast<unsigned char>(text[0]);
      out += "\\x";
      out += digits[byte >> 4U];
      out += digits[byte & 15U];
      text.remove_prefix(1);
      continue;
    }
    const std::uint32_t code = code_point(text.substr(0, length));
    const bool is_kept =
        !is_harmful(code) || (line_ends == LineEnds::keep && (code == '\n' || code == '\t'));
    if (is_kept) {
      out += text.substr(0, length);
    } else {
      out += "\\u";
      for (int shift = 12; shift >= 0; shift -= 4)
        out += digits[(code >> static_cast<unsigned>(shift)) & 15U];
    }
    text.remove_prefix(length);
  }
  return out;
}

}  // namespace colltune
