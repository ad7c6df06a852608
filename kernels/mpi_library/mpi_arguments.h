// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "colltune/vocabulary/collective.h"
#include "mpi_call.h"

namespace colltune {

/// The arguments of an MPI call, resolved once: short calls are compared with a program that calls
/// MPI directly.
struct MpiArguments {
  MPI_Comm comm;
  const void* send;
  void* receive;
  int count;
  MPI_Datatype type;
  MPI_Op op;
  int root;
  const int* counts;         ///< of MPI_Reduce_scatter and MPI_Allgatherv
  const int* displacements;  ///< of MPI_Allgatherv
};

/// Makes a persistent request of a collective (MPI_Allreduce_init, …). Returns MPI's code.
using MpiPersistentForm = int (*)(const MpiArguments& with, MPI_Request* request);

/// The persistent form of a collective; null if the library that this was built for has none. MPI
/// has it since version 4; Open MPI 4 has it as an extension (mpi-ext.h).
[[nodiscard]] MpiPersistentForm persistent_form_of(Collective collective, ReduceScatterCall form);

}  // namespace colltune
