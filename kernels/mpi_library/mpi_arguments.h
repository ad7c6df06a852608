// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "colltune/kernels/program_calls/program_executor.h"
#include "colltune/vocabulary/collective.h"
#include "mpi_call.h"

namespace colltune {

/// Where a program's call of ours is run (program_executor.h).
struct ProgramPlace {
  colltune_place* rank = nullptr;
  const int* no_counts = nullptr;  ///< a 0 for each rank
};

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
  ProgramPlace place;        ///< of calls that are translated for kernels of ours
};

/// Makes a persistent request of a collective (MPI_Allreduce_init, …). Returns MPI's code.
using MpiPersistentForm = int (*)(const MpiArguments& with, MPI_Request* request);

/// The persistent form of a collective; null if the library that this was built for has none. MPI
/// has it since version 4; Open MPI 4 has it as an extension (mpi-ext.h).
[[nodiscard]] MpiPersistentForm persistent_form_of(Collective collective, ReduceScatterCall form);

}  // namespace colltune
