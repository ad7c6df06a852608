/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Between Open MPI's structures, which are C, and the trace. Nothing here throws. */
#ifndef COLLTUNE_OPEN_MPI_RECORDING_H
#define COLLTUNE_OPEN_MPI_RECORDING_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The calls, with the numbers of TracedOperation. */
enum colltune_traced {
  COLLTUNE_TRACED_ALL_REDUCE = 0,
  COLLTUNE_TRACED_ALL_GATHER = 1,
  COLLTUNE_TRACED_REDUCE_SCATTER = 2,
  COLLTUNE_TRACED_BROADCAST = 3,
  COLLTUNE_TRACED_REDUCE = 4,
  COLLTUNE_TRACED_ALL_TO_ALL = 5,
  COLLTUNE_TRACED_GATHER = 6,
  COLLTUNE_TRACED_SCATTER = 7,
  COLLTUNE_TRACED_ALL_GATHER_V = 8,
  COLLTUNE_TRACED_REDUCE_SCATTER_V = 9,
  COLLTUNE_TRACED_ALL_TO_ALL_V = 10,
  COLLTUNE_TRACED_ALL_TO_ALL_W = 11,
  COLLTUNE_TRACED_GATHER_V = 12,
  COLLTUNE_TRACED_SCATTER_V = 13,
  COLLTUNE_TRACED_BARRIER = 14,
  COLLTUNE_TRACED_SCAN = 15,
  COLLTUNE_TRACED_EXSCAN = 16,
  COLLTUNE_TRACED_NEIGHBOR_ALL_GATHER = 17,
  COLLTUNE_TRACED_NEIGHBOR_ALL_GATHER_V = 18,
  COLLTUNE_TRACED_NEIGHBOR_ALL_TO_ALL = 19,
  COLLTUNE_TRACED_NEIGHBOR_ALL_TO_ALL_V = 20,
  COLLTUNE_TRACED_NEIGHBOR_ALL_TO_ALL_W = 21
};
/* With the numbers of CountShape. */
enum colltune_count_shape {
  COLLTUNE_COUNTS_EQUAL = 0,
  COLLTUNE_COUNTS_ONE_LARGE = 1,
  COLLTUNE_COUNTS_MIXED = 2,
  COLLTUNE_COUNTS_UNSEEN = 3
};

/* Reads the setting from the environment, once per process. Returns whether a trace is asked for;
   if not although a file is named, a line on stderr says why. `major`, `minor`: of the Open MPI
   whose headers this was built with. */
bool colltune_recorder_open(int major, int minor);
void colltune_recorder_close(void);
/* What must be equal on all ranks: the build and the file. Only after colltune_recorder_open. */
const char* colltune_recorder_fingerprint(void);
/* Says once on stderr why there is no trace, on the job's first rank. */
void colltune_recorder_give_up(const char* why);

/* The calls of one communicator on this rank; null without memory. */
typedef struct colltune_recording colltune_recording;
colltune_recording* colltune_recording_begin(MPI_Comm comm);
void colltune_recording_end(colltune_recording* recording);

/* A call as this rank made it. */
struct colltune_seen {
  enum colltune_traced operation;
  uint64_t bytes;    /* of this rank's larger buffer */
  MPI_Datatype type; /* of a reduction */
  MPI_Op op;         /* likewise; null of others */
  enum colltune_count_shape counts;
};
/* How a call was made. The start of a persistent request is recorded by colltune_record_start. */
enum colltune_form {
  COLLTUNE_BLOCKING = 0,
  COLLTUNE_NONBLOCKING = 1,
  COLLTUNE_MAKES_PERSISTENT = 2
};
void colltune_record(colltune_recording* recording, const struct colltune_seen* seen,
                     enum colltune_form form, uint64_t nanoseconds);

/* A persistent request whose functions are ours: what they were before. */
struct colltune_followed {
  int (*start)(size_t count, MPI_Request* requests);
  int (*free)(MPI_Request* request);
};
/* From now on `request` starts the call `seen`. Returns false without memory: then its starts are
   not counted. */
bool colltune_follow(colltune_recording* recording, const struct colltune_seen* seen,
                     MPI_Request request, struct colltune_followed functions);
/* Of a request that is followed; it stays until colltune_unfollow. */
const struct colltune_followed* colltune_followed_of(MPI_Request request);
void colltune_record_start(const struct colltune_followed* followed, uint64_t nanoseconds);
void colltune_unfollow(MPI_Request request);

/* Collective over MPI_COMM_WORLD, whose ranks all record, while MPI_Finalize begins: merges what
   the ranks recorded, and the first one writes it. Nothing is recorded from then on. */
void colltune_recorder_finish(void);

#ifdef __cplusplus
}
#endif
#endif
