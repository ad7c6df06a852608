// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <string>

#include "colltune/vocabulary/error.h"

namespace colltune {

/// A point on the steady clock after which a wait gives up.
using Deadline = std::chrono::steady_clock::time_point;

/// What a rank does besides while it waits for others. Not thread-safe.
class WhileWaiting {
 public:
  virtual ~WhileWaiting() = default;
  /// Called again and again, from about 2 us of waiting on. An exception ends the wait.
  virtual void go_on() = 0;
};

/// Raised once by the first thread that learns that the operation cannot complete; every bounded
/// wait of this process checks it. Thread-safe.
class AbortFlag {
 public:
  AbortFlag() = default;
  /// Waits that check this flag never sleep, and let `besides`, which outlives the flag, go on.
  /// Only one thread at a time waits.
  explicit AbortFlag(WhileWaiting& besides) noexcept : besides_(&besides) {}

  [[nodiscard]] WhileWaiting* besides() const noexcept { return besides_; }
  void raise() noexcept { raised_.store(true, std::memory_order_release); }
  [[nodiscard]] bool is_raised() const noexcept { return raised_.load(std::memory_order_acquire); }

 private:
  std::atomic<bool> raised_{false};
  WhileWaiting* besides_ = nullptr;
};

/// A wait ended without success: states what it waited for and which rank was missing.
class RankMissing : public Error {
 public:
  RankMissing(int rank, const std::string& waiting_for, bool aborted)
      : Error(aborted ? StatusCode::aborted : StatusCode::deadline_exceeded,
              (aborted ? "gave up on the abort flag waiting for " : "timed out waiting for ") +
                  waiting_for + " of rank " + std::to_string(rank)),
        rank_(rank) {}
  [[nodiscard]] int rank() const noexcept { return rank_; }

 private:
  int rank_;
};

}  // namespace colltune
