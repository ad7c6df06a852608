// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace colltune {

/// A thread of its own for requests that take long, so that those of gRPC stay free for short ones.
/// It gives way to other threads. Thread-safe.
class WorkLane {
 public:
  /// Holds at most `most_bytes` of requests that wait or run.
  explicit WorkLane(std::size_t most_bytes);
  /// Runs what waits, then ends.
  ~WorkLane();
  WorkLane(const WorkLane&) = delete;
  WorkLane& operator=(const WorkLane&) = delete;

  /// Runs `work` later, in the order of the calls; `work` does not throw. False, and nothing is
  /// done, where the request's `bytes` do not fit beside those that wait.
  [[nodiscard]] bool submit(std::size_t bytes, std::function<void()> work);

 private:
  struct Item {
    std::size_t bytes = 0;
    std::function<void()> work;
  };
  void run(const std::stop_token& stop);

  const std::size_t most_bytes_;
  std::mutex mutex_;  ///< guards the next three
  std::condition_variable_any changed_;
  std::deque<Item> items_;
  std::size_t bytes_ = 0;
  std::jthread thread_;
};

}  // namespace colltune
