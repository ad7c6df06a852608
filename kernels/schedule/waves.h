// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "colltune/kernels/operation.h"
#include "colltune/vocabulary/problem.h"
#include "schedule.h"

namespace colltune {

/// How a call's buffers are cut into waves and blocks. All sizes in bytes. Where blocks are of
/// unlike lengths, each wave takes the same part of each block, and the last waves are those of the
/// longest ones alone.
class Waves {
 public:
  /// No two ranks write into the same line, or into the same pair of lines that a prefetcher
  /// fetches.
  static constexpr std::size_t line = 128;

  /// `blocks`: as Call::blocks. Where they are not known yet, they count as one of the whole
  /// message.
  Waves(const Problem& problem, const ScheduledCall& shape, std::size_t chunk,
        std::span<const std::size_t> blocks = {});
  /// The largest of all calls that may follow `call` (Call::capacity).
  [[nodiscard]] static Waves largest(const Call& call, const ScheduledCall& shape,
                                     std::size_t chunk);
  /// The waves of another call. Allocates nothing, unless these are the first unequal blocks.
  void use(const Problem& problem, const ScheduledCall& shape, std::size_t chunk,
           std::span<const std::size_t> blocks);

  [[nodiscard]] std::size_t count() const { return count_; }
  /// Size of the largest block of any wave, rounded up to lines.
  [[nodiscard]] std::size_t largest_block() const { return largest_block_; }

  /// The blocks of one wave.
  struct Wave {
    std::size_t offset = 0;  ///< into the message, or into each block of it
    std::size_t size = 0;    ///< of that part
    std::size_t share = 0;   ///< of a block, except for the last ones
  };
  [[nodiscard]] Wave wave(std::size_t index) const;
  /// The offset and the size of block `index` of a buffer in this wave.
  [[nodiscard]] std::size_t offset(const Wave& wave, Space space, int index) const {
    const bool has_blocks = space == Space::send ? sends_blocks_ : receives_blocks_;
    if (has_blocks)
      return wave.offset + (starts_.empty() ? static_cast<std::size_t>(index) * block_
                                            : starts_[static_cast<std::size_t>(index)]);
    return wave.offset + begin(wave, index);
  }
  /// Of a buffer with one block, `index` is the rank whose block it is.
  [[nodiscard]] std::size_t size(const Wave& wave, int index) const {
    if (!starts_.empty()) [[unlikely]]
      return part_of_block(wave, static_cast<std::size_t>(index));
    return is_split_ ? wave.size : begin(wave, index + 1) - begin(wave, index);
  }

 private:
  [[nodiscard]] std::size_t begin(const Wave& wave, int index) const {
    if (is_split_) return 0;
    const std::size_t begin = wave.share * static_cast<std::size_t>(index);
    return begin < wave.size ? begin : wave.size;
  }
  [[nodiscard]] std::size_t part_of_block(const Wave& wave, std::size_t index) const {
    const std::size_t block = starts_[index + 1] - starts_[index];
    return std::min(block, wave.offset + wave.size) - std::min(block, wave.offset);
  }

  std::size_t block_ = 0;  ///< the longest one; the whole message if it has no blocks
  std::size_t chunk_ = 0;
  std::size_t count_ = 0;
  std::size_t shares_ = 1;
  bool is_split_ = false;  ///< into a block per rank
  bool sends_blocks_ = false;
  bool receives_blocks_ = false;
  std::size_t largest_block_ = 0;
  /// Where each rank's block begins in a buffer of all blocks, and where the last one ends; empty
  /// if they are of one length.
  std::vector<std::size_t> starts_;
};

}  // namespace colltune
