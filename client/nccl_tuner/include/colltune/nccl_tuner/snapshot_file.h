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

/// What NCCL is to do in the calls that match. What a tuner is told is all that a rule can ask
/// about: no data type, no operator, no root.
struct NcclRule {
  nccl::Function function = nccl::Function::all_reduce;
  int ranks = 0;
  int nodes = 0;
  std::optional<int> pipe_operations;  ///< NCCL's estimate of calls in a group; nothing: any
  std::optional<bool> registered;      ///< both buffers; nothing: either
  Bytes min_message;
  Bytes max_message;  ///< inclusive
  nccl::Choice choice;
  float time_us = 0;  ///< measured; stands in NCCL's table

  friend bool operator==(const NcclRule&, const NcclRule&) = default;
};

struct NcclSnapshot {
  std::uint64_t generation = 0;
  std::vector<NcclRule> rules;

  friend bool operator==(const NcclSnapshot&, const NcclSnapshot&) = default;
};

/// The file's bytes: the same for the same rules in whatever order. Throws Error(invalid_argument)
/// where a rule says what NCCL cannot be asked, or two rules are for one call.
[[nodiscard]] std::vector<std::byte> encode(const NcclSnapshot& snapshot);
/// Throws Error(data_loss) with what is damaged.
[[nodiscard]] NcclSnapshot decode_nccl_snapshot(std::span<const std::byte> bytes);
/// As COLLTUNE_NCCL_SNAPSHOT_DIGEST takes it: 32 hexadecimal digits. `bytes` are a whole snapshot.
[[nodiscard]] std::string digest_text(std::span<const std::byte> bytes);

/// Writes beside `path` and renames, so that a process that reads the old file keeps it; returns
/// the digest. Throws Error with the path where the file system refuses.
std::string write_nccl_snapshot(const std::filesystem::path& path, const NcclSnapshot& snapshot);

}  // namespace colltune
