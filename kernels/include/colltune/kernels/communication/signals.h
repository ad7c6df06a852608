// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "colltune/kernels/arithmetic/copy.h"
#include "colltune/kernels/communicator.h"

namespace colltune {

/// Words in symmetric memory by which ranks tell each other how far they are. Each word has one
/// writer, its owner, and a cache line pair of its own; its value is an epoch that only grows, so
/// that nothing is ever reset and no wait can miss it. Whatever the owner wrote before `set` is
/// visible to who returns from `wait_until` (release and acquire; no fences). Not thread-safe: one
/// object per rank.
class Signals {
 public:
  /// Distance of words: two cache lines, since the prefetcher of x86-64 fetches pairs.
  static constexpr std::size_t stride = 128;
  /// Bytes that `words` signals take in each rank's part.
  [[nodiscard]] static constexpr std::size_t size(int words) {
    return static_cast<std::size_t>(words) * stride;
  }

  /// The signals that start at `offset` (a multiple of `stride`) of every part of `memory`, which
  /// was allocated on `communicator`. Both outlive this object. `stores` is how their user writes
  /// what they announce: non-temporal stores are fenced in `set`.
  Signals(const Communicator& communicator, const SymmetricMemory& memory, std::size_t offset,
          CopyMode stores = CopyMode::cached);

  /// Sets this rank's word to `epoch`, which is not less than before.
  void set(int word, std::uint64_t epoch) const noexcept;
  /// The epoch that the word of `rank`, which shares this rank's node, has reached.
  [[nodiscard]] std::uint64_t get(int rank, int word) const noexcept;
  /// Returns when `rank`'s word has reached `epoch`. Throws RankMissing with `waiting_for` at the
  /// deadline, or where the abort flag is raised.
  void wait_until(int rank, int word, std::uint64_t epoch, Deadline deadline,
                  std::string_view waiting_for) const;
  /// The same for every rank of the communicator, nearest first, so that not all poll rank 0.
  void wait_until_all(int word, std::uint64_t epoch, Deadline deadline,
                      std::string_view waiting_for) const;

 private:
  [[nodiscard]] std::uint64_t* word_of(int rank, int word) const noexcept;

  std::vector<std::byte*> words_;  ///< of each rank; null for those on other nodes
  const AbortFlag& abort_flag_;
  int rank_;
  int ranks_;
  bool yields_at_once_;
  bool fences_;
};

}  // namespace colltune
