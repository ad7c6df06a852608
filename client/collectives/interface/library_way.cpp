// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <climits>

#include "colltune/collectives/executor.h"
#include "colltune/kernels/mpi_library/library_operation.h"
#include "plain_calls.h"

namespace colltune {

PlainWay make_library_way() {
  return {
      .prepare = [](Communicator& communicator,
                    const Call& call) { return make_library_operation(communicator, call, never); },
      .most_elements = INT_MAX,
      .scatters_in_place = false};
}

}  // namespace colltune
