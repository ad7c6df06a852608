/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* program_calls.h as functions, with predefined types: what MPI's arguments of a call pass in a
   component before a kernel of ours runs. Each returns MPI's code: MPI_ERR_OTHER if the call was
   not run. */
#ifndef COLLTUNE_KERNELS_PROGRAM_CALLS_PROGRAM_TRANSLATION_H
#define COLLTUNE_KERNELS_PROGRAM_CALLS_PROGRAM_TRANSLATION_H

#include "colltune/kernels/program_calls/program_executor.h"

#ifdef __cplusplus
extern "C" {
#endif

int colltune_program_allreduce(struct colltune_place* at, const void* send, void* receive,
                               int count, MPI_Datatype type, MPI_Op op);
int colltune_program_allgather(struct colltune_place* at, const void* send, void* receive,
                               int count, MPI_Datatype type);
int colltune_program_allgatherv(struct colltune_place* at, const void* send, int count,
                                void* receive, const int* counts, const int* displacements,
                                MPI_Datatype type);
int colltune_program_reduce_scatter_block(struct colltune_place* at, const void* send,
                                          void* receive, int count, MPI_Datatype type, MPI_Op op);
int colltune_program_reduce_scatter(struct colltune_place* at, const void* send, void* receive,
                                    const int* counts, MPI_Datatype type, MPI_Op op);
int colltune_program_bcast(struct colltune_place* at, void* buffer, int count, MPI_Datatype type,
                           int root);
int colltune_program_reduce(struct colltune_place* at, const void* send, void* receive, int count,
                            MPI_Datatype type, MPI_Op op, int root);
int colltune_program_alltoall(struct colltune_place* at, const void* send, void* receive, int count,
                              MPI_Datatype type);
int colltune_program_gather(struct colltune_place* at, const void* send, void* receive, int count,
                            MPI_Datatype type, int root);
int colltune_program_scatter(struct colltune_place* at, const void* send, void* receive, int count,
                             MPI_Datatype type, int root);

#ifdef __cplusplus
}
#endif
#endif
