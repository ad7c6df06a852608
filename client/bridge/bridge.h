/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Between an MPI library's structures, which are C, and the kernels. Nothing here throws. */
#ifndef COLLTUNE_BRIDGE_BRIDGE_H
#define COLLTUNE_BRIDGE_BRIDGE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "colltune/kernels/execution/call_lines.h"
#include "looks.h"

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
  COLLTUNE_FAILED = 2 /* the error is on stderr */
};

/* Reads the settings from the environment, once per process. Returns whether to take part; if not
   although a table is named, a line on stderr says why. `built_for`: the MPI library
   whose headers this was built with, "Open MPI 4.1" say. `begun`: when the process began its MPI,
   in ns of clock.h. May be called before MPI_Init. */
bool colltune_open(const char* built_for, int64_t begun);
/* Prints the report, if one is asked for and this is the job's first rank. */
void colltune_close(bool is_first_rank);
/* What must be equal on all ranks, as text: the build and the settings. Only after colltune_open.
 */
const char* colltune_fingerprint(void);
/* What this rank says in a look at a communicator in whose collectives it has spent `spent` ns.
   `ranks_here`: of the job on this host. Only after colltune_open. */
struct colltune_look colltune_own_look(int64_t spent, int ranks_here);
/* Says once per process, on stderr, why the library's own collectives run. */
void colltune_say(const char* why);

/* A call that is left to the library whenever it is made on a communicator. */
struct colltune_left_call {
  size_t amount; /* bytes of the message, or elements of a reduction; 0: none is known */
  int root;
  MPI_Datatype type; /* and operator, of a reduction */
  MPI_Op op;
  struct colltune_call_entry entry; /* what is written down of it */
};

/* The calls of one communicator on this rank: what callers see of it. */
typedef struct colltune_executor {
  /* By collective, the latest call with blocks of one length. Who makes it again writes it into
     `lines` and has neither to begin nor to finish it. */
  struct colltune_left_call left[COLLTUNE_COLLECTIVES];
  struct colltune_call_lines* lines;
  bool is_counted; /* all calls are, and some timed: none is in `left` */
} colltune_executor;

/* Collective, with the library's own collectives on `comm`. `progress` lets the library go on. Null
   if nothing of ours runs; then it is so on all ranks. */
colltune_executor* colltune_set_up(MPI_Comm comm, void (*progress)(void));
void colltune_tear_down(colltune_executor* executor);

/* Whether any call of the collective whose blocks are of one length may be ours. */
bool colltune_is_used(const colltune_executor* executor, enum colltune_collective collective);
/* The same where their lengths differ. */
bool colltune_is_used_unequal(const colltune_executor* executor,
                              enum colltune_collective collective);

/* The call's number for colltune_run; 0: it is left to the library, on all ranks. `message`: the
   bytes of the larger of one rank's buffers. */
unsigned colltune_begin_move(colltune_executor* executor, enum colltune_collective collective,
                             int root, size_t message);
unsigned colltune_begin_reduction(colltune_executor* executor, enum colltune_collective collective,
                                  int root, size_t count, MPI_Datatype type, MPI_Op op);
/* The same of a call with a block per rank: `counts` elements of `unit` bytes each, of each of
   `ranks` ranks, the same on all. */
unsigned colltune_begin_moves(colltune_executor* executor, enum colltune_collective collective,
                              const int* counts, int ranks, size_t unit);
unsigned colltune_begin_reductions(colltune_executor* executor, enum colltune_collective collective,
                                   const int* counts, int ranks, MPI_Datatype type, MPI_Op op);
/* Of the call that was begun so: where the block of each rank begins in a buffer of all, in bytes,
   and where the last one ends. */
const size_t* colltune_block_starts(const colltune_executor* executor);

/* The buffers of a call on this rank, null where it has none. In place they overlap as the
 * vocabulary says (CallBuffers). */
struct colltune_buffers {
  const void* send;
  size_t send_bytes;
  void* receive;
  size_t receive_bytes;
  bool in_place;
  bool is_copied_back; /* what was received, after the call: colltune_finish follows then */
};
/* The call that was begun last; it is over when it is done. */
enum colltune_outcome colltune_run(colltune_executor* executor, unsigned choice,
                                   const struct colltune_buffers* buffers);

/* The call that was begun last is over. Not needed of a call that was left where calls are
   not counted. */
void colltune_finish(colltune_executor* executor);

/* Memory of the executor that lives until the next call; null if there is none. `which`: 0 or 1. */
void* colltune_memory(colltune_executor* executor, int which, size_t bytes);

#ifdef __cplusplus
}
#endif
#endif
