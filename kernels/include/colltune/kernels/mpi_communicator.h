// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "colltune/kernels/communicator.h"

namespace colltune {

/// The world of this MPI job (MPI is initialized and stays so for the communicator's life).
/// Collective. `abort_flag` outlives the communicator and everything made from it. Above 0,
/// `pretended_ranks_per_node` makes nodes of so many consecutive ranks each, which share no memory:
/// to try on one machine what a cluster does. Only in builds with MPI.
[[nodiscard]] std::unique_ptr<Communicator> make_mpi_world(AbortFlag& abort_flag, Deadline deadline,
                                                           int pretended_ranks_per_node = 0);

/// What must stand in the environment of a process before MPI_Init so that implementations can
/// force algorithms (Open MPI: use_dynamic_rules). Called before MPI_Init; leaves alone what the
/// user has set.
void prepare_mpi_environment();

}  // namespace colltune
