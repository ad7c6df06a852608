/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Of Open MPI's types, what program_calls.h asks, by the headers of its insides: a call of a
   function for each would take a tenth of a short call. */
#ifndef COLLTUNE_KERNELS_PROGRAM_CALLS_OPEN_MPI_TYPES_H
#define COLLTUNE_KERNELS_PROGRAM_CALLS_OPEN_MPI_TYPES_H

#include "ompi_config.h"

#include "mpi.h"
#include "ompi/datatype/ompi_datatype.h"

static inline size_t bytes_of(MPI_Datatype type, size_t count) {
  size_t size = 0;
  ompi_datatype_type_size(type, &size);
  return size * count;
}

static inline bool is_contiguous(MPI_Datatype type, size_t count, MPI_Aint* start) {
  *start = (MPI_Aint)type->super.true_lb;
  return count <= INT32_MAX && ompi_datatype_is_contiguous_memory_layout(type, (int32_t)count);
}

#endif
