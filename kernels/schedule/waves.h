// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "colltune/kernels/operation.h"
#include "colltune/vocabulary/problem.h"
#include "schedule.h"

namespace colltune {

/// How a call's buffers are cut into waves and blocks. All sizes in bytes.
class Waves {
 public:
  /// No two ranks write into the same line, or into the same pair of lines that a prefetcher
  /// fetches.
  static constexpr std::size_t line = 128;

  Waves(const Problem& problem, const ScheduledCall& shape, std::size_t chunk);
  /// The largest of all calls that may follow `call` (Call::capacity).
  [[nodiscard]] static Waves largest(const Call& call, const ScheduledCall& shape,
                                     std::size_t chunk);

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
    if (has_blocks) return wave.offset + static_cast<std::size_t>(index) * block_;
    return wave.offset + begin(wave, index);
  }
  [[nodiscard]] std::size_t size(const Wave& wave, int index) const {
    return is_split_ ? wave.size : begin(wave, index + 1) - begin(wave, index);
  }

 private:
  [[nodiscard]] std::size_t begin(const Wave& wave, int index) const {
    if (is_split_) return 0;
    const std::size_t begin = wave.share * static_cast<std::size_t>(index);
    return begin < wave.size ? begin : wave.size;
  }

  std::size_t block_;  ///< the whole message if it has no blocks
  std::size_t chunk_;
  std::size_t count_;
  std::size_t shares_;
  bool is_split_;  ///< into a block per rank
  bool sends_blocks_;
  bool receives_blocks_;
  std::size_t largest_block_ = 0;
};

}  // namespace colltune
