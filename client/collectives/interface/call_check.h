// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "colltune/collectives/collectives.h"
#include "colltune/collectives/executor.h"
#include "colltune/kernels/operation.h"

namespace colltune {

/// A program's call, as the kernels know it, but for its buffers: the same on all ranks.
struct CheckedCall {
  ProgramCall program;  ///< by which it is chosen
  DataType data_type;   ///< the program's own
  BlockLayout shape;
  std::size_t block = 0;  ///< in bytes; of unequal counts: none
  /// Bytes of each rank's block if counts are unequal, else empty (Call::blocks).
  std::span<const std::size_t> blocks{};
  /// Whether one of those is empty: its rank cannot know whether the others call in place, so none
  /// of them may make a call in place of the kernels.
  bool has_empty_block = false;
};

/// Throws Error(invalid_argument) if what all ranks give alike is not valid, so on all ranks or
/// none. `blocks`: what CheckedCall::blocks refers to.
[[nodiscard]] CheckedCall check_alike(const CollectiveCall& call, int ranks,
                                      std::vector<std::size_t>& blocks);

/// A rank's own part of a call.
struct OwnBuffers {
  CallBuffers buffers;
  bool in_place = false;
};
/// Throws Error(invalid_argument) if a buffer that `rank` needs is null, or both overlap otherwise
/// than in place.
[[nodiscard]] OwnBuffers check_own(const CollectiveCall& call, const CheckedCall& checked,
                                   int rank);

/// The call that the kernels prepare.
[[nodiscard]] Call kernel_call(const CheckedCall& checked, const OwnBuffers& own);

}  // namespace colltune
