// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "between_stages.h"
#include "grouped_groups.h"

namespace colltune {

/// Where one rank's data lies in each stage of a collective by groups, and what it copies before
/// each. A stage in which this rank takes no part has no buffers, but its copies are still this
/// rank's.
struct GroupedLayout {
  struct Stage {
    Copies copies{};
    CallBuffers buffers{};
  };

  Stage before{};
  Stage bridge{};
  Division division{};  ///< after the bridge, on leaders if the collective averages
  Stage after{};
};

/// The layout for `rank`. `call.buffers` are that rank's; `device` is where they lie, null: in host
/// memory. Intermediate data goes into `memory`, which stays zero wherever nothing is written.
[[nodiscard]] GroupedLayout make_grouped_layout(const Call& call, const Groups& groups, int rank,
                                                Device* device, StageMemory& memory);

}  // namespace colltune
