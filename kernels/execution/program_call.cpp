// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/execution/program_call.h"

#include <fmt/format.h>

namespace colltune {

ProgramCall mesh_program_call(DataType type, Bytes message_size, int mesh) noexcept {
  // No all_reduce is without an operator, and none has a root.
  return {.collective = Collective::all_reduce,
          .data_type = type,
          .reduce_op = ReduceOp::none,
          .root = mesh,
          .message_size = message_size};
}

std::string describe(const ProgramCall& call) {
  if (call.collective == Collective::all_reduce && call.reduce_op == ReduceOp::none)
    return fmt::format("mesh_reduce {} of {} bytes, over mesh {} of this communicator",
                       name_of(call.data_type), call.message_size.value, call.root);
  std::string text(name_of(call.collective));
  const BlockLayout shape = shape_of(call.collective);
  if (call.counts != Counts::equal) text += fmt::format(" {}", name_of(call.counts));
  if (shape.reduces)
    text += fmt::format(" {} {}", name_of(call.data_type), name_of(call.reduce_op));
  text += fmt::format(" of {} bytes", call.message_size.value);
  if (shape.has_root) text += fmt::format(", root {}", call.root);
  return text;
}

}  // namespace colltune
