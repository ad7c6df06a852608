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

/// The best variant of one mode in which the ranks of a world, or some of them, may run a
/// collective.
struct ModeLine {
  std::string mode;     ///< "baseline", "single", "substituted", "grouped", "partial"
  std::string variant;  ///< the fastest measured variant of the mode
  int ranks = 0;
  std::string who;  ///< which ranks, if it is not the whole world
  std::chrono::nanoseconds time{};
  double speedup = 0;  ///< over the baseline of the same ranks; 0: no baseline
};

/// An estimate of what a variant that some ranks lack would take if all ranks had it: its time on
/// the ranks that have it, times the ratio of the baseline's time on all ranks to that on these
/// ranks.
struct Estimate {
  std::string variant;
  std::chrono::nanoseconds time{};
  std::string from;  ///< the ranks on which it was measured
};

/// `decision` together with the published decisions of its sweep for fewer ranks of the same
/// launch.
struct ExecutionModes {
  std::vector<ModeLine> lines;
  std::vector<Estimate> estimates;  ///< fastest first; for variants that `decision` lacks
};
[[nodiscard]] ExecutionModes modes_of(const Decision& decision,
                                      std::span<const Decision> published);

/// Empty if the baseline is accompanied by only one mode.
[[nodiscard]] std::string modes_text(const ExecutionModes& modes);
[[nodiscard]] nlohmann::json modes_json(const ExecutionModes& modes);

/// One line for each kind of the members: its ranks, and which part of the winner they run.
[[nodiscard]] std::vector<std::string> executed_by(const RankedVariant& winner,
                                                   std::span<const Composition> compositions,
                                                   const Members& members);

}  // namespace colltune
