// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "schedule/staging_choice.h"

#include <algorithm>

namespace colltune {

StagingChoice::Course StagingChoice::course_of(std::uint64_t waves, int slots, Bytes size) {
  const auto turn = static_cast<std::uint64_t>(slots);
  Course course;
  if (waves < turn)
    course.lead_in = turn;
  else if (waves < 4 * turn)  // from there on three quarters of a call meet what it wrote itself
    course.lead_in = 1;
  // Cores stay where they are for a tenth of a second at least: several trials should fall into
  // that where calls are short, and nowhere cost much: their slower half is 1 to 2 % of the calls.
  if (size < Bytes{std::uint64_t{128} << 10})
    course.period = 600;
  else
    course.period = size <= Bytes{std::uint64_t{1} << 20} ? 300 : 100;
  return course;
}

bool StagingChoice::completed(std::chrono::nanoseconds took) noexcept {
  if (call_ == 0) fastest_.fill(std::chrono::nanoseconds::max());
  if (is_timed()) fastest_[way()] = std::min(fastest_[way()], took);
  ++call_;
  const bool is_last_of_trial = call_ == course_.trial();
  if (call_ == course_.period) call_ = 0;
  return is_last_of_trial;
}

void StagingChoice::decide(const Times& slowest_rank) noexcept {
  // What is hardly faster is not worth a change.
  constexpr double margin = 1.03;
  const std::size_t other = 1 - best_;
  using Seconds = std::chrono::duration<double>;
  if (Seconds(slowest_rank[other]) * margin < Seconds(slowest_rank[best_])) best_ = other;
}

}  // namespace colltune
