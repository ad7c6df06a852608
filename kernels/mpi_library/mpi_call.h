// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "colltune/kernels/communicator.h"
#include "colltune/kernels/implementation.h"

namespace colltune {

/// Which of MPI's calls stands for a reduce_scatter: the block form, or the one with a count per
/// rank, whose algorithms are others.
enum class ReduceScatterCall { block, counts };

/// `call` as an operation over the MPI communicator behind `communicator`, which outlives it:
/// `start` does nothing, `wait` makes MPI's blocking call, without bound, and little besides (of an
/// avg the division, which MPI leaves to its user). `keep` is what has to live as long. Throws
/// Error(failed_precondition) where there is no MPI; `wait` throws Error with the library's text.
[[nodiscard]] std::unique_ptr<Operation> make_mpi_operation(const Communicator& communicator,
                                                            const Call& call,
                                                            ReduceScatterCall form,
                                                            std::unique_ptr<Communicator> keep);

// What the implementations over MPI's blocking calls answer alike.

[[nodiscard]] Support supports_mpi_call(const Problem& problem, const Topology& topology,
                                        const Capability& capability, Collective collective);
[[nodiscard]] Numerics numerics_of_mpi_call(const Problem& problem);
[[nodiscard]] bool is_emulated_mpi_call(const Problem& problem);
/// Adds "mpi.library" where `communicator` has MPI behind it.
void detect_mpi_library(const Communicator& communicator, Capability& capability);

}  // namespace colltune
