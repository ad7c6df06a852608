// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "colltune/db/store.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/members.h"

namespace colltune {

/// The best of one way in which the ranks of a world, or some of them, may do a collective.
struct ModeLine {
  std::string mode;     ///< "baseline", "single", "substituted", "grouped", "partial"
  std::string variant;  ///< the fastest of it that was measured
  int ranks = 0;
  std::string who;  ///< where it is not the whole world: on what
  std::chrono::nanoseconds time{};
  double speedup = 0;  ///< over the baseline of the same ranks; 0: there is none
};

/// What a variant that some ranks lack would take if they all had it: its time on those that have
/// it, times what the baseline takes on all ranks over what it takes on those. An estimate.
struct Estimate {
  std::string variant;
  std::chrono::nanoseconds time{};
  std::string from;  ///< on which ranks it was measured
};

/// Beside `decision`, the published decisions of its sweep for fewer ranks of the same launch.
struct ExecutionModes {
  std::vector<ModeLine> lines;
  std::vector<Estimate> estimates;  ///< the fastest first; of variants that `decision` lacks
};
[[nodiscard]] ExecutionModes modes_of(const Decision& decision,
                                      std::span<const Decision> published);

/// Nothing where there is one mode alone besides the baseline.
[[nodiscard]] std::string modes_text(const ExecutionModes& modes);
[[nodiscard]] nlohmann::json modes_json(const ExecutionModes& modes);

/// A line for each kind of the members: who, and what it runs of the winner.
[[nodiscard]] std::vector<std::string> executed_by(const RankedVariant& winner,
                                                   std::span<const Composition> compositions,
                                                   const Members& members);

}  // namespace colltune
