/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The eight collectives, from what a program gives to what the kernels take. Inline, since a call
   takes less than a microsecond: what stands before an MPI library's collectives includes this, and
   a sweep, whose calls pass what a program's do. Who includes it defines the two functions below,
   each library in its own way. */
#ifndef COLLTUNE_KERNELS_PROGRAM_CALLS_PROGRAM_CALLS_H
#define COLLTUNE_KERNELS_PROGRAM_CALLS_PROGRAM_CALLS_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "colltune/kernels/program_calls/program_executor.h"

/* The bytes of `count` elements. */
static inline size_t bytes_of(MPI_Datatype type, size_t count);
/* Whether the data of `count` elements lie in their order without gaps; if so, `start` is where
   they begin, from the buffer on. */
static inline bool is_contiguous(MPI_Datatype type, size_t count, MPI_Aint* start);

/* Set while this thread is in our code, or in a collective that was passed on: the collectives that
   are called there, on the user's communicator and on ours, are the library's and do not count.
   Initial-exec: every call reads it, and a call for its address would take longer than the rest. */
static _Thread_local bool is_inside __attribute__((tls_model("initial-exec"))) = false;

/* A call that was left to the library is over. */
static inline void finish_left(colltune_executor* executor) {
  if (executor->is_counted) executor->functions->finish(executor);
}

/* Whether the call is like the latest of its collective, and that one was left to the library for
   good: it is written down then, and begun and finished by nothing else. */
static inline bool is_left_again(colltune_executor* executor,
                                 const struct colltune_left_call* latest, int root, size_t amount) {
  if (latest->amount != amount || latest->root != root) return false;
  colltune_write_call(executor->lines, latest->entry);
  return true;
}
static inline unsigned begin_move(colltune_executor* executor, enum colltune_collective collective,
                                  int root, size_t message) {
  if (is_left_again(executor, &executor->left[collective], root, message)) return 0;
  return executor->functions->begin_move(executor, collective, root, message);
}
static inline unsigned begin_reduction(colltune_executor* executor,
                                       enum colltune_collective collective, int root, size_t count,
                                       MPI_Datatype type, MPI_Op op) {
  const struct colltune_left_call* const latest = &executor->left[collective];
  if (latest->type == type && latest->op == op && is_left_again(executor, latest, root, count))
    return 0;
  return executor->functions->begin_reduction(executor, collective, root, count, type, op);
}

/* The first call of a variant makes memory, and communicators if there are several nodes. */
static enum colltune_outcome run(colltune_executor* executor, unsigned choice,
                                 const struct colltune_buffers* buffers) {
  is_inside = true;
  const enum colltune_outcome outcome = executor->functions->run(executor, choice, buffers);
  is_inside = false;
  return outcome;
}

static inline void* memory_of(colltune_executor* executor, int which, size_t bytes) {
  return executor->functions->memory(executor, which, bytes);
}

/* A buffer of the user as plain bytes: where it is, or a copy of it. */
struct plain {
  void* bytes; /* null if it could not be copied */
  bool is_copy;
};

/* MPICH packs nothing that begins at MPI_BOTTOM: the same places, counted from another one. Null
   type: MPI has no memory for it. */
struct from_bottom {
  char* buffer;
  MPI_Datatype type;
};
static inline struct from_bottom count_from_bottom(int count, MPI_Datatype type) {
  struct from_bottom moved = {(char*)1, MPI_DATATYPE_NULL};
  const MPI_Aint back = -1;
  if (MPI_SUCCESS == PMPI_Type_create_hindexed(1, &count, &back, type, &moved.type))
    PMPI_Type_commit(&moved.type);
  return moved;
}
static int pack(struct colltune_place* at, const void* user, int count, MPI_Datatype type,
                void* bytes, int size) {
  int position = 0;
  if (MPI_BOTTOM != user) return PMPI_Pack(user, count, type, bytes, size, &position, at->comm);
  struct from_bottom moved = count_from_bottom(count, type);
  if (MPI_DATATYPE_NULL == moved.type) return MPI_ERR_NO_MEM;
  const int rc = PMPI_Pack(moved.buffer, 1, moved.type, bytes, size, &position, at->comm);
  PMPI_Type_free(&moved.type);
  return rc;
}
static int unpack(struct colltune_place* at, const void* bytes, int size, void* user, int count,
                  MPI_Datatype type) {
  int position = 0;
  if (MPI_BOTTOM != user) return PMPI_Unpack(bytes, size, &position, user, count, type, at->comm);
  struct from_bottom moved = count_from_bottom(count, type);
  if (MPI_DATATYPE_NULL == moved.type) return MPI_ERR_NO_MEM;
  const int rc = PMPI_Unpack(bytes, size, &position, moved.buffer, 1, moved.type, at->comm);
  PMPI_Type_free(&moved.type);
  return rc;
}

static struct plain plain_of(struct colltune_place* at, int which, const void* user, size_t count,
                             MPI_Datatype type, bool is_read) {
  MPI_Aint start = 0;
  if (is_contiguous(type, count, &start)) return (struct plain){(char*)user + start, false};
  const size_t bytes = bytes_of(type, count);
  struct plain plain = {memory_of(at->executor, which, bytes), true};
  if (is_read && NULL != plain.bytes) {
    at->error = pack(at, user, (int)count, type, plain.bytes, (int)bytes);
    if (MPI_SUCCESS != at->error) plain.bytes = NULL;
  }
  return plain;
}

/* A buffer of a call that moves data, as the program gives it; count 0: this rank has none. */
struct side {
  const void* buffer;
  size_t count;
  MPI_Datatype type;
};

/* One rank's buffers. In place the program gives the larger one alone: the other one is `inner`
 * bytes of it, from `offset` on. */
struct move {
  struct side send;
  struct side receive;
  bool in_place;
  size_t inner;
  size_t offset;
};

/* Runs the call that was begun as `choice`. */
static enum colltune_outcome move(struct colltune_place* at, unsigned choice,
                                  const struct move* of) {
  struct plain from = {NULL, false};
  struct plain to = {NULL, false};
  struct colltune_buffers buffers = {.in_place = of->in_place};
  if (of->send.count > 0) {
    from = plain_of(at, 0, of->send.buffer, of->send.count, of->send.type, true);
    buffers.send_bytes = bytes_of(of->send.type, of->send.count);
  }
  if (of->receive.count > 0) {
    to = plain_of(at, 1, of->receive.buffer, of->receive.count, of->receive.type, of->inner > 0);
    buffers.receive_bytes = bytes_of(of->receive.type, of->receive.count);
  }
  /* The other ranks are in the call by now: a rank that lacks memory for a copy cannot leave it to
   * the library. */
  if ((buffers.send_bytes > 0 && NULL == from.bytes) ||
      (buffers.receive_bytes > 0 && NULL == to.bytes)) {
    at->executor->functions->say("a buffer whose data are not contiguous could not be copied");
    return COLLTUNE_FAILED;
  }
  buffers.send = from.bytes;
  buffers.receive = to.bytes;
  buffers.is_copied_back = to.is_copy;
  if (of->inner > 0 && 0 == of->send.count) {
    buffers.send = (const char*)to.bytes + of->offset;
    buffers.send_bytes = of->inner;
  } else if (of->inner > 0) {
    buffers.receive = (char*)from.bytes + of->offset;
    buffers.receive_bytes = of->inner;
  }
  const enum colltune_outcome outcome = run(at->executor, choice, &buffers);
  if (COLLTUNE_DONE != outcome || !to.is_copy) return outcome;
  at->error = unpack(at, to.bytes, (int)buffers.receive_bytes, (void*)of->receive.buffer,
                     (int)of->receive.count, of->receive.type);
  at->executor->functions->finish(at->executor);
  return MPI_SUCCESS == at->error ? outcome : COLLTUNE_FAILED;
}

/* Each of the following: what became of the call; COLLTUNE_LEFT also where it is empty. */

static inline enum colltune_outcome run_bcast(struct colltune_place* at, void* buffer, int count,
                                              MPI_Datatype type, int root) {
  const size_t bytes = bytes_of(type, (size_t)count);
  if (0 == bytes) return COLLTUNE_LEFT;
  const unsigned choice = begin_move(at->executor, COLLTUNE_BROADCAST, root, bytes);
  if (0 == choice) return COLLTUNE_LEFT;
  const struct move of = {.receive = {buffer, (size_t)count, type},
                          .in_place = true,
                          .inner = at->rank == root ? bytes : 0};
  return move(at, choice, &of);
}

static inline enum colltune_outcome run_allgather(struct colltune_place* at, const void* send,
                                                  int send_count, MPI_Datatype send_type,
                                                  void* receive, int receive_count,
                                                  MPI_Datatype receive_type) {
  const size_t block = bytes_of(receive_type, (size_t)receive_count);
  if (0 == block) return COLLTUNE_LEFT;
  const size_t ranks = (size_t)at->ranks;
  const unsigned choice = begin_move(at->executor, COLLTUNE_ALL_GATHER, 0, block * ranks);
  if (0 == choice) return COLLTUNE_LEFT;
  struct move of = {.receive = {receive, (size_t)receive_count * ranks, receive_type}};
  if (MPI_IN_PLACE == send) {
    of.in_place = true;
    of.inner = block;
    of.offset = (size_t)at->rank * block;
  } else {
    of.send = (struct side){send, (size_t)send_count, send_type};
  }
  return move(at, choice, &of);
}

static inline enum colltune_outcome run_alltoall(struct colltune_place* at, const void* send,
                                                 int send_count, MPI_Datatype send_type,
                                                 void* receive, int receive_count,
                                                 MPI_Datatype receive_type) {
  const size_t ranks = (size_t)at->ranks;
  const size_t bytes = bytes_of(receive_type, (size_t)receive_count) * ranks;
  if (0 == bytes) return COLLTUNE_LEFT;
  const unsigned choice = begin_move(at->executor, COLLTUNE_ALL_TO_ALL, 0, bytes);
  if (0 == choice) return COLLTUNE_LEFT;
  struct move of = {.receive = {receive, (size_t)receive_count * ranks, receive_type}};
  if (MPI_IN_PLACE == send) {
    of.in_place = true;
    of.inner = bytes;
  } else {
    of.send = (struct side){send, (size_t)send_count * ranks, send_type};
  }
  return move(at, choice, &of);
}

static inline enum colltune_outcome run_gather(struct colltune_place* at, const void* send,
                                               int send_count, MPI_Datatype send_type,
                                               void* receive, int receive_count,
                                               MPI_Datatype receive_type, int root) {
  const bool is_root = at->rank == root;
  /* What the other side says is not significant here. */
  const size_t block = is_root ? bytes_of(receive_type, (size_t)receive_count)
                               : bytes_of(send_type, (size_t)send_count);
  if (0 == block) return COLLTUNE_LEFT;
  const size_t ranks = (size_t)at->ranks;
  const unsigned choice = begin_move(at->executor, COLLTUNE_GATHER, root, block * ranks);
  if (0 == choice) return COLLTUNE_LEFT;
  struct move of = {.in_place = false};
  if (is_root) of.receive = (struct side){receive, (size_t)receive_count * ranks, receive_type};
  if (is_root && MPI_IN_PLACE == send) {
    of.in_place = true;
    of.inner = block;
    of.offset = (size_t)root * block;
  } else {
    of.send = (struct side){send, (size_t)send_count, send_type};
  }
  return move(at, choice, &of);
}

static inline enum colltune_outcome run_scatter(struct colltune_place* at, const void* send,
                                                int send_count, MPI_Datatype send_type,
                                                void* receive, int receive_count,
                                                MPI_Datatype receive_type, int root) {
  const bool is_root = at->rank == root;
  const size_t block = is_root ? bytes_of(send_type, (size_t)send_count)
                               : bytes_of(receive_type, (size_t)receive_count);
  if (0 == block) return COLLTUNE_LEFT;
  const size_t ranks = (size_t)at->ranks;
  const unsigned choice = begin_move(at->executor, COLLTUNE_SCATTER, root, block * ranks);
  if (0 == choice) return COLLTUNE_LEFT;
  struct move of = {.in_place = false};
  if (is_root) of.send = (struct side){send, (size_t)send_count * ranks, send_type};
  if (is_root && MPI_IN_PLACE == receive) {
    of.in_place = true;
    of.inner = block;
    of.offset = (size_t)root * block;
  } else {
    of.receive = (struct side){receive, (size_t)receive_count, receive_type};
  }
  return move(at, choice, &of);
}

/* Predefined operators take predefined types alone, which are contiguous. */

static inline enum colltune_outcome run_allreduce(struct colltune_place* at, const void* send,
                                                  void* receive, int count, MPI_Datatype type,
                                                  MPI_Op op) {
  if (0 == count) return COLLTUNE_LEFT;
  const unsigned choice =
      begin_reduction(at->executor, COLLTUNE_ALL_REDUCE, 0, (size_t)count, type, op);
  if (0 == choice) return COLLTUNE_LEFT;
  const bool in_place = MPI_IN_PLACE == send;
  const size_t bytes = bytes_of(type, (size_t)count);
  const struct colltune_buffers buffers = {
      in_place ? receive : send, bytes, receive, bytes, in_place, false};
  return run(at->executor, choice, &buffers);
}

static inline enum colltune_outcome run_reduce(struct colltune_place* at, const void* send,
                                               void* receive, int count, MPI_Datatype type,
                                               MPI_Op op, int root) {
  if (0 == count) return COLLTUNE_LEFT;
  const unsigned choice =
      begin_reduction(at->executor, COLLTUNE_REDUCE, root, (size_t)count, type, op);
  if (0 == choice) return COLLTUNE_LEFT;
  const bool is_root = at->rank == root;
  const bool in_place = is_root && MPI_IN_PLACE == send;
  const size_t bytes = bytes_of(type, (size_t)count);
  const struct colltune_buffers buffers = {
      in_place ? receive : send, bytes,    is_root ? receive : NULL,
      is_root ? bytes : 0,       in_place, false};
  return run(at->executor, choice, &buffers);
}

static inline enum colltune_outcome run_reduce_scatter_block(struct colltune_place* at,
                                                             const void* send, void* receive,
                                                             int count_of_each, MPI_Datatype type,
                                                             MPI_Op op) {
  if (0 == count_of_each) return COLLTUNE_LEFT;
  const size_t count = (size_t)count_of_each;
  const size_t ranks = (size_t)at->ranks;
  const unsigned choice =
      begin_reduction(at->executor, COLLTUNE_REDUCE_SCATTER, 0, count * ranks, type, op);
  if (0 == choice) return COLLTUNE_LEFT;
  const size_t block = bytes_of(type, count);
  /* MPI puts the result at the beginning of the buffer, the kernels at this rank's block. */
  const bool in_place = MPI_IN_PLACE == send;
  void* const result = in_place ? memory_of(at->executor, 0, block) : receive;
  if (NULL == result) {
    at->executor->functions->say("no memory for the result of MPI_Reduce_scatter in place");
    return COLLTUNE_FAILED;
  }
  const struct colltune_buffers buffers = {
      in_place ? receive : send, block * ranks, result, block, false, in_place};
  const enum colltune_outcome outcome = run(at->executor, choice, &buffers);
  if (COLLTUNE_DONE == outcome && in_place) {
    memcpy(receive, result, block);
    at->executor->functions->finish(at->executor);
  }
  return outcome;
}

static inline bool are_all_empty(const struct colltune_place* at, const int* counts) {
  for (int rank = 0; rank < at->ranks; ++rank)
    if (counts[rank] > 0) return false;
  return true;
}

static inline enum colltune_outcome run_reduce_scatter(struct colltune_place* at, const void* send,
                                                       void* receive, const int* counts,
                                                       MPI_Datatype type, MPI_Op op) {
  if (are_all_empty(at, counts)) return COLLTUNE_LEFT;
  const unsigned choice = at->executor->functions->begin_reductions(
      at->executor, COLLTUNE_REDUCE_SCATTER, counts, at->ranks, type, op);
  if (0 == choice) return COLLTUNE_LEFT;
  const size_t* const starts = at->executor->functions->block_starts(at->executor);
  const size_t block = starts[at->rank + 1] - starts[at->rank];
  /* As in run_reduce_scatter_block. */
  const bool in_place = MPI_IN_PLACE == send;
  void* const result = in_place ? memory_of(at->executor, 0, block + 1) : receive;
  if (NULL == result && block > 0) {
    at->executor->functions->say("no memory for the result of MPI_Reduce_scatter in place");
    return COLLTUNE_FAILED;
  }
  const struct colltune_buffers buffers = {
      in_place ? receive : send, starts[at->ranks], result, block, false, in_place};
  const enum colltune_outcome outcome = run(at->executor, choice, &buffers);
  if (COLLTUNE_DONE == outcome && in_place) {
    if (block > 0) memcpy(receive, result, block);
    at->executor->functions->finish(at->executor);
  }
  return outcome;
}

/* Where the blocks of the ranks lie in a buffer, as a program gives it. */
struct blocks {
  void* buffer;
  const int* counts;
  const int* displacements; /* in extents of the type */
  MPI_Datatype type;
};

static inline char* block_of(const struct blocks* blocks, int rank) {
  MPI_Aint low = 0;
  MPI_Aint extent = 0;
  PMPI_Type_get_extent(blocks->type, &low, &extent);
  return (char*)blocks->buffer + blocks->displacements[rank] * extent;
}

/* The bytes of all blocks if they lie in the order of the ranks without gaps; else null. */
static inline char* packed_blocks(const struct colltune_place* at, const struct blocks* blocks) {
  int first = -1;
  MPI_Aint next = 0;
  size_t count = 0;
  for (int rank = 0; rank < at->ranks; ++rank) {
    if (0 == blocks->counts[rank]) continue;
    if (first >= 0 && blocks->displacements[rank] != next) return NULL;
    if (first < 0) first = rank;
    next = (MPI_Aint)blocks->displacements[rank] + blocks->counts[rank];
    count += (size_t)blocks->counts[rank];
  }
  MPI_Aint start = 0;
  if (first < 0 || !is_contiguous(blocks->type, count, &start)) return NULL;
  return block_of(blocks, first) + start;
}

/* Where a rank's blocks lie is its own affair: it packs them if they do not lie as the kernels have
 * them, and what all ranks decide by is the same. */
static inline enum colltune_outcome run_allgatherv(struct colltune_place* at, const void* send,
                                                   int send_count, MPI_Datatype send_type,
                                                   void* receive, const int* counts,
                                                   const int* displacements,
                                                   MPI_Datatype receive_type) {
  const size_t unit = bytes_of(receive_type, 1);
  if (0 == unit || are_all_empty(at, counts)) return COLLTUNE_LEFT;
  const unsigned choice = at->executor->functions->begin_moves(at->executor, COLLTUNE_ALL_GATHER,
                                                               counts, at->ranks, unit);
  if (0 == choice) return COLLTUNE_LEFT;
  const size_t* const starts = at->executor->functions->block_starts(at->executor);
  const size_t own = starts[at->rank + 1] - starts[at->rank];
  const struct blocks blocks = {receive, counts, displacements, receive_type};
  at->error = MPI_SUCCESS; /* of an earlier call, say */
  char* all = packed_blocks(at, &blocks);
  const bool is_copied_back = NULL == all;
  if (is_copied_back) all = memory_of(at->executor, 1, starts[at->ranks]);
  struct colltune_buffers buffers = {.receive = all,
                                     .receive_bytes = starts[at->ranks],
                                     .in_place = MPI_IN_PLACE == send,
                                     .is_copied_back = is_copied_back};
  struct plain from = {NULL, false};
  if (NULL != all && buffers.in_place) {
    buffers.send = all + starts[at->rank];
    buffers.send_bytes = own;
    if (is_copied_back && own > 0)
      at->error = pack(at, block_of(&blocks, at->rank), counts[at->rank], receive_type,
                       all + starts[at->rank], (int)own);
  } else if (send_count > 0 && !buffers.in_place) {
    from = plain_of(at, 0, send, (size_t)send_count, send_type, true);
    buffers.send = from.bytes;
    buffers.send_bytes = bytes_of(send_type, (size_t)send_count);
  }
  /* The other ranks are in the call by now: it cannot be left to the library. */
  if (NULL == all || MPI_SUCCESS != at->error || (buffers.send_bytes > 0 && NULL == buffers.send)) {
    at->executor->functions->say("a buffer whose data are not contiguous could not be copied");
    return COLLTUNE_FAILED;
  }
  const enum colltune_outcome outcome = run(at->executor, choice, &buffers);
  if (COLLTUNE_DONE != outcome || !is_copied_back) return outcome;
  for (int rank = 0; rank < at->ranks && MPI_SUCCESS == at->error; ++rank)
    if (counts[rank] > 0 && (rank != at->rank || !buffers.in_place))
      at->error = unpack(at, all + starts[rank], (int)(starts[rank + 1] - starts[rank]),
                         block_of(&blocks, rank), counts[rank], receive_type);
  at->executor->functions->finish(at->executor);
  return MPI_SUCCESS == at->error ? outcome : COLLTUNE_FAILED;
}

#endif
