// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>

#include "colltune/vocabulary/problem.h"
#include "support/fill_bytes.h"

namespace colltune::test {

inline constexpr std::size_t canary_size = 192;
inline constexpr std::byte canary{0xC5};

/// A buffer between two strips that nobody may write, in `memory` of size_with_strips(size).
class GuardedBuffer {
 public:
  static constexpr std::size_t size_with_strips(std::size_t size) { return size + 2 * canary_size; }

  GuardedBuffer(std::span<std::byte> memory, std::size_t size)
      : bytes_(memory.first(size_with_strips(size))), size_(size) {
    fill_bytes(bytes_, canary);
  }
  std::span<std::byte> inside() const { return bytes_.subspan(canary_size, size_); }
  bool is_whole() const {
    const auto is_canary = [](std::byte b) { return b == canary; };
    return std::ranges::all_of(bytes_.first(canary_size), is_canary) &&
           std::ranges::all_of(bytes_.last(canary_size), is_canary);
  }

 private:
  std::span<std::byte> bytes_;
  std::size_t size_;
};

/// Bytes that the buffers of any rank take, whatever its blocks.
inline std::size_t guarded_size(const Problem& problem, int ranks) {
  if (problem.counts != Counts::equal)
    return 2 * GuardedBuffer::size_with_strips(problem.message_size.value);
  return GuardedBuffer::size_with_strips(send_size(problem, ranks).value) +
         GuardedBuffer::size_with_strips(receive_size(problem, ranks).value);
}

/// The buffers of one rank in `memory`, in place or not, as CallBuffers defines them. `blocks`: as
/// Call::blocks.
struct GuardedBuffers {
  GuardedBuffers(std::span<std::byte> memory, const Problem& problem, int rank, int ranks,
                 bool is_root, std::span<const std::size_t> blocks = {})
      : sends(send_size(problem, ranks, blocks, rank, is_root ? rank : rank + 1).value),
        receives(receive_size(problem, ranks, blocks, rank, is_root ? rank : rank + 1).value),
        larger(memory, std::max(sends, receives)),
        smaller(memory.subspan(GuardedBuffer::size_with_strips(std::max(sends, receives))),
                problem.in_place ? 0 : std::min(sends, receives)) {
    // A rank may have all that there is.
    const bool sends_larger =
        blocks.empty() ? sends >= receives : problem.collective == Collective::reduce_scatter;
    std::span<std::byte> other = smaller.inside();
    if (problem.in_place) {
      const std::size_t bytes = std::min(sends, receives);
      std::size_t offset = sends == receives ? 0 : bytes * static_cast<std::size_t>(rank);
      if (!blocks.empty()) {
        const auto before = blocks.first(static_cast<std::size_t>(rank));
        offset = std::accumulate(before.begin(), before.end(), std::size_t{0});
      }
      other = bytes == 0 ? std::span<std::byte>{} : larger.inside().subspan(offset, bytes);
    }
    send = sends_larger ? larger.inside() : other;
    receive = sends_larger ? other : larger.inside();
  }

  /// Whether nobody has written beside them.
  [[nodiscard]] bool are_whole() const { return larger.is_whole() && smaller.is_whole(); }

  std::size_t sends;
  std::size_t receives;
  GuardedBuffer larger;
  GuardedBuffer smaller;
  std::span<std::byte> send;
  std::span<std::byte> receive;
};

}  // namespace colltune::test
