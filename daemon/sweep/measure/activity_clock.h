// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "colltune/sweep/measure/measure.h"

namespace colltune {

/// Adds its lifetime to an activity. Scopes do not nest.
class ActivityScope {
 public:
  ActivityScope(ActivityTimes& times, Activity activity)
      : time_(times[activity]), begin_(std::chrono::steady_clock::now()) {}
  ~ActivityScope() { time_ += std::chrono::steady_clock::now() - begin_; }
  ActivityScope(const ActivityScope&) = delete;
  ActivityScope& operator=(const ActivityScope&) = delete;

 private:
  std::chrono::nanoseconds& time_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace colltune
