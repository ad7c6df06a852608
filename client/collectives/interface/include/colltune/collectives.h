/* SPDX-FileCopyrightText: The colltune authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COLLTUNE_COLLECTIVES_H
#define COLLTUNE_COLLECTIVES_H

/* Runs collectives by the measured winners of a table file: the stable C interface of
 * libcolltune_collectives.so. Here the ranks are threads of one process; for those of an MPI_Comm
 * include colltune/collectives_mpi.h instead.
 *
 * Functions that can fail return 0, or a status code of gRPC (3 invalid argument, 8 resource
 * exhausted, 9 failed precondition, 10 aborted, ...), and write the text to `error` where that is
 * not NULL. Structures begin with their size, so that they can grow: set it with sizeof, and clear
 * the rest.
 *
 * All ranks make the calls of a communicator in one order, each rank on one thread at a time; calls
 * on different communicators may overlap. A call waits for late ranks without end. After 3, or 8 in
 * a collective, the object can be used as before, unless a rank alone gave a wrong buffer; after
 * any other error its calls return 9, and ranks that wait for this one get 10: at once if they are
 * threads, after a second if they are processes of one node that run one of our algorithms. */

#include <stddef.h>
#include <stdint.h>

#include "colltune/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

typedef struct colltune_collectives colltune_collectives;
typedef struct colltune_rank_threads colltune_rank_threads;
typedef struct colltune_persistent_call colltune_persistent_call;
typedef struct colltune_symmetric_buffer colltune_symmetric_buffer;

/* What is 0 or NULL is taken from the environment. All but the table and its digest must be the
 * same on all ranks. */
typedef struct colltune_collectives_options {
  size_t struct_size;
  /* The table file, which rank 0 alone reads. COLLTUNE_TABLE; else none. */
  const char* table;
  /* The digest that it must have, or its beginning. COLLTUNE_TABLE_DIGEST; else any. */
  const char* table_digest;
  /* Shared memory of each rank for a communicator. COLLTUNE_MEMORY; else 256 MiB. */
  uint64_t memory_bytes;
  /* Which bits are accepted of floating-point sums and products among 3 ranks or more: "library",
   * "any", "same_bits" or "rank_order". COLLTUNE_NUMERICS; else "same_bits". */
  const char* numerics;
} colltune_collectives_options;

/* Numbers that never change. Parameters are ints: any number may come from a caller. */
typedef int colltune_collective_kind;
enum {
  COLLTUNE_KIND_ALL_REDUCE = 0,
  COLLTUNE_KIND_ALL_GATHER = 1,
  COLLTUNE_KIND_REDUCE_SCATTER = 2,
  COLLTUNE_KIND_BROADCAST = 3,
  COLLTUNE_KIND_REDUCE = 4,
  COLLTUNE_KIND_ALL_TO_ALL = 5,
  COLLTUNE_KIND_GATHER = 6,
  COLLTUNE_KIND_SCATTER = 7
};
typedef int colltune_type;
enum {
  COLLTUNE_I8 = 0,
  COLLTUNE_U8 = 1,
  COLLTUNE_I32 = 2,
  COLLTUNE_U32 = 3,
  COLLTUNE_I64 = 4,
  COLLTUNE_U64 = 5,
  COLLTUNE_F16 = 6,
  COLLTUNE_BF16 = 7,
  COLLTUNE_F32 = 8,
  COLLTUNE_F64 = 9,
  COLLTUNE_F8E4M3 = 10,
  COLLTUNE_F8E5M2 = 11
};
typedef int colltune_op;
enum {
  COLLTUNE_NONE = 0, /* of what only moves data */
  COLLTUNE_SUM = 1,
  COLLTUNE_PROD = 2,
  COLLTUNE_MIN = 3,
  COLLTUNE_MAX = 4,
  COLLTUNE_AVG = 5 /* the sum divided by the number of ranks; integers truncate towards zero */
};

/* The ranks of a communicator that are threads of this process; `options` may be NULL. On success
 * *threads is to be given to colltune_rank_threads_free, which may be done as soon as all ranks
 * have made their collectives. */
int colltune_rank_threads_create(int ranks, const colltune_collectives_options* options,
                                 colltune_rank_threads** threads, colltune_error* error);
/* Ends all waits of all ranks, now and later, with 10: for a rank that cannot go on. From any
 * thread. */
void colltune_rank_threads_abandon(colltune_rank_threads* threads);
/* NULL is allowed. */
void colltune_rank_threads_free(colltune_rank_threads* threads);

/* Collective: each of the threads gives another rank. Fails on all ranks if the table cannot be
 * read (9, 15) or has another digest (9). A table that has nothing for these ranks is no error. On
 * success *collectives is to be given to colltune_collectives_free. */
int colltune_collectives_of_threads(colltune_rank_threads* threads, int rank,
                                    colltune_collectives** collectives, colltune_error* error);
/* NULL is allowed. What was made of it lives on until it is freed too. */
void colltune_collectives_free(colltune_collectives* collectives);
/* -1 of NULL. */
int colltune_collectives_rank(const colltune_collectives* collectives);
int colltune_collectives_size(const colltune_collectives* collectives);
/* For a person: what ran how often on this rank and how long it took there, what was saved by the
 * table's times, what did not run and why. Belongs to `collectives`, until the next such call; NULL
 * of NULL or without memory.
 */
const char* colltune_collectives_report(colltune_collectives* collectives);

/* `count` elements are one block: the whole message of all_reduce, broadcast and reduce; what goes
 * from or to each rank in the others, as in MPI. All ranks give the same values, except for the
 * buffers. A buffer that a rank does not use may be NULL. In place, the smaller buffer is a part of
 * the larger one: the same address for all_reduce, reduce and all_to_all; block `rank` for
 * all_gather, reduce_scatter, gather and scatter. All ranks call in place or none; in reduce,
 * gather and scatter only the root can. Buffers that overlap otherwise are an error. */
int colltune_all_reduce(colltune_collectives* collectives, const void* send, void* receive,
                        size_t count, colltune_type type, colltune_op op, colltune_error* error);
int colltune_all_gather(colltune_collectives* collectives, const void* send, void* receive,
                        size_t count, colltune_type type, colltune_error* error);
int colltune_reduce_scatter(colltune_collectives* collectives, const void* send, void* receive,
                            size_t count, colltune_type type, colltune_op op,
                            colltune_error* error);
int colltune_broadcast(colltune_collectives* collectives, void* buffer, size_t count,
                       colltune_type type, int root, colltune_error* error);
int colltune_reduce(colltune_collectives* collectives, const void* send, void* receive,
                    size_t count, colltune_type type, colltune_op op, int root,
                    colltune_error* error);
int colltune_all_to_all(colltune_collectives* collectives, const void* send, void* receive,
                        size_t count, colltune_type type, colltune_error* error);
int colltune_gather(colltune_collectives* collectives, const void* send, void* receive,
                    size_t count, colltune_type type, int root, colltune_error* error);
int colltune_scatter(colltune_collectives* collectives, const void* send, void* receive,
                     size_t count, colltune_type type, int root, colltune_error* error);

/* With a block of another length for each rank, as MPI_Allgatherv and MPI_Reduce_scatter: `counts`
 * gives the elements of each rank's block, which may be 0, in the order of the ranks; `ranks`: how
 * many it lists, which must be as many as the communicator has. In the buffer of all blocks they
 * lie one behind the other. The list is the same on all ranks, and only read during the call. */
int colltune_all_gather_v(colltune_collectives* collectives, const void* send, void* receive,
                          const size_t* counts, size_t ranks, colltune_type type,
                          colltune_error* error);
int colltune_reduce_scatter_v(colltune_collectives* collectives, const void* send, void* receive,
                              const size_t* counts, size_t ranks, colltune_type type,
                              colltune_op op, colltune_error* error);

/* A call by its parts; of a broadcast, `receive` is the buffer. */
typedef struct colltune_collective_call {
  size_t struct_size;
  colltune_collective_kind collective;
  colltune_type type;
  colltune_op op;
  int root;
  size_t count;
  const void* send;
  void* receive;
  /* Of an all_gather or a reduce_scatter with unequal blocks, as colltune_all_gather_v has them;
   * `count` is 0 then. Else NULL and 0. */
  const size_t* counts;
  size_t ranks;
} colltune_collective_call;

/* Collective: prepares a call that is made again and again on these buffers. It runs what the table
 * proved faster for persistent calls; on buffers that all lie in symmetric memory, first what it
 * proved for those. If the arguments of a rank are not valid, all ranks fail, and `collectives` can
 * be used as before. On success *persistent is to be given to colltune_persistent_free. */
int colltune_persistent_init(colltune_collectives* collectives,
                             const colltune_collective_call* call,
                             colltune_persistent_call** persistent, colltune_error* error);
/* A mesh reduction: all_reduces of one tensor of `count` elements, one after another, each over the
 * groups of a step. */
typedef struct colltune_mesh_call {
  size_t struct_size;
  const char* shape; /* ranks along each dimension, the last one's are neighbours: "2x3" */
  const char* steps; /* dimension and operator of each, in order: "0:sum,1:max" */
  colltune_type type;
  size_t count;
  const void* send; /* in place: the address of `receive`, on all ranks */
  void* receive;
} colltune_mesh_call;
/* A mesh reduction as a single call: it runs the form that the table proved faster for ordinary
 * calls of this very mesh and type, if the program can run all its parts; else an all_reduce for
 * each step. The first call over a mesh is set up by all ranks together; if they ask for different
 * ones, all fail with 3, and `collectives` can be used as before. The last 32 meshes are kept. */
int colltune_mesh_reduce(colltune_collectives* collectives, const colltune_mesh_call* call,
                         colltune_error* error);
/* As colltune_persistent_init, for all ranks of the communicator. Runs the form that the table
 * proved faster for persistent calls of this very mesh, if all its parts are kernels of ours or the
 * MPI library's own choice; else an all_reduce for each step. */
int colltune_persistent_init_mesh(colltune_collectives* collectives, const colltune_mesh_call* call,
                                  colltune_persistent_call** persistent, colltune_error* error);
/* All ranks start and complete the calls of a communicator in one order; several may be under way
 * at a time. The library's own collective runs in colltune_persistent_wait as a whole. */
int colltune_persistent_start(colltune_persistent_call* persistent, colltune_error* error);
int colltune_persistent_wait(colltune_persistent_call* persistent, colltune_error* error);
/* What runs: "name{a=1,b=ring}", or "" for the library's own or the plain one; NULL of NULL.
 * Belongs to the call. */
const char* colltune_persistent_variant(const colltune_persistent_call* persistent);
/* NULL is allowed. */
void colltune_persistent_free(colltune_persistent_call* persistent);

/* Collective: `bytes` of memory on each rank, which the other ranks of its node map too, zeroed.
 * Counts as memory_bytes. On success *buffer is to be given to colltune_symmetric_free. */
int colltune_symmetric_allocate(colltune_collectives* collectives, size_t bytes,
                                colltune_symmetric_buffer** buffer, colltune_error* error);
/* The part of `rank`, as it is mapped here; NULL if that rank is on another node, or there is none.
 */
void* colltune_symmetric_part(const colltune_symmetric_buffer* buffer, int rank);
/* Local: when the calls on it are freed and no rank uses this rank's part. NULL is allowed. */
void colltune_symmetric_free(colltune_symmetric_buffer* buffer);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
