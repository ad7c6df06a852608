// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace faults {

/// Whether this plug-in was built with MPI.
[[nodiscard]] bool can_wait_in_mpi();

/// A barrier of the ranks of `mpi_comm`, a pointer to an MPI_Comm: a wait that no deadline ends.
/// False where there is no MPI.
[[nodiscard]] bool wait_in_mpi(const void* mpi_comm);

}  // namespace faults
