// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "colltune/nccl/tuner_abi.h"
#include "colltune/nccl/tuner_control.h"
#include "rule_index.h"

namespace colltune::nccl {

/// The cost table as NCCL passes it: one contiguous float[algorithms][protocols].
struct CostTable {
  float* costs;
  int algorithms;
  int protocols;
};

/// This library's context for one of NCCL's communicators. NCCL asks for one call of a communicator
/// at a time; meanwhile other threads may set a force and read the last call.
class TunerContext {
 public:
  TunerContext() = default;
  TunerContext(const TunerContext&) = delete;
  TunerContext& operator=(const TunerContext&) = delete;
  ~TunerContext();

  /// Constant once NCCL has the context, except for `is_claimed`, which the registry's mutex
  /// guards.
  colltune_nccl_communicator facts{};
  RuleIndex rules;
  TunerContext* next = nullptr;  ///< list of the registry, guarded by its mutex

  /// The hot path: neither locks nor allocates.
  void decide(const AskedCall& call, CostTable table, int* channels) noexcept;

  // The other functions are called under the registry's mutex.

  /// Copies `force`; null removes it. Returns false if memory ran out.
  [[nodiscard]] bool set_force(const colltune_nccl_force* force) noexcept;
  [[nodiscard]] const colltune_nccl_force* force() const noexcept;
  void observe(bool is_on) noexcept;
  /// Returns false if no call was observed.
  [[nodiscard]] bool read_last_call(colltune_nccl_call& into) const noexcept;

 private:
  /// Immutable once published. Old forces are kept until the communicator is removed, because a
  /// call may still read them. No two are equal.
  struct Force {
    colltune_nccl_force wanted{};
    Force* older = nullptr;
  };

  std::int32_t apply(const AskedCall& call, CostTable table, int* channels,
                     const Force* force) const noexcept;
  void record(const colltune_nccl_call& call) noexcept;

  std::atomic<const Force*> force_ = nullptr;
  std::atomic<bool> is_observed_ = false;
  Force* forces_ = nullptr;  ///< all of them, newest first

  /// The last call, word by word. `turn_` is odd while it is written; a reader compares it before
  /// and after.
  static constexpr std::size_t call_words = sizeof(colltune_nccl_call) / sizeof(std::uint64_t);
  std::atomic<std::uint64_t> turn_ = 0;
  std::array<std::atomic<std::uint64_t>, call_words> last_call_{};
};

}  // namespace colltune::nccl
