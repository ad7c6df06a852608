// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The MPI library's own choice for every collective: what the user has without colltune, and the
// baseline of family "mpi". What MPI lacks (f16, bf16, fp8, avg) is composed from what it has.

#include "colltune/kernels/implementation.h"
#include "mpi_library/mpi_call.h"

namespace colltune::mpi {

Implementations make_library_choice() { return make_library_implementations(MpiNames::ordinary); }

}  // namespace colltune::mpi
