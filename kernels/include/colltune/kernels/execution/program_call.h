// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/problem.h"

namespace colltune {

/// A call as MPI guarantees it to be equal on all ranks.
struct ProgramCall {
  Collective collective = Collective::all_reduce;
  DataType data_type = DataType::u8;  ///< u8 unless it reduces
  ReduceOp reduce_op = ReduceOp::none;
  int root = 0;
  Bytes message_size;
  Counts counts = Counts::equal;

  friend bool operator==(const ProgramCall&, const ProgramCall&) = default;
};
/// A mesh reduction, as it is written down: `mesh` is its number on the communicator.
[[nodiscard]] ProgramCall mesh_program_call(DataType type, Bytes message_size, int mesh) noexcept;
/// "broadcast of 16 bytes, root 0".
[[nodiscard]] std::string describe(const ProgramCall& call);

}  // namespace colltune
