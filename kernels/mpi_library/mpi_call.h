// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "colltune/kernels/communicator.h"
#include "colltune/kernels/implementation.h"

namespace colltune {

/// Which MPI function does a reduce_scatter: the block form, or the form with a count per rank,
/// which uses other algorithms.
enum class ReduceScatterCall { block, counts };

/// By which names MPI's blocking collectives are called: those that programs call and tools
/// intercept, or the profiling ones (PMPI_). All else goes by the latter.
enum class MpiNames { ordinary, profiling };

/// `call` as an operation over the MPI communicator of `communicator`, which outlives it. `start`
/// does nothing; `wait` makes MPI's blocking call, without a bound in time, and little else (for an
/// avg the division, which MPI leaves to its user). To `rebind` it to another type or operator that
/// MPI lacks makes an MPI_Op. `keep` is kept alive as long as the operation.
/// Throws Error(failed_precondition) if there is no MPI; `wait` throws Error with the library's
/// text.
[[nodiscard]] std::unique_ptr<Operation> make_mpi_operation(const Communicator& communicator,
                                                            const Call& call,
                                                            ReduceScatterCall form,
                                                            std::unique_ptr<Communicator> keep,
                                                            MpiNames names = MpiNames::ordinary);

/// The same by the persistent form (MPI_Allreduce_init, …); null if the library that this was built
/// for has none, or if the message is empty. Its buffers stay those of `call`.
[[nodiscard]] std::unique_ptr<Operation> make_persistent_mpi_operation(
    const Communicator& communicator, const Call& call, ReduceScatterCall form);

/// The same for a call that is started again and again as it is: MPI's ordinary call or its
/// persistent form, whichever is the faster one here (MAX over the ranks; Operation::executed says
/// which). Collective.
[[nodiscard]] std::unique_ptr<Operation> make_faster_mpi_operation(
    Communicator& communicator, const Call& call, ReduceScatterCall form, Deadline deadline,
    MpiNames names = MpiNames::ordinary);

/// The library's own choice for every collective as implementations ("mpi.all_reduce", …).
[[nodiscard]] Implementations make_library_implementations(MpiNames names);

// Answers that all implementations over MPI's blocking calls share.

[[nodiscard]] Support supports_mpi_call(const Problem& problem, const Topology& topology,
                                        const Capability& capability, Collective collective);
[[nodiscard]] Numerics numerics_of_mpi_call(const Problem& problem);
[[nodiscard]] CallTraits traits_of_mpi_call(const Problem& problem);
/// Adds "mpi.library" if `communicator` is based on MPI.
void detect_mpi_library(const Communicator& communicator, Capability& capability);

}  // namespace colltune
