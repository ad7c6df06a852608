// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "adaptive_stores.h"

#include <algorithm>
#include <bit>

namespace colltune {

int SizeBuckets::of(Bytes size) const {
  if (has_one_size()) return 0;
  const auto bits = [](Bytes some) { return static_cast<int>(std::bit_width(some.value)); };
  return std::max(0, bits(size) - bits(smallest_streamed_staging));
}

Bytes SizeBuckets::size_of(int bucket) const {
  return has_one_size() ? only_ : Bytes{smallest_streamed_staging.value << bucket};
}

AdaptiveStores::AdaptiveStores(const SizeBuckets& buckets,
                               const std::function<StoreChoice::Rhythm(Bytes)>& rhythm_of,
                               const Signals& signals, const Communicator& communicator,
                               int first_word, Clock::time_point (*now)())
    : buckets_(buckets), now_(now) {
  for (int bucket = 0; bucket < buckets_.count(); ++bucket)
    learners_.push_back(
        {StoreChoice(rhythm_of(buckets_.size_of(bucket))),
         SharedTimes(signals, communicator, first_word + bucket * SharedTimes::words)});
}

StoreMode AdaptiveStores::begin(Bytes size) noexcept {
  is_timed_ = false;
  current_ = nullptr;
  if (buckets_.is_too_short(size)) return {};
  const int bucket = buckets_.of(size);
  current_ = &learners_[static_cast<std::size_t>(bucket)];
  if (const auto slowest = current_->times.take()) current_->choice.decide(*slowest);
  is_timed_ = current_->choice.is_timed();
  if (is_timed_) {
    scale_ = static_cast<double>(buckets_.size_of(bucket).value) /
             static_cast<double>(std::max<std::uint64_t>(1, size.value));
    spent_ = {};
    resume();
  }
  return current_->choice.mode();
}

void AdaptiveStores::end() noexcept {
  if (current_ == nullptr) return;
  pause();
  const auto took = std::chrono::duration<double, std::nano>(spent_) * scale_;
  if (current_->choice.completed(std::chrono::duration_cast<std::chrono::nanoseconds>(took)))
    current_->times.publish(current_->choice.fastest());
}

}  // namespace colltune
