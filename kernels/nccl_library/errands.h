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

/// A thread beside the one that uses a communicator of NCCL's, which is a blocking one, as programs
/// have: it does what may wait for other ranks inside NCCL (making the communicator, its first call
/// of a kind, which connects the ranks, captures, windows), so that whoever waits for that can stop
/// waiting. In between it watches the calls that the user's thread makes by itself. Made once for a
/// communicator: no call makes a thread.
class Errands {
 public:
  /// `watch` is called now and then while there is no errand.
  explicit Errands(std::function<void()> watch);
  Errands(const Errands&) = delete;
  Errands& operator=(const Errands&) = delete;
  /// Waits for the errand that is under way, at most `longest_end`; then it is left alone, and said
  /// so.
  ~Errands();

  /// Not before the last one has ended. `act` may outlive this object.
  void begin(std::string what, std::function<Result()> act);
  [[nodiscard]] bool is_under_way() const;
  /// Whether it has ended by then.
  [[nodiscard]] bool has_ended_within(std::chrono::milliseconds patience) const;
  /// What it ended with. Throws what `act` threw.
  [[nodiscard]] Result result() const;
  [[nodiscard]] std::string what() const;
  /// Nobody waits for the one that is under way any more, nor does the end of this object.
  void leave_alone() { is_left_alone_ = true; }
  /// The same as is_under_way, also behind the end of this object.
  [[nodiscard]] std::function<bool()> under_way_elsewhere() const;

 private:
  struct State;
  std::shared_ptr<State> state_;  ///< shared with the thread, which may outlive this
  bool is_left_alone_ = false;
  std::thread thread_;
};

/// Between two looks of `watch`.
inline constexpr std::chrono::milliseconds pause_of_watch{100};

}  // namespace colltune::nccl
