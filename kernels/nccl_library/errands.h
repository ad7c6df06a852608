// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "library.h"

namespace colltune::nccl {

/// A helper thread for one NCCL communicator, which is blocking, as in most programs. It makes the
/// NCCL calls that may wait for other ranks: creating the communicator, its first call of a kind
/// (which connects the ranks), captures, windows. The caller can thus stop waiting for them. When
/// idle it watches the calls that the user's thread makes itself. Created once per communicator, so
/// no call creates a thread.
class Errands {
 public:
  /// `watch` is called now and then while no errand is under way.
  explicit Errands(std::function<void()> watch);
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;
  /// Waits at most `longest_end` for the errand under way. If that has not ended, its thread is
  /// left alone, with a message on stderr.
  ~Errands();

  /// Call only after the last errand has ended. `act` may outlive this object.
  void begin(std::string what, std::function<Result()> act);
  [[nodiscard]] bool is_under_way() const;
  /// Whether the errand ends within `patience`.
  [[nodiscard]] bool has_ended_within(std::chrono::milliseconds patience) const;
  /// The result of the last errand. Throws what `act` threw.
  [[nodiscard]] Result result() const;
  [[nodiscard]] std::string what() const;
  /// Stops waiting for the errand under way; the destructor does not wait for it either.
  void leave_alone() { is_left_alone_ = true; }
  /// is_under_way as a function that is valid even after the end of this object.
  [[nodiscard]] std::function<bool()> under_way_elsewhere() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  ///< shared with the thread, which may outlive this
  bool is_left_alone_ = false;
  std::thread thread_;
};

/// Interval between calls of `watch`.
inline constexpr std::chrono::milliseconds pause_of_watch{100};

}  // namespace colltune::nccl
