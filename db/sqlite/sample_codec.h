// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "connection.h"

namespace colltune::db {

/// Packs integers into a compact BLOB, in the form documented in SCHEMA.md ("Lists of numbers").
[[nodiscard]] Blob pack_numbers(std::span<const std::int64_t> numbers);

/// The inverse. Throws Error(data_loss) for anything that pack_numbers does not write.
[[nodiscard]] std::vector<std::int64_t> unpack_numbers(const Blob& blob);

}  // namespace colltune::db
