// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <string>

#include "colltune/machine/abort_flag.h"

namespace colltune {

/// Where all ranks of `comm` meet before a call that nothing could bound: returns when all have
/// come. Collective. Throws RankMissing, on every rank that came, which names the lowest rank that
/// did not come until `deadline`; the communicator must not be used again then.
///
/// `failure` is what went wrong on this rank before it came, empty for nothing: where one rank
/// reports one, all throw Error(`code`) with the text of the lowest such rank.
void meet(MPI_Comm comm, Deadline deadline, const AbortFlag& abort_flag,
          const std::string& failure = {}, StatusCode code = StatusCode::internal);

}  // namespace colltune
