// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "mpi_wait.h"

#include <mpi.h>

namespace faults {

bool can_wait_in_mpi() { return true; }

bool wait_in_mpi(const void* mpi_comm) {
  return mpi_comm != nullptr && MPI_Barrier(*static_cast<const MPI_Comm*>(mpi_comm)) == MPI_SUCCESS;
}

}  // namespace faults
