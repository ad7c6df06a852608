// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "colltune/vocabulary/problem.h"
#include "colltune/vocabulary/topology.h"

namespace colltune {

/// Why a CPU kernel for `collective` cannot serve `problem`; empty if it can.
[[nodiscard]] inline std::string why_not_on_processors(Collective collective,
                                                       const Problem& problem) {
  if (problem.collective != collective) return "it is for " + std::string(name_of(collective));
  if (problem.graph_capture) return "it runs on the processor; no device graph can hold it";
  return {};
}

/// The same for a kernel that works only in shared memory.
[[nodiscard]] inline std::string why_not_in_shared_memory(Collective collective,
                                                          const Problem& problem,
                                                          const Topology& topology) {
  if (std::string why = why_not_on_processors(collective, problem); !why.empty()) return why;
  if (topology.nodes > 1)
    return "it works in shared memory; the ranks are on " + std::to_string(topology.nodes) +
           " nodes";
  return {};
}

}  // namespace colltune
