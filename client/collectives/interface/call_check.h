// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colltune/collectives/collectives.h"
#include "colltune/collectives/executor.h"
#include "colltune/kernels/operation.h"

namespace colltune {

/// A program's call, as the kernels know it, but for its buffers: the same on all ranks.
struct CheckedCall {
  ProgramCall program;  ///< by which it is chosen
  DataType data_type;   ///< the program's own
  BlockLayout shape;
  std::size_t block = 0;  ///< in bytes
};

/// Throws Error(invalid_argument) if what all ranks give alike is not valid, so on all ranks or
/// none.
[[nodiscard]] CheckedCall check_alike(const CollectiveCall& call, int ranks);

/// A rank's own part of a call.
struct OwnBuffers {
  CallBuffers buffers;
  bool in_place = false;
};
/// Throws Error(invalid_argument) if a buffer that `rank` needs is null, or both overlap otherwise
/// than in place.
[[nodiscard]] OwnBuffers check_own(const CollectiveCall& call, const CheckedCall& checked, int rank,
                                   int ranks);

/// The call that the kernels prepare.
[[nodiscard]] Call kernel_call(const CheckedCall& checked, const OwnBuffers& own);

}  // namespace colltune
