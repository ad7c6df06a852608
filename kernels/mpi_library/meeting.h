// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <string>

#include "colltune/machine/abort_flag.h"

namespace colltune {

/// All ranks of `comm` meet here before a call that nothing can bound in time. Returns when all
/// have come. Collective. On every rank that came, throws RankMissing with the lowest rank that did
/// not come by `deadline`; the communicator must not be used again then.
///
/// `failure` is what went wrong on this rank before it came; empty for nothing. If any rank reports
/// one, all throw Error(`code`) with the text of the lowest such rank.
void meet(MPI_Comm comm, Deadline deadline, const AbortFlag& abort_flag,
          const std::string& failure = {}, StatusCode code = StatusCode::internal);

}  // namespace colltune
