// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "colltune/nccl/choice.h"
#include "table_rules.h"

namespace colltune::nccl {

/// The properties of a call, as NCCL tells them.
struct AskedCall {
  int function;
  std::size_t bytes;
  int pipe_operations;
  int registered;
};

/// The rules of a table for one communicator, copied out of the file, so that calls do not depend
/// on the file. Immutable once filled. Lookups are thread-safe, take no lock and allocate nothing.
class RuleIndex {
 public:
  struct Answer {
    std::uint64_t min_bytes;
    std::uint64_t max_bytes;
    float time_us;
    std::uint8_t algorithm;
    std::uint8_t protocol;
    std::uint8_t channels;
  };

  /// Takes `rules`, which are in the order of rules_of(); returns false if memory ran out.
  [[nodiscard]] bool fill(std::span<const Rule> rules) noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// The rule for `call`; null if there is none.
  [[nodiscard]] const Answer* find(const AskedCall& call) const noexcept {
    if (call.function < 0 || call.function >= function_count) return nullptr;
    const Range answers =
        answers_of_[static_cast<std::size_t>(call.function)][call.registered != 0 ? 1 : 0];
    if (answers.begin == answers.end) return nullptr;
    // A binary search without unpredictable branches.
    const Answer* first = &answers_[answers.begin];
    std::uint32_t left = answers.end - answers.begin;
    while (left > 1) {
      const std::uint32_t half = left / 2;
      first = first[half].min_bytes <= call.bytes ? first + half : first;
      left -= half;
    }
    return first->min_bytes <= call.bytes && call.bytes <= first->max_bytes ? first : nullptr;
  }

 private:
  struct Range {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };

  std::array<std::array<Range, 2>, function_count> answers_of_{};  ///< by buffers; by bytes within
  std::unique_ptr<Answer[]> answers_;
  std::size_t size_ = 0;
};

}  // namespace colltune::nccl
