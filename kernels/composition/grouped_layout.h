// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

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

/// Fills `layout`, whose lists of copies are empty, for `rank`. `call.buffers` are that rank's;
/// `device` is where they lie, null: in host memory. Intermediate data goes into `memory`. What it
/// holds where nothing is written enters no result.
void lay_out_groups(const Call& call, const Groups& groups, int rank, Device* device,
                    StageMemory& memory, GroupedLayout& layout);

/// The most that lay_out_groups takes of a reserve on a leader, for calls of `collective` of up to
/// `largest` bytes.
[[nodiscard]] Bytes grouped_reserve(Collective collective, Bytes largest, const Groups& groups);
/// The most copies that it writes into one list.
[[nodiscard]] std::size_t most_grouped_copies(Collective collective, const Groups& groups);

}  // namespace colltune
