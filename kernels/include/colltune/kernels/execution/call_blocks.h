// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace colltune {

/// The blocks of the ranks in the latest call of a program with one for each.
class CallBlocks {
 public:
  /// Makes room: `set` allocates nothing then.
  void reserve(std::size_t ranks) {
    sizes_.reserve(ranks);
    starts_.reserve(ranks + 1);
  }
  /// `counts` elements of `unit` bytes each. Returns the bytes of all blocks together.
  std::size_t set(std::span<const int> counts, std::size_t unit) {
    sizes_.clear();
    starts_.assign(1, 0);
    for (const int count : counts) {
      sizes_.push_back(static_cast<std::size_t>(count) * unit);
      starts_.push_back(starts_.back() + sizes_.back());
    }
    return starts_.back();
  }
  /// Bytes of each rank's block.
  [[nodiscard]] const std::vector<std::size_t>& sizes() const { return sizes_; }
  /// Where each begins in a buffer of all, and where the last one ends, in bytes.
  [[nodiscard]] const std::vector<std::size_t>& starts() const { return starts_; }

 private:
  std::vector<std::size_t> sizes_;
  std::vector<std::size_t> starts_;
};

}  // namespace colltune
