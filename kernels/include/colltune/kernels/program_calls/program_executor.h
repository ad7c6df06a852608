/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What runs the calls of a program on one communicator, as the translation of MPI's arguments sees
   it (program_calls.h): in C, since that is compiled into components of MPI libraries, too. */
#ifndef COLLTUNE_KERNELS_PROGRAM_CALLS_PROGRAM_EXECUTOR_H
#define COLLTUNE_KERNELS_PROGRAM_CALLS_PROGRAM_EXECUTOR_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "colltune/kernels/execution/call_lines.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The collectives, with the numbers of the vocabulary. */
enum colltune_collective {
  COLLTUNE_ALL_REDUCE = 0,
  COLLTUNE_ALL_GATHER = 1,
  COLLTUNE_REDUCE_SCATTER = 2,
  COLLTUNE_BROADCAST = 3,
  COLLTUNE_REDUCE = 4,
  COLLTUNE_ALL_TO_ALL = 5,
  COLLTUNE_GATHER = 6,
  COLLTUNE_SCATTER = 7,
  COLLTUNE_COLLECTIVES = 8
};

/* What became of a call. */
enum colltune_outcome {
  COLLTUNE_DONE = 0,
  COLLTUNE_LEFT = 1,  /* all ranks leave it to the library */
  COLLTUNE_FAILED = 2 /* who runs the call knows the error */
};

/* The buffers of a call on this rank, null where it has none. In place they overlap as the
   vocabulary says (CallBuffers). */
struct colltune_buffers {
  const void* send;
  size_t send_bytes;
  void* receive;
  size_t receive_bytes;
  bool in_place;
  bool is_copied_back; /* what was received, after the call: `finish` follows then */
};

/* A call that is left to the library whenever it is made on a communicator. */
struct colltune_left_call {
  size_t amount; /* bytes of the message, or elements of a reduction; 0: none is known */
  int root;
  MPI_Datatype type; /* and operator, of a reduction */
  MPI_Op op;
  struct colltune_call_entry entry; /* what is written down of it */
};

struct colltune_call_functions;

/* The calls of one communicator on this rank: what callers see of it. */
typedef struct colltune_executor {
  const struct colltune_call_functions* functions;
  /* By collective, the latest call with blocks of one length. Who makes it again writes it into
     `lines` and has neither to begin nor to finish it. */
  struct colltune_left_call left[COLLTUNE_COLLECTIVES];
  struct colltune_call_lines* lines;
  bool is_counted; /* all calls are, and some timed: none is in `left` */
} colltune_executor;

/* What an executor does. Nothing here throws. */
struct colltune_call_functions {
  /* The call's number for `run`; 0: it is left to the library, on all ranks. `message`: the bytes
     of the larger of one rank's buffers. */
  unsigned (*begin_move)(colltune_executor* executor, enum colltune_collective collective, int root,
                         size_t message);
  unsigned (*begin_reduction)(colltune_executor* executor, enum colltune_collective collective,
                              int root, size_t count, MPI_Datatype type, MPI_Op op);
  /* The same of a call with a block per rank: `counts` elements of `unit` bytes each, of each of
     `ranks` ranks, the same on all. */
  unsigned (*begin_moves)(colltune_executor* executor, enum colltune_collective collective,
                          const int* counts, int ranks, size_t unit);
  unsigned (*begin_reductions)(colltune_executor* executor, enum colltune_collective collective,
                               const int* counts, int ranks, MPI_Datatype type, MPI_Op op);
  /* Of the call that was begun so: where the block of each rank begins in a buffer of all, in
     bytes, and where the last one ends. */
  const size_t* (*block_starts)(const colltune_executor* executor);
  /* The call that was begun last; it is over when it is done. */
  enum colltune_outcome (*run)(colltune_executor* executor, unsigned choice,
                               const struct colltune_buffers* buffers);
  /* The call that was begun last is over. Not needed of a call that was left where calls are not
     counted. */
  void (*finish)(colltune_executor* executor);
  /* Memory of the executor that lives until the next call; null if there is none. `which`: 0 or 1.
   */
  void* (*memory)(colltune_executor* executor, int which, size_t bytes);
  /* Says why a call fails on this rank, of which the others know nothing. */
  void (*say)(const char* why);
};

/* One rank of a communicator. */
struct colltune_place {
  colltune_executor* executor; /* null: nothing of ours runs */
  MPI_Comm comm;
  int ranks;
  int rank;
  int error; /* the code of an error that the library has reported already; else MPI_SUCCESS */
};

#ifdef __cplusplus
}
#endif
#endif
