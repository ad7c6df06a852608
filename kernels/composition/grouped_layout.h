// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "between_steps.h"
#include "grouped_groups.h"

namespace colltune {

/// Where one rank's data lies in each step of a collective by groups, and what it copies before.
/// Steps that this rank has no part in have no buffers; their copies are its own all the same.
struct GroupedLayout {
  struct Step {
    Copies copies{};
    CallBuffers buffers{};
  };

  Step before{};
  Step bridge{};
  Division division{};  ///< behind the bridge, on leaders where the collective averages
  Step after{};
};

/// That of `rank`. `call.buffers` are those of the rank; `device` is where they lie, null: in the
/// host's memory. What lies between the steps goes into `memory`, zeros where nothing is put.
[[nodiscard]] GroupedLayout make_grouped_layout(const Call& call, const Groups& groups, int rank,
                                                Device* device, StepMemory& memory);

}  // namespace colltune
