// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

/// What the two processes told, and what it means: a pure function.
namespace colltune {

inline constexpr std::size_t pair_ranks = 2;

/// Of one process.
struct PairReport {
  std::vector<nlohmann::json> events;  ///< in the order in which it told them
  std::string end;                     ///< how the process ended, where not by itself: "signal 9"
};

struct PairVerdict {
  std::vector<std::string> lines;     ///< for a person
  std::vector<std::string> findings;  ///< those among them that are
  int exit_code = 0;
  nlohmann::json result;  ///< all of it
};

[[nodiscard]] PairVerdict judge_pair(const std::array<PairReport, pair_ranks>& reports);

}  // namespace colltune
