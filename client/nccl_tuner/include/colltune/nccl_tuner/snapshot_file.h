// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "colltune/nccl/choice.h"
#include "colltune/vocabulary/bytes.h"

namespace colltune {

/// What NCCL should do in the calls that match. A rule can only ask about what a tuner is told,
/// which excludes the data type, the operator and the root.
struct NcclRule {
  nccl::Function function = nccl::Function::all_reduce;
  int ranks = 0;
  int nodes = 0;
  std::optional<int> pipe_operations;  ///< NCCL's estimate of calls in a group; empty: any
  std::optional<bool> registered;      ///< both buffers; empty: either
  Bytes min_message;
  Bytes max_message;  ///< inclusive
  nccl::Choice choice;
  float time_us = 0;  ///< measured; written into NCCL's table

  friend bool operator==(const NcclRule&, const NcclRule&) = default;
};

struct NcclSnapshot {
  std::uint64_t generation = 0;
  std::vector<NcclRule> rules;

  friend bool operator==(const NcclSnapshot&, const NcclSnapshot&) = default;
};

/// The bytes of the file; they do not depend on the order of the rules. Throws
/// Error(invalid_argument) if a rule demands what NCCL cannot be asked for, or two rules apply to
/// one call.
[[nodiscard]] std::vector<std::byte> encode(const NcclSnapshot& snapshot);
/// Throws Error(data_loss) that says what is damaged.
[[nodiscard]] NcclSnapshot decode_nccl_snapshot(std::span<const std::byte> bytes);
/// The form that COLLTUNE_NCCL_SNAPSHOT_DIGEST takes: 32 hexadecimal digits. `bytes` must be a
/// whole snapshot.
[[nodiscard]] std::string digest_text(std::span<const std::byte> bytes);

/// Writes a temporary file next to `path` and renames it, so that a process that reads the old file
/// keeps it; returns the digest. Throws Error with the path if the file system refuses.
std::string write_nccl_snapshot(const std::filesystem::path& path, const NcclSnapshot& snapshot);

}  // namespace colltune
