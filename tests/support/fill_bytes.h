// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstring>
#include <span>

namespace colltune::test {

/// In one call: a sanitizer looks at each step of a loop.
inline void fill_bytes(std::span<std::byte> bytes, std::byte value) {
  if (!bytes.empty()) std::memset(bytes.data(), std::to_integer<int>(value), bytes.size());
}

}  // namespace colltune::test
