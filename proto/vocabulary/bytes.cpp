// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/bytes.h"

#include <array>
#include <charconv>
#include <limits>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

constexpr std::string_view unit_letters = "KMGT";

[[noreturn]] void fail(std::string_view text) {
  throw Error(StatusCode::invalid_argument,
              "'" + std::string(text) +
                  "' is not a size; write plain bytes, or a whole number with K, M, G or T (powers "
                  "of 1024), as in 512, 64KiB, 1M");
}

}  // namespace

void Bytes::throw_too_large(Bytes left, char operation, std::uint64_t right) {
  throw Error(StatusCode::out_of_range, std::to_string(left.value) + " " + operation + " " +
                                            std::to_string(right) +
                                            " bytes is more than 64 bits can count");
}

Bytes parse_bytes(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) fail(text);
  std::string_view unit(end, static_cast<std::size_t>(text.data() + text.size() - end));
  unsigned shift = 0;
  if (!unit.empty() && unit != "B") {
    const auto power = unit_letters.find(unit.front());
    if (power == std::string_view::npos) fail(text);
    unit.remove_prefix(1);
    if (!unit.empty() && unit != "iB") fail(text);
    shift = 10 * (static_cast<unsigned>(power) + 1);
  }
  constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
  if (number > (most >> shift)) fail(text);
  return {number << shift};
}

std::string format_bytes(Bytes bytes) {
  std::uint64_t number = bytes.value;
  std::size_t power = 0;
  while (number != 0 && number % 1024 == 0 && power < unit_letters.size()) {
    number /= 1024;
    ++power;
  }
  std::string text = std::to_string(number);
  if (power > 0) {
    text += unit_letters[power - 1];
    text += "iB";
  }
  return text;
}

}  // namespace colltune
