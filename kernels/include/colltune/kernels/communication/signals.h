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
/// writer, its owner, and its own pair of cache lines. Its value is an epoch that only grows, so
/// nothing is ever reset and no wait can miss a value. Everything that the owner wrote before `set`
/// is visible to a rank that returns from `wait_until` (release and acquire; no fences). Not
/// thread-safe: one object per rank.
class Signals {
 public:
  /// Distance between words: two cache lines, since x86-64 prefetchers fetch lines in pairs.
  static constexpr std::size_t stride = 128;
  /// Bytes that `words` signals occupy in each rank's part.
  [[nodiscard]] static constexpr std::size_t size(int words) {
    return static_cast<std::size_t>(words) * stride;
  }

  /// The signals that start at `offset` (a multiple of `stride`) in every part of `memory`, which
  /// was allocated on `communicator`. Both outlive this object. `stores` is how the user of this
  /// object writes the data that a signal announces: `set` fences non-temporal stores.
  Signals(const Communicator& communicator, const SymmetricMemory& memory, std::size_t offset,
          CopyMode stores = CopyMode::cached);

  /// Room beside the word of `rank`, in the same cache line, for what the owner tells along with it:
  /// it writes there before `set`, and others read after they have seen that epoch. The owner must
  /// know that nobody still reads what it overwrites.
  static constexpr std::size_t room = 64 - sizeof(std::uint64_t);
  [[nodiscard]] std::byte* beside(int rank, int word) const noexcept {
    return reinterpret_cast<std::byte*>(word_of(rank, word)) + sizeof(std::uint64_t);
  }

  /// Sets this rank's word to `epoch`, which is not below the word's present value.
  void set(int word, std::uint64_t epoch) const noexcept;
  /// The epoch that the word of `rank`, which shares this rank's node, has reached.
  [[nodiscard]] std::uint64_t get(int rank, int word) const noexcept;
  /// Returns when `rank`'s word has reached `epoch`. Throws RankMissing with `waiting_for` at the
  /// deadline, or if the abort flag is raised.
  void wait_until(int rank, int word, std::uint64_t epoch, Deadline deadline,
                  std::string_view waiting_for) const;
  /// The same for every other rank, starting at the next one, so that not all ranks poll rank 0 at
  /// once.
  void wait_until_all(int word, std::uint64_t epoch, Deadline deadline,
                      std::string_view waiting_for) const;

 private:
  [[nodiscard]] std::uint64_t* word_of(int rank, int word) const noexcept;

  std::vector<std::byte*> words_;  ///< by rank; null for ranks on other nodes
  const AbortFlag& abort_flag_;
  int rank_;
  int ranks_;
  bool yields_at_once_;
  bool fences_;
};

}  // namespace colltune
