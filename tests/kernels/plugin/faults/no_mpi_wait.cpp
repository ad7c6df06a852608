// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// In place of mpi_wait.cpp in a build without MPI.

#include "mpi_wait.h"

namespace faults {

bool can_wait_in_mpi() { return false; }
bool wait_in_mpi(const void*) { return false; }

}  // namespace faults
