// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "sample_codec.h"

namespace colltune::db {
namespace {

constexpr std::byte format_version{1};

void put_varint(Blob& blob, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    blob.bytes.push_back(static_cast<std::byte>((value & 0x7f) | 0x80));
  blob.bytes.push_back(static_cast<std::byte>(value));
}

[[noreturn]] void fail(const char* what) {
  throw Error(StatusCode::data_loss, std::string("a list of numbers ") + what);
}

std::uint64_t get_varint(std::span<const std::byte>& rest) {
  std::uint64_t value = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    if (rest.empty()) fail("ends early");
    const auto byte = std::to_integer<std::uint64_t>(rest.front());
    rest = rest.subspan(1);
    if (shift == 63 && byte > 1) fail("holds a number beyond 64 bits");
    value |= (byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  fail("holds a number beyond 64 bits");
}

/// Maps small numbers of either sign to small unsigned ones. The differences wrap modulo 2^64.
constexpr std::uint64_t zigzag(std::uint64_t value) {
  return (value << 1) ^ (value >> 63 ? ~std::uint64_t{0} : 0);
}
constexpr std::uint64_t unzigzag(std::uint64_t value) {
  return (value >> 1) ^ (value & 1 ? ~std::uint64_t{0} : 0);
}

}  // namespace

Blob pack_numbers(std::span<const std::int64_t> numbers) {
  Blob blob;
  blob.bytes.push_back(format_version);
  put_varint(blob, numbers.size());
  std::uint64_t previous = 0;
  for (const std::int64_t number : numbers) {
    const auto now = static_cast<std::uint64_t>(number);
    put_varint(blob, zigzag(now - previous));
    previous = now;
  }
  return blob;
}

std::vector<std::int64_t> unpack_numbers(const Blob& blob) {
  std::span<const std::byte> rest(blob.bytes);
  if (rest.empty() || rest.front() != format_version) fail("has an unknown format");
  rest = rest.subspan(1);
  const std::uint64_t count = get_varint(rest);
  if (count > rest.size()) fail("is shorter than its count");
  std::vector<std::int64_t> numbers;
  numbers.reserve(count);
  std::uint64_t previous = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    previous += unzigzag(get_varint(rest));
    numbers.push_back(static_cast<std::int64_t>(previous));
  }
  if (!rest.empty()) fail("is longer than its count");
  return numbers;
}

}  // namespace colltune::db
