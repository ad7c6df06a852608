// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "colltune/sweep/measure/measure.h"

namespace colltune {

/// Adds its lifetime to a phase. Scopes do not nest.
class PhaseScope {
 public:
  PhaseScope(PhaseTimes& times, Phase phase)
      : slot_(times[phase]), begin_(std::chrono::steady_clock::now()) {}
  ~PhaseScope() { slot_ += std::chrono::steady_clock::now() - begin_; }
  PhaseScope(const PhaseScope&) = delete;
  PhaseScope& operator=(const PhaseScope&) = delete;

 private:
  std::chrono::nanoseconds& slot_;
  std::chrono::steady_clock::time_point begin_;
};

}  // namespace colltune
