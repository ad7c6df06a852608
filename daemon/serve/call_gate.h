// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>

namespace colltune {

/// Counts the calls that run, so that a server that ends answers those and refuses later ones.
/// Thread-safe.
class CallGate {
 public:
  /// Counts one more call; false, and none is counted, once the gate is closed.
  [[nodiscard]] bool enter() {
    const std::lock_guard lock(mutex_);
    if (is_closed_) return false;
    ++calls_;
    return true;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    if (--calls_ == 0) none_.notify_all();
  }
  void close() {
    const std::lock_guard lock(mutex_);
    is_closed_ = true;
  }
  /// True once no call runs, false at `deadline`.
  [[nodiscard]] bool wait_until_empty(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    return none_.wait_until(lock, deadline, [&] { return calls_ == 0; });
  }

 private:
  std::mutex mutex_;  ///< guards the next three
  std::condition_variable none_;
  std::size_t calls_ = 0;
  bool is_closed_ = false;
};

}  // namespace colltune
