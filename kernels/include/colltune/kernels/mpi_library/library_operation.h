// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "colltune/kernels/communicator.h"
#include "colltune/kernels/implementation.h"
#include "colltune/kernels/operation.h"

namespace colltune {

/// `call` as the MPI library does it by its own choice of algorithm, without a bound in time; what
/// MPI lacks (f16, bf16, fp8, avg) is composed from what it has. Of a persistent call its ordinary
/// or its persistent form, whichever is the faster one here; then collective. Calls MPI by its
/// profiling names (PMPI_), so tools do not take it for a call of the program. A broadcast is in
/// place, a reduce_scatter is not; a block has at most INT_MAX elements, and so have all of unequal
/// lengths together. Only in builds with MPI, and for communicators over MPI.
[[nodiscard]] std::unique_ptr<Operation> make_library_operation(Communicator& communicator,
                                                                const Call& call,
                                                                Deadline deadline);

/// The library's own choice for every collective ("mpi.all_reduce", …) by its profiling names, for
/// parts of compositions that run inside a program. Only in builds with MPI.
[[nodiscard]] Implementations make_program_implementations();

}  // namespace colltune
