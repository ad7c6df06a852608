// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <vector>

#include "colltune/trace/trace.h"

namespace colltune {

/// The calls of one communicator on one rank, summed up by kind: a hash table, since a call must
/// not notice that it is written down. Sizes are rounded and kinds are not kept as in CallCounts.
/// Not thread-safe: MPI forbids two collectives on one communicator at a time.
class CallTable {
 public:
  struct Entry {
    TracedCall call;
    RankCalls by_ranks;
  };

  /// Throws std::bad_alloc if there is no memory for another kind.
  void add(const TracedCall& call, std::chrono::nanoseconds time);
  /// A call of which nothing else is kept.
  void add_not_kept(std::chrono::nanoseconds time) noexcept {
    latest_ = none;
    not_kept_.add({.calls = 1, .time = time});
  }
  /// The call that was added last, once more. Returns false if that is not kept, or there is none.
  [[nodiscard]] bool add_as_before(std::chrono::nanoseconds time) {
    if (latest_ == none) return false;
    entries_[latest_].by_ranks.add({.calls = 1, .time = time});
    return true;
  }
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] const RankCalls& not_kept() const { return not_kept_; }

 private:
  static constexpr std::size_t none = ~std::size_t{0};

  /// The entry's number.
  [[nodiscard]] std::size_t find(const TracedCall& call) const;
  [[nodiscard]] std::size_t slot_of(const TracedCall& call) const;
  void insert(const TracedCall& call);

  std::vector<Entry> entries_;
  std::vector<std::uint16_t> slots_;  ///< a power of two; 0: free, or 1 + the entry's number
  std::size_t latest_ = none;         ///< the entry of the last call
  RankCalls not_kept_;
};

}  // namespace colltune
