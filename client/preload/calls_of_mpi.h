/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What the preloaded library and its front have to do with each other. Needs MPI's types alone. */
#ifndef COLLTUNE_PRELOAD_CALLS_OF_MPI_H
#define COLLTUNE_PRELOAD_CALLS_OF_MPI_H

#include <mpi.h>
#include <stdbool.h>

/* The calls that may be ours: each(MPI's name, ours, parameters, arguments). */
#define COLLTUNE_MOVED                                                                         \
  (const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count, \
   MPI_Datatype receive_type, MPI_Comm comm)
#define COLLTUNE_MOVED_ROOTED                                                                  \
  (const void* send, int send_count, MPI_Datatype send_type, void* receive, int receive_count, \
   MPI_Datatype receive_type, int root, MPI_Comm comm)
#define COLLTUNE_REDUCED \
  (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
#define COLLTUNE_GATHERED_BLOCKS                                                               \
  (const void* send, int send_count, MPI_Datatype send_type, void* receive, const int* counts, \
   const int* displacements, MPI_Datatype receive_type, MPI_Comm comm)
#define COLLTUNE_CALLS(each)                                                                       \
  each(Allgatherv, allgatherv, COLLTUNE_GATHERED_BLOCKS,                                           \
       (send, send_count, send_type, receive, counts, displacements, receive_type, comm))          \
      each(Allreduce, allreduce, COLLTUNE_REDUCED, (send, receive, count, type, op, comm)) each(   \
          Reduce_scatter_block, reduce_scatter_block, COLLTUNE_REDUCED,                            \
          (send, receive, count, type, op, comm)) each(Reduce_scatter, reduce_scatter,             \
                                                       (const void* send, void* receive,           \
                                                        const int* counts, MPI_Datatype type,      \
                                                        MPI_Op op, MPI_Comm comm),                 \
                                                       (send, receive, counts, type, op, comm))    \
          each(Reduce, reduce,                                                                     \
               (const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,          \
                int root, MPI_Comm comm),                                                          \
               (send, receive, count, type, op, root,                                              \
                comm)) each(Bcast, bcast,                                                          \
                            (void* buffer, int count, MPI_Datatype type, int root, MPI_Comm comm), \
                            (buffer, count, type, root, comm))                                     \
              each(Allgather, allgather, COLLTUNE_MOVED,                                           \
                   (send, send_count, send_type, receive, receive_count, receive_type, comm))      \
                  each(Alltoall, alltoall, COLLTUNE_MOVED,                                         \
                       (send, send_count, send_type, receive, receive_count, receive_type, comm))  \
                      each(Gather, gather, COLLTUNE_MOVED_ROOTED,                                  \
                           (send, send_count, send_type, receive, receive_count, receive_type,     \
                            root, comm)) each(Scatter, scatter, COLLTUNE_MOVED_ROOTED,             \
                                              (send, send_count, send_type, receive,               \
                                               receive_count, receive_type, root, comm))

struct colltune_calls {
#define COLLTUNE_DECLARE(mpi, own, parameters, arguments) int(*own) parameters;
  COLLTUNE_CALLS(COLLTUNE_DECLARE)
#undef COLLTUNE_DECLARE
};

/* The front: what stands before the MPI library's collectives. */
struct colltune_front {
  struct colltune_calls calls; /* between `begin` and `end` */
  bool (*begin)(void);         /* MPI_Init has succeeded; false: this process takes no part */
  void (*end)(void);           /* before the library's MPI_Finalize */
  void (*close)(void);         /* after it, or after an MPI_Init that failed */
};

/* The front's only symbol: called once, before the library's MPI_Init. `library`: its own calls.
   Null if this process takes no part; if a table is named, a line on stderr says why. */
#define COLLTUNE_FRONT_OPEN "colltune_front_open"
typedef const struct colltune_front* colltune_front_open_function(
    const struct colltune_calls* library);
extern colltune_front_open_function colltune_front_open;

#endif
