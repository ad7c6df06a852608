// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <utility>

#include "colltune/collectives/executor.h"

namespace colltune {

/// What colltune does while a rank waits: the library goes on, and now and then the calls are
/// compared.
class Meanwhile final : public WhileWaiting {
 public:
  /// `progress` lets the library go on.
  explicit Meanwhile(std::function<void()> progress) : progress_(std::move(progress)) {}
  /// Compares the calls of `executor` from now on; null: none.
  void watch(const Executor* executor) { executor_ = executor; }
  /// A call begins.
  void begin() noexcept { turns_ = 0; }
  void go_on() override {
    progress_();
    if (++turns_ % turns_between_clock_reads != 0) return;
    const auto now = Clock::now();
    if (turns_ == turns_between_clock_reads) next_look_ = now + look_after;
    if (now < next_look_ || executor_ == nullptr) return;
    next_look_ = now + look_after;
    executor_->compare_calls();
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::uint64_t turns_between_clock_reads = 256;
  static constexpr auto look_after = std::chrono::seconds(1);

  std::function<void()> progress_;
  const Executor* executor_ = nullptr;
  std::uint64_t turns_ = 0;
  Clock::time_point next_look_{};
};

}  // namespace colltune
