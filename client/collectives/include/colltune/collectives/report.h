// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <map>
#include <string>

#include "colltune/collectives/executor.h"

namespace colltune {

/// What one process's calls came to, over all its communicators.
class Report {
 public:
  /// Adds the calls of a communicator that ends.
  void add(const Executor& executor);
  /// For a person: what ran how often on this `rank`, what was left to the library, and what was
  /// saved by the table's times.
  [[nodiscard]] std::string text(int rank = 0) const;

 private:
  int communicators_ = 0;
  std::map<std::string, Executor::Tally> ran_;
  std::array<std::uint64_t, enum_names(Collective{}).size()> left_{};
  std::map<std::string, std::uint64_t> failures_;
  std::string source_;
};

}  // namespace colltune
