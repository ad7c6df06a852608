// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "colltune/collectives/executor.h"
#include "colltune/kernels/execution/call_times.h"

namespace colltune {

/// What one process's calls came to, over all its communicators.
class Report {
 public:
  /// Adds the calls of a communicator that ends.
  void add(const Executor& executor);
  /// Adds persistent calls of it; `ran_by`: a variant, or what stands for the library's own.
  void add_persistent(const std::string& ran_by, const CallTimes& times);
  /// Adds single mesh reductions of it, likewise.
  void add_mesh(const std::string& ran_by, const CallTimes& times);
  /// Adds the time in which a communicator was set up.
  void add_set_up(std::chrono::nanoseconds took) { set_up_ += took; }
  /// For a person: what ran how often on this `rank` and how long it took there, what was left to
  /// the library, and what was saved by the table's times.
  [[nodiscard]] std::string text(int rank = 0) const;

 private:
  /// The calls of a variant.
  struct Ran {
    CallTimes times;
    std::chrono::nanoseconds saved{};
    std::uint64_t waited = 0;  ///< and `missed`: as of CallPath::Tally
    std::chrono::nanoseconds missed{};
  };
  [[nodiscard]] std::string times_text() const;

  int communicators_ = 0;
  std::map<std::string, Ran> ran_;
  std::array<CallTimes, enum_names(Collective{}).size()> left_{};
  std::map<std::string, CallTimes> persistent_;
  std::map<std::string, CallTimes> meshes_;
  std::map<std::string, std::uint64_t> failures_;
  std::chrono::nanoseconds set_up_{};
  std::string source_;
};

}  // namespace colltune
