/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that a recorder's trace must list: `calls` prints nothing and makes them; `communicators N`
   makes and frees N; `sizes N` makes all_reduces of N different sizes; `spawn` runs `calls` in a
   process that it spawns; `abort` ends without MPI_Finalize; `persistent` starts persistent
   requests. */

#include <mpi.h>
/* Separate: it needs the other one. */
#include <mpi-ext.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { most_ranks = 16, room = 1 << 16 };

static double send[room];
static double receive[room];

static void add_complex(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)in, (void)inout, (void)count, (void)type;
}

static void make_calls(void) {
  const MPI_Comm world = MPI_COMM_WORLD;
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  for (int i = 0; i < 10; ++i)
    MPI_Allreduce(send, receive, 3, MPI_DOUBLE, MPI_SUM, world); /* 24 bytes */
  MPI_Allreduce(MPI_IN_PLACE, receive, 3, MPI_DOUBLE, MPI_SUM, world);
  MPI_Bcast(send, 100, MPI_INT, ranks - 1, world);                 /* 400 */
  MPI_Reduce(send, receive, 5, MPI_LONG, MPI_MAX, 0, world);       /* 40 */
  MPI_Allgather(send, 2, MPI_FLOAT, receive, 2, MPI_FLOAT, world); /* 8 x ranks */
  MPI_Alltoall(send, 4, MPI_INT, receive, 4, MPI_INT, world);      /* 16 x ranks */
  /* Two ways to say 12 doubles of each rank. */
  MPI_Datatype three;
  MPI_Type_contiguous(3, MPI_DOUBLE, &three);
  MPI_Type_commit(&three);
  if (rank % 2 == 0)
    MPI_Gather(send, 4, three, receive, 12, MPI_DOUBLE, 0, world); /* 96 x ranks */
  else
    MPI_Gather(send, 12, MPI_DOUBLE, NULL, 0, MPI_DATATYPE_NULL, 0, world);
  MPI_Type_free(&three);
  MPI_Scatter(rank == 0 ? (void*)send : NULL, 7, MPI_CHAR, receive, 7, MPI_CHAR, 0, world);
  int counts[most_ranks];
  int displacements[most_ranks];
  for (int i = 0; i < ranks; ++i) {
    counts[i] = 2;
    displacements[i] = 10 * i;
  }
  MPI_Reduce_scatter(send, receive, counts, MPI_FLOAT, MPI_SUM, world); /* 8 x ranks, regular */
  MPI_Allgatherv(send, 2, MPI_DOUBLE, receive, counts, displacements, MPI_DOUBLE, world);
  counts[0] = 100;
  MPI_Reduce_scatter(send, receive, counts, MPI_FLOAT, MPI_SUM, world);
  MPI_Gatherv(send, counts[rank], MPI_INT, receive, counts, displacements, MPI_INT, 0, world);
  MPI_Op own;
  MPI_Op_create(add_complex, 1, &own);
  MPI_Allreduce(send, receive, 1, MPI_DOUBLE, own, world);
  MPI_Op_free(&own);
  MPI_Allreduce(send, receive, 1, MPI_C_DOUBLE_COMPLEX, MPI_SUM, world);
  MPI_Barrier(world);
  MPI_Scan(send, receive, 1, MPI_DOUBLE, MPI_SUM, world);
  MPI_Request requests[2];
  MPI_Iallreduce(send, receive, 2, MPI_DOUBLE, MPI_SUM, world, &requests[0]);
  MPI_Ialltoallw(send, (int[most_ranks]){0}, displacements,
                 (MPI_Datatype[most_ranks]){MPI_INT, MPI_INT, MPI_INT, MPI_INT, MPI_INT, MPI_INT,
                                            MPI_INT, MPI_INT},
                 receive, (int[most_ranks]){0}, displacements,
                 (MPI_Datatype[most_ranks]){MPI_INT, MPI_INT, MPI_INT, MPI_INT, MPI_INT, MPI_INT,
                                            MPI_INT, MPI_INT},
                 world, &requests[1]);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  /* A ring. */
  MPI_Comm ring;
  MPI_Cart_create(world, 1, &ranks, (int[]){1}, 0, &ring);
  MPI_Neighbor_allgather(send, 6, MPI_INT, receive, 6, MPI_INT, ring);
  MPI_Comm_free(&ring);
  /* Halves, of which one calls twice as often. */
  MPI_Comm half;
  MPI_Comm_split(world, rank < ranks / 2 ? 0 : 1, rank, &half);
  for (int i = 0; i < (rank < ranks / 2 ? 1 : 2); ++i)
    MPI_Allreduce(send, receive, 9, MPI_INT, MPI_MIN, half);
  MPI_Comm_free(&half);
  /* A receive that takes anything is not to take what a recorder sends. */
  int done = 0;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, world, &done, MPI_STATUS_IGNORE);
}

/* Persistent requests, and other calls between their starts. */
static void make_persistent_calls(void) {
  const MPI_Comm world = MPI_COMM_WORLD;
  int rank = 0;
  int ranks = 0;
  MPI_Comm_rank(world, &rank);
  MPI_Comm_size(world, &ranks);
  MPI_Request requests[2];
  MPIX_Bcast_init(send, 100, MPI_INT, 0, world, MPI_INFO_NULL, &requests[0]);
  MPIX_Allreduce_init(send, receive, 3, MPI_DOUBLE, MPI_SUM, world, MPI_INFO_NULL, &requests[1]);
  for (int i = 0; i < 5; ++i) {
    MPI_Bcast(send, 100, MPI_INT, 0, world);
    MPI_Start(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Bcast(send, 100, MPI_INT, 0, world);
  }
  send[0] = 1;
  MPI_Startall(2, requests);
  MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
  if (receive[0] != ranks) MPI_Abort(world, 4);
  for (int i = 0; i < 2; ++i) MPI_Request_free(&requests[i]);
  /* The library gives the same requests to calls that are not persistent. */
  for (int i = 0; i < 4; ++i) {
    MPI_Iallreduce(send, receive, 3, MPI_DOUBLE, MPI_SUM, world, &requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  }
  int counts[most_ranks];
  int displacements[most_ranks];
  for (int i = 0; i < ranks; ++i) {
    counts[i] = 4;
    displacements[i] = 4 * i;
  }
  MPIX_Alltoallv_init(send, counts, displacements, MPI_INT, receive, counts, displacements, MPI_INT,
                      world, MPI_INFO_NULL, &requests[0]);
  MPI_Start(&requests[0]);
  MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
  MPI_Request_free(&requests[0]);
  /* One that is never started, of a communicator that is freed before it. */
  MPI_Comm ring;
  MPI_Cart_create(world, 1, &ranks, (int[]){1}, 0, &ring);
  MPIX_Neighbor_allgather_init(send, 6, MPI_INT, receive, 6, MPI_INT, ring, MPI_INFO_NULL,
                               &requests[0]);
  MPI_Comm_free(&ring);
  MPI_Request_free(&requests[0]);
}

static int spawn(const char* self) {
  MPI_Comm children;
  int error = 0;
  char* arguments[] = {"calls", NULL};
  MPI_Allreduce(send, receive, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
  MPI_Comm_spawn(self, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, &error);
  MPI_Comm_disconnect(&children);
  return error;
}

int main(int argc, char** argv) {
  int level = 0;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level);
  const char* const what = argc > 1 ? argv[1] : "calls";
  const int number = argc > 2 ? atoi(argv[2]) : 0;
  MPI_Comm parent;
  MPI_Comm_get_parent(&parent);
  int failed = 0;
  if (strcmp(what, "calls") == 0) {
    make_calls();
  } else if (strcmp(what, "communicators") == 0) {
    for (int i = 0; i < number; ++i) {
      MPI_Comm one;
      MPI_Comm_dup(MPI_COMM_WORLD, &one);
      MPI_Bcast(send, 1, MPI_INT, 0, one);
      MPI_Comm_free(&one);
    }
  } else if (strcmp(what, "sizes") == 0) {
    for (int i = 1; i <= number; ++i)
      MPI_Allreduce(send, receive, i, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
  } else if (strcmp(what, "spawn") == 0) {
    failed = spawn(argv[0]);
  } else if (strcmp(what, "persistent") == 0) {
    make_persistent_calls();
  } else if (strcmp(what, "abort") == 0) {
    make_calls();
    MPI_Abort(MPI_COMM_WORLD, 3);
  } else {
    fprintf(stderr, "unknown '%s'\n", what);
    failed = 1;
  }
  if (parent != MPI_COMM_NULL) MPI_Comm_disconnect(&parent);
  MPI_Finalize();
  return failed;
}
