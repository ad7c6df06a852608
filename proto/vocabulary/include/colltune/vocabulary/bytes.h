// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace colltune {

/// A number of bytes. Sums and products are checked: sizes come from configurations and from other
/// ranks, and one that wrapped around would lead to a far too small allocation. Throws
/// Error(out_of_range) that names both operands.
struct Bytes {
  std::uint64_t value = 0;

  friend constexpr auto operator<=>(const Bytes&, const Bytes&) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) {
    Bytes sum;
    if (__builtin_add_overflow(a.value, b.value, &sum.value)) throw_too_large(a, '+', b.value);
    return sum;
  }
  friend constexpr Bytes operator*(Bytes a, std::uint64_t n) {
    Bytes product;
    if (__builtin_mul_overflow(a.value, n, &product.value)) throw_too_large(a, '*', n);
    return product;
  }

 private:
  [[noreturn]] static void throw_too_large(Bytes left, char operation, std::uint64_t right);
};

/// Reads "64KiB", "64K", "1M", "3GiB" or plain bytes. K, M, G, T are powers of 1024, as in
/// nccl-tests. Throws Error(invalid_argument) for anything else, for decimal units ("1MB"), and
/// beyond 2^63-1.
[[nodiscard]] Bytes parse_bytes(std::string_view text);

/// The shortest exact form that parse_bytes reads back: "64KiB", "1MiB", "1000".
[[nodiscard]] std::string format_bytes(Bytes bytes);

}  // namespace colltune
