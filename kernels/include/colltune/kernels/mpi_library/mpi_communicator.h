// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "colltune/kernels/communicator.h"

namespace colltune {

/// A pretended placement of the ranks, to try on one machine what happens on others. 0: as it
/// really is.
struct PretendedMachine {
  int ranks_per_node = 0;    ///< nodes of this many consecutive ranks; nodes share no memory
  int ranks_per_domain = 0;  ///< NUMA domains and last-level caches of this many ranks
};

/// How to treat algorithms that Open MPI's control variables name before the world is made.
enum class NamedAlgorithms {
  kept,     ///< they take effect, as in jobs of a user who enables dynamic rules
  cleared,  ///< they have no effect in the user's jobs, so only implementations that force an
            ///< algorithm may use them here
};

/// The world of this MPI job. MPI must be initialized and stay so for the communicator's life.
/// Collective. `device`: where this rank's buffers lie, if not in host memory. `device` and
/// `abort_flag` outlive the communicator and everything made from it. Only in builds with MPI.
[[nodiscard]] std::unique_ptr<Communicator> make_mpi_world(
    AbortFlag& abort_flag, Deadline deadline, const PretendedMachine& pretended = {},
    Device* device = nullptr, NamedAlgorithms named = NamedAlgorithms::kept);

/// The ranks of a program's communicator, an intracommunicator of any ranks of the job, with
/// traffic of their own. Nothing of the program's changes: neither its error handlers nor its
/// attributes. Collective; waits as long as the library does. `comm` points to the MPI_Comm.
/// `most_memory`: how much symmetric memory each rank may have, in all allocations together; the
/// same on all ranks. Ranks are on no NUMA domain and under no cache: finding those out takes too
/// long for a program.
[[nodiscard]] std::unique_ptr<Communicator> make_program_communicator(const void* comm,
                                                                      AbortFlag& abort_flag,
                                                                      Bytes most_memory);

/// The same ranks to be measured inside the program: with NUMA domains and caches, and with what
/// implementations need that set control variables, as make_mpi_world gives them. Algorithms that
/// the program named keep their effect. Collective.
[[nodiscard]] std::unique_ptr<Communicator> make_measured_communicator(const void* comm,
                                                                       AbortFlag& abort_flag,
                                                                       Deadline deadline);

/// Whether the ranks are on several hosts, whatever nodes are pretended. Local.
[[nodiscard]] bool spans_hosts(const Communicator& communicator);

/// Collective: as `communicator.duplicate`, but Open MPI's `component` of coll stands before all
/// others, for the collectives that it has. Throws Error(failed_precondition) without MPI.
[[nodiscard]] std::unique_ptr<Communicator> duplicate_preferring(Communicator& communicator,
                                                                 const char* component,
                                                                 Deadline deadline);

}  // namespace colltune
