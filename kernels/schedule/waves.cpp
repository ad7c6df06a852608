// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "waves.h"

#include <algorithm>

#include "arithmetic/round_up.h"

namespace colltune {

Waves::Waves(const Problem& problem, const ScheduledCall& shape, std::size_t chunk,
             std::span<const std::size_t> blocks) {
  use(problem, shape, chunk, blocks);
}

void Waves::use(const Problem& problem, const ScheduledCall& shape, std::size_t chunk,
                std::span<const std::size_t> lengths) {
  starts_.clear();
  if (problem.counts == Counts::equal) {
    block_ = block_elements(problem, shape.ranks) * size_of(problem.data_type);
  } else if (lengths.empty()) {
    block_ = problem.message_size.value;
  } else {
    block_ = std::ranges::max(lengths);
    std::size_t start = 0;
    starts_.reserve(lengths.size() + 1);
    for (const std::size_t length : lengths) {
      starts_.push_back(start);
      start += length;
    }
    starts_.push_back(start);
  }
  chunk_ = chunk == 0 ? block_ : std::min(chunk, block_);
  count_ = block_ == 0 ? 0 : (block_ + chunk_ - 1) / chunk_;
  shares_ = static_cast<std::size_t>(shape.shares);
  const BlockLayout blocks = shape_of(problem.collective);
  sends_blocks_ = blocks.sends_block_per_rank;
  receives_blocks_ = blocks.receives_block_per_rank;
  is_split_ = blocks.has_block_per_rank();
  largest_block_ = 0;
  if (count_ > 0) largest_block_ = round_up(is_split_ ? chunk_ : wave(0).share, line);
}

Waves Waves::largest(const Call& call, const ScheduledCall& shape, std::size_t chunk) {
  if (call.capacity == Bytes{}) return {call.problem, shape, chunk, call.blocks};
  Problem problem = call.problem;
  problem.message_size = call.capacity;
  problem.data_type = DataType::u8;  // the one whose blocks are never rounded down
  return {problem, shape, chunk};
}

Waves::Wave Waves::wave(std::size_t index) const {
  Wave wave;
  wave.offset = index * chunk_;
  wave.size = std::min(chunk_, block_ - wave.offset);
  // The shares of the last ranks may be empty.
  wave.share = shares_ == 1 ? wave.size : round_up((wave.size + shares_ - 1) / shares_, line);
  return wave;
}

}  // namespace colltune
