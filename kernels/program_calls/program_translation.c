/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */

#include "program_translation.h"

#ifdef COLLTUNE_HAVE_OPEN_MPI_INSIDES
#include "colltune/kernels/program_calls/open_mpi_types.h"
#endif
#include "colltune/kernels/program_calls/program_calls.h"

#ifndef COLLTUNE_HAVE_OPEN_MPI_INSIDES
static inline size_t bytes_of(MPI_Datatype type, size_t count) {
  int size = 0;
  PMPI_Type_size(type, &size);
  return (size_t)size * count;
}
static inline bool is_contiguous(MPI_Datatype type, size_t count, MPI_Aint* start) {
  (void)type; /* predefined, and no pair of two */
  (void)count;
  *start = 0;
  return true;
}
#endif

static inline int code_of(enum colltune_outcome outcome) {
  return COLLTUNE_DONE == outcome ? MPI_SUCCESS : MPI_ERR_OTHER;
}

int colltune_program_allreduce(struct colltune_place* at, const void* send, void* receive,
                               int count, MPI_Datatype type, MPI_Op op) {
  return code_of(run_allreduce(at, send, receive, count, type, op));
}
int colltune_program_allgather(struct colltune_place* at, const void* send, void* receive,
                               int count, MPI_Datatype type) {
  return code_of(run_allgather(at, send, count, type, receive, count, type));
}
int colltune_program_allgatherv(struct colltune_place* at, const void* send, int count,
                                void* receive, const int* counts, const int* displacements,
                                MPI_Datatype type) {
  return code_of(run_allgatherv(at, send, count, type, receive, counts, displacements, type));
}
int colltune_program_reduce_scatter_block(struct colltune_place* at, const void* send,
                                          void* receive, int count, MPI_Datatype type, MPI_Op op) {
  return code_of(run_reduce_scatter_block(at, send, receive, count, type, op));
}
int colltune_program_reduce_scatter(struct colltune_place* at, const void* send, void* receive,
                                    const int* counts, MPI_Datatype type, MPI_Op op) {
  return code_of(run_reduce_scatter(at, send, receive, counts, type, op));
}
int colltune_program_bcast(struct colltune_place* at, void* buffer, int count, MPI_Datatype type,
                           int root) {
  return code_of(run_bcast(at, buffer, count, type, root));
}
int colltune_program_reduce(struct colltune_place* at, const void* send, void* receive, int count,
                            MPI_Datatype type, MPI_Op op, int root) {
  return code_of(run_reduce(at, send, receive, count, type, op, root));
}
int colltune_program_alltoall(struct colltune_place* at, const void* send, void* receive, int count,
                              MPI_Datatype type) {
  return code_of(run_alltoall(at, send, count, type, receive, count, type));
}
int colltune_program_gather(struct colltune_place* at, const void* send, void* receive, int count,
                            MPI_Datatype type, int root) {
  return code_of(run_gather(at, send, count, type, receive, count, type, root));
}
int colltune_program_scatter(struct colltune_place* at, const void* send, void* receive, int count,
                             MPI_Datatype type, int root) {
  return code_of(run_scatter(at, send, count, type, receive, count, type, root));
}
