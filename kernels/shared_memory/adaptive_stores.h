// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "colltune/kernels/operation.h"
#include "shared_times.h"
#include "store_choice.h"

namespace colltune {

/// Which calls of an operation share what it learns about stores: those whose sizes have the same
/// number of bits, or all calls if all have one size.
class SizeBuckets {
 public:
  explicit SizeBuckets(const Call& call)
      : capacity_(call.capacity), only_(call.problem.message_size) {}
  [[nodiscard]] int count() const { return has_one_size() ? 1 : of(capacity_) + 1; }
  /// Of `size`, which is not above the capacity.
  [[nodiscard]] int of(Bytes size) const;
  /// The size for which a bucket's rhythm and times are.
  [[nodiscard]] Bytes size_of(int bucket) const;
  /// Whether calls of `size` are too short to gain anything.
  [[nodiscard]] bool is_too_short(Bytes size) const {
    return !has_one_size() && size < smallest_streamed_staging;
  }
  /// The words of `Signals` that the ranks' times take.
  [[nodiscard]] int words() const { return count() * SharedTimes::words; }

 private:
  [[nodiscard]] bool has_one_size() const { return capacity_ == Bytes{}; }

  Bytes capacity_;
  Bytes only_;
};

/// Applies StoreChoice to the calls of one rank's operation. What is timed is this rank's own work:
/// how long it waits for others says when they came, not how they wrote.
class AdaptiveStores {
 public:
  using Clock = std::chrono::steady_clock;

  /// `rhythm_of` gives the rhythm of calls of a size. The ranks' times use SizeBuckets::words of
  /// `signals`, from `first_word` on. `signals` outlives this object.
  AdaptiveStores(const SizeBuckets& buckets,
                 const std::function<StoreChoice::Rhythm(Bytes)>& rhythm_of, const Signals& signals,
                 const Communicator& communicator, int first_word,
                 Clock::time_point (*now)() = &Clock::now);

  /// The store mode of the call of `size` that begins here, with own work.
  [[nodiscard]] StoreMode begin(Bytes size) noexcept;
  /// This rank does nothing for the call, or goes on with it.
  void pause() noexcept {
    if (is_timed_) spent_ += now_() - resumed_;
  }
  void resume() noexcept {
    if (is_timed_) resumed_ = now_();
  }
  /// Reports the end of that call, after own work.
  void end() noexcept;

 private:
  struct Learner {
    StoreChoice choice;
    SharedTimes times;
  };

  SizeBuckets buckets_;
  Clock::time_point (*now_)();
  std::vector<Learner> learners_;  ///< by bucket
  Learner* current_ = nullptr;     ///< null in a call that is too short
  double scale_ = 1;               ///< from the call's size to the bucket's
  bool is_timed_ = false;
  Clock::time_point resumed_{};
  Clock::duration spent_{};
};

}  // namespace colltune
