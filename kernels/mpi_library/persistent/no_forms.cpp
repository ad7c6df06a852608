// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// For an MPI library without persistent collectives.

#include "mpi_library/mpi_arguments.h"

namespace colltune {

MpiPersistentForm persistent_form_of(Collective /*collective*/, ReduceScatterCall /*form*/) {
  return nullptr;
}

}  // namespace colltune
