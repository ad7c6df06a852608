// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/execution/called_as_in_programs.h"

#include <utility>

namespace colltune {

CalledAsInPrograms::CalledAsInPrograms(std::unique_ptr<Operation> prepared, const Call& call)
    : call_{.collective = call.problem.collective,
            .data_type =
                shape_of(call.problem.collective).reduces ? call.problem.data_type : DataType::u8,
            .reduce_op = call.problem.reduce_op,
            .root = shape_of(call.problem.collective).has_root ? call.root : 0,
            .message_size = call.problem.message_size,
            .counts = call.problem.counts},
      in_place_(call.problem.in_place),
      buffers_(call.buffers),
      blocks_(call.blocks.begin(), call.blocks.end()),
      prepared_(*prepared),
      path_(CallLog(), 1, nullptr) {
  path_.adopt(only, call_, in_place_, blocks_, std::move(prepared));
}

void CalledAsInPrograms::start() { start(begin(call_), buffers_, blocks_); }

void CalledAsInPrograms::wait(Deadline deadline) {
  complete(deadline);
  finish();
}

}  // namespace colltune
