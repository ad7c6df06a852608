// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/execution/call_times.h"

#include <algorithm>

namespace colltune {
namespace {

using Mean = std::chrono::duration<double, std::nano>;

/// Of the calls that are timed: a reading of the clock takes as long as the shortest calls.
constexpr std::uint64_t mean_distance = 64;

std::chrono::nanoseconds rounded(Mean time) {
  return std::chrono::round<std::chrono::nanoseconds>(time);
}

}  // namespace

CallTimes& CallTimes::operator+=(const CallTimes& other) noexcept {
  calls += other.calls;
  timed += other.timed;
  all += other.all;
  first_calls += other.first_calls;
  of_first += other.of_first;
  return *this;
}

Mean CallTimes::mean() const noexcept {
  if (calls <= first_calls) return {};
  return Mean(all - of_first) / static_cast<double>(calls - first_calls);
}

CallTimes CallSamples::estimate() const noexcept {
  const std::uint64_t exact = first_timed + early_timed;
  const std::uint64_t late = calls > exact ? calls - exact : 0;
  Mean of_one{};  // of the late calls
  if (late_timed > 0)
    of_one = Mean(of_late) / static_cast<double>(late_timed);
  else if (early_timed > 0)
    of_one = Mean(of_early) / static_cast<double>(early_timed);
  return {.calls = calls,
          .timed = exact + late_timed,
          .all = of_first + of_early + rounded(of_one * static_cast<double>(late)),
          .first_calls = first_timed,
          .of_first = of_first};
}

std::chrono::nanoseconds CallTimer::steady_now() {
  return std::chrono::steady_clock::now().time_since_epoch();
}

CallTimer::CallTimer(Now now, std::uint64_t seed)
    : now_(now), early_(now == nullptr ? 0 : CallSamples::early), random_(seed) {
  if (now_ == nullptr) return;
  // Shorter than the shortest of some is no reading; a longer one was interrupted.
  of_reading_ = std::chrono::nanoseconds::max();
  for (int i = 0; i < 16; ++i) {
    const auto before = now_();
    of_reading_ = std::min(of_reading_, now_() - before);
  }
  choose_next(1, mean_distance);
}

void CallTimer::choose_next(std::uint64_t nearest, std::uint64_t farthest) noexcept {
  // Knuth's MMIX generator; its upper bits are the good ones.
  random_ = random_ * 6364136223846793005U + 1442695040888963407U;
  until_next_ = nearest + ((random_ >> 32U) * (farthest - nearest + 1) >> 32U);
}

void CallTimer::start(CallSamples& of) noexcept {
  if (until_next_ == 0) choose_next(mean_distance / 2, mean_distance / 2 * 3);
  of_ = &of;
  number_ = of.calls;
  spent_ = {};
  begun_ = now_();
}

void CallTimer::add() noexcept {
  spent_ += std::max(now_() - begun_ - of_reading_, std::chrono::nanoseconds{});
}

void CallTimer::stop() noexcept {
  add();
  if (number_ == 1) {
    ++of_->first_timed;
    of_->of_first += spent_;
  } else if (number_ <= CallSamples::early) {
    ++of_->early_timed;
    of_->of_early += spent_;
  } else {
    ++of_->late_timed;
    of_->of_late += spent_;
  }
  of_ = nullptr;
}

}  // namespace colltune
