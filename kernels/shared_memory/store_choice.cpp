// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "store_choice.h"

#include <algorithm>

namespace colltune {
namespace {

// Cores keep their places for at least a tenth of a second. Several probes should fit into that
// time if calls are short, and probing should never cost much. In lengths of a probe:
constexpr std::uint64_t probes_apart = 50;
constexpr std::uint64_t probes_apart_if_long = 25;
constexpr Bytes long_message{std::uint64_t{1} << 20};

/// How many of `modes`, from the first, are worth trying for a message.
std::size_t tried_for(Bytes size) {
  if (size < smallest_streamed_result) return 2;
  if (size < smallest_streamed_beside_staging) return 3;
  return StoreChoice::modes.size();
}

}  // namespace

StoreChoice::Rhythm StoreChoice::rhythm_of(std::uint64_t waves, int slots, Bytes size) {
  const auto turn = static_cast<std::uint64_t>(slots);
  Rhythm rhythm{.tried = tried_for(size)};
  if (waves < turn)
    rhythm.lead_in = turn;
  else if (waves < 4 * turn)  // from here on, three quarters of a call use slots that the same call
                              // wrote before
    rhythm.lead_in = 1;
  rhythm.period = rhythm.probe() * (size <= long_message ? probes_apart : probes_apart_if_long);
  return rhythm;
}

bool StoreChoice::completed(std::chrono::nanoseconds took) noexcept {
  if (call_ == 0) fastest_.fill(std::chrono::nanoseconds::max());
  if (is_timed()) fastest_[index()] = std::min(fastest_[index()], took);
  ++call_;
  const bool is_last_of_probe = call_ == rhythm_.probe();
  if (call_ == rhythm_.period) call_ = 0;
  return is_last_of_probe;
}

void StoreChoice::decide(const Times& slowest_rank) noexcept {
  // A small gain is not worth a change.
  constexpr double margin = 1.03;
  const auto fastest = std::ranges::min_element(
      slowest_rank.begin(), slowest_rank.begin() + static_cast<std::ptrdiff_t>(rhythm_.tried));
  using Seconds = std::chrono::duration<double>;
  if (Seconds(*fastest) * margin < Seconds(slowest_rank[best_]))
    best_ = static_cast<std::size_t>(fastest - slowest_rank.begin());
}

}  // namespace colltune
