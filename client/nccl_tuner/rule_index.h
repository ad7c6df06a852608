// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "colltune/nccl/choice.h"
#include "colltune/nccl_tuner/snapshot_layout.h"

namespace colltune::nccl {

/// The properties of a call that rules are matched against.
struct AskedCall {
  int function;
  std::size_t bytes;
  int pipe_operations;
  int registered;
};

/// The rules of a snapshot for one communicator, copied out of the file, so that calls do not
/// depend on the file. Immutable once filled. Lookups are thread-safe, take no lock and allocate
/// nothing.
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

  /// Takes the rules for this world; returns false if memory ran out.
  [[nodiscard]] bool fill(std::span<const SnapshotRule> rules, std::size_t ranks,
                          std::size_t nodes) noexcept;
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

  /// The rule for `call`; null if there is none.
  [[nodiscard]] const Answer* find(const AskedCall& call) const noexcept {
    if (call.function < 0 || call.function >= function_count) return nullptr;
    const auto& by_buffers = groups_of_[static_cast<std::size_t>(call.function)];
    // No call has two rules, so the first group that has one has the right one.
    const Answer* const found = find(by_buffers[call.registered != 0 ? 1 : 0], call);
    return found != nullptr ? found : find(by_buffers[any_registered], call);
  }

 private:
  struct Range {
    std::uint32_t begin = 0;
    std::uint32_t end = 0;
  };
  /// Rules with one number of pipe operations, ordered by bytes.
  struct Group {
    std::int32_t pipe_operations = 0;
    Range answers;
  };

  /// Searches the groups for one kind of buffers. They are ordered by pipe operations, with "any
  /// number" first.
  [[nodiscard]] const Answer* find(Range groups, const AskedCall& call) const noexcept {
    static_assert(any_pipe_operations == 0);
    if (groups.begin == groups.end) return nullptr;
    if (groups_[groups.begin].pipe_operations == any_pipe_operations) {
      const Answer* const found = find(groups_[groups.begin].answers, call.bytes);
      if (found != nullptr || ++groups.begin == groups.end) return found;
    }
    std::uint32_t left = groups.end - groups.begin;
    while (left > 1) {
      const std::uint32_t half = left / 2;
      if (groups_[groups.begin + half].pipe_operations <= call.pipe_operations)
        groups.begin += half;
      left -= half;
    }
    const Group& group = groups_[groups.begin];
    return group.pipe_operations == call.pipe_operations ? find(group.answers, call.bytes)
                                                         : nullptr;
  }

  /// A binary search without unpredictable branches.
  [[nodiscard]] const Answer* find(Range answers, std::size_t bytes) const noexcept {
    const Answer* first = &answers_[answers.begin];
    std::uint32_t left = answers.end - answers.begin;
    while (left > 1) {
      const std::uint32_t half = left / 2;
      first = first[half].min_bytes <= bytes ? first + half : first;
      left -= half;
    }
    return first->min_bytes <= bytes && bytes <= first->max_bytes ? first : nullptr;
  }

  std::array<std::array<Range, any_registered + 1>, function_count> groups_of_{};  ///< by buffers
  std::unique_ptr<Group[]> groups_;
  std::unique_ptr<Answer[]> answers_;
  std::size_t size_ = 0;
};

}  // namespace colltune::nccl
