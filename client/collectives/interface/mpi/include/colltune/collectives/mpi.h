// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "colltune/collectives/collectives.h"

namespace colltune {

/// Collective over `comm`, an intracommunicator: the collectives of its ranks, with a communicator
/// of their own, so that they do not meet other calls on `comm`. Neither error handlers nor
/// attributes of `comm` change; all of MPI is called by its profiling names. It may be freed
/// meanwhile; MPI must stay initialized as long as the object and what was made of it live, and
/// allow the calls on the threads that make them.
///
/// Throws Error on all ranks if one rank's options are not valid (invalid_argument) or differ from
/// those of rank 0, the ranks run different builds of colltune, or the table was measured with
/// another MPI library than the one that runs, which it names (failed_precondition); else as
/// Collectives over threads.
[[nodiscard, gnu::visibility("default")]] Collectives make_collectives(
    MPI_Comm comm, const CollectivesOptions& options = {});

}  // namespace colltune
