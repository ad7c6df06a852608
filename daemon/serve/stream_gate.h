// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <mutex>
#include <vector>

namespace colltune {

/// How many tables are sent at once, and how long a receiver may take.
struct StreamLimits {
  std::size_t most_active = 16;
  std::size_t most_waiting = 10'000;
  /// For one message: a receiver that does not read.
  std::chrono::milliseconds stall = std::chrono::seconds(10);
  /// For a whole table, while others wait for their turn.
  std::chrono::milliseconds turn = std::chrono::seconds(60);
};

/// Bounds the memory that tables on their way take: only so many are sent at once, the others wait
/// in their order, and a receiver that does not read loses its place. Thread-safe.
class StreamGate {
 public:
  using Clock = std::chrono::steady_clock;

  /// A table on its way. The gate calls these while it is locked: they must not block.
  class Stream {
   public:
    virtual ~Stream() = default;
    /// Its turn has come.
    virtual void begin() = 0;
    /// Ends the call although its receiver does not read.
    virtual void cancel() = 0;
    /// The daemon ends: no further message is sent. Called for streams that wait as well.
    virtual void wind_up(bool has_begun) = 0;
  };

  explicit StreamGate(StreamLimits limits) : limits_(limits) {}

  /// Begins `stream` now or later. False where too many wait already.
  [[nodiscard]] bool admit(Stream& stream, Clock::time_point now);
  /// True where `stream` waited, which it does no longer.
  [[nodiscard]] bool withdraw(const Stream& stream);
  /// `stream` is over; the next one begins.
  void leave(const Stream& stream, Clock::time_point now);
  void note_progress(const Stream& stream, Clock::time_point now);
  /// Cancels the streams that exceed the limits at `now`, and returns how many.
  std::size_t cancel_late(Clock::time_point now);
  void wind_up();

 private:
  struct Active {
    Stream* stream = nullptr;
    Clock::time_point begun;
    Clock::time_point progress;
    bool is_cancelled = false;
  };

  void begin(Stream& stream, Clock::time_point now);
  [[nodiscard]] Active* find(const Stream& stream);

  const StreamLimits limits_;
  /// Guards the next two. Recursive, since gRPC may run a call's last callback within `cancel`.
  std::recursive_mutex mutex_;
  std::vector<Active> active_;
  std::deque<Stream*> waiting_;
};

}  // namespace colltune
