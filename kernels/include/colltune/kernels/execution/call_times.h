// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>

namespace colltune {

/// How long calls took on this rank, the waits for other ranks included: an estimate.
struct CallTimes {
  std::uint64_t calls = 0;
  std::uint64_t timed = 0;              ///< the calls that the estimate is made of
  std::chrono::nanoseconds all{};       ///< the time of all calls
  std::uint64_t first_calls = 0;        ///< one for each communicator on which there was a call
  std::chrono::nanoseconds of_first{};  ///< the time of those, which prepare; part of `all`

  CallTimes& operator+=(const CallTimes& other) noexcept;
  /// The mean of the calls behind the first ones; 0 if there are no others.
  [[nodiscard]] std::chrono::duration<double, std::nano> mean() const noexcept;
};

/// What was timed of the calls of one kind on one communicator.
struct CallSamples {
  /// So many calls are all timed, since the first ones are unlike the later ones and programs that
  /// make few calls have no others. Of the later ones some are.
  static constexpr std::uint64_t early = 8;

  std::uint64_t calls = 0;
  std::uint64_t early_timed = 0;  ///< of the first `early` calls, the very first apart
  std::chrono::nanoseconds of_early{};
  std::uint64_t late_timed = 0;  ///< of the calls behind them
  std::chrono::nanoseconds of_late{};
  std::uint64_t first_timed = 0;  ///< 1 once the very first call has ended
  std::chrono::nanoseconds of_first{};

  /// Only the calls behind the early ones are scaled by calls/samples.
  [[nodiscard]] CallTimes estimate() const noexcept;
};

/// Counts calls, and times some of them: one of 64 on average, at random distances, so that no
/// period of a program meets them. The same calls in every run. One call at a time.
class CallTimer {
 public:
  /// What reads a clock.
  using Now = std::chrono::nanoseconds (*)();
  static std::chrono::nanoseconds steady_now();

  /// Null: calls are counted, none is timed. Timers of one kind of calls take unlike seeds.
  explicit CallTimer(Now now = nullptr, std::uint64_t seed = 0);

  /// A call of this kind begins; `of` outlives it.
  void begin(CallSamples& of) noexcept {
    if (of.calls++ < early_ || --until_next_ == 0) [[unlikely]]
      start(of);
  }
  /// What comes until `go_on` is not the call's.
  void pause() noexcept {
    if (of_ != nullptr) [[unlikely]]
      add();
  }
  void go_on() noexcept {
    if (of_ != nullptr) [[unlikely]]
      begun_ = now_();
  }
  /// The call that was begun last is over. Nothing if it was not timed.
  void end() noexcept {
    if (of_ != nullptr) [[unlikely]]
      stop();
  }

 private:
  void start(CallSamples& of) noexcept;
  void add() noexcept;
  void stop() noexcept;
  void choose_next(std::uint64_t nearest, std::uint64_t farthest) noexcept;

  Now now_;
  std::uint64_t early_;  ///< CallSamples::early, or 0 without a clock
  std::uint64_t until_next_ = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t random_;
  std::chrono::nanoseconds of_reading_{};  ///< what a reading of the clock adds to a call's time
  CallSamples* of_ = nullptr;              ///< of the call that is being timed; null: none is
  std::uint64_t number_ = 0;               ///< of that call, from 1 on
  std::chrono::nanoseconds begun_{};
  std::chrono::nanoseconds spent_{};
};

}  // namespace colltune
