// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Preloaded, it makes every reducing collective of the MPI library slow by construction, so that a
// test of what follows from a winner need not wait for one: whatever does without them is faster,
// on a loaded machine too.

#include <mpi.h>
#include <time.h>

static void be_slow(void) {
  const struct timespec time = {.tv_nsec = 3000000};
  nanosleep(&time, NULL);
}

int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm communicator) {
  be_slow();
  return PMPI_Allreduce(send, receive, count, type, op, communicator);
}

int MPI_Reduce_scatter(const void* send, void* receive, const int counts[], MPI_Datatype type,
                       MPI_Op op, MPI_Comm communicator) {
  be_slow();
  return PMPI_Reduce_scatter(send, receive, counts, type, op, communicator);
}

int MPI_Reduce_scatter_block(const void* send, void* receive, int count, MPI_Datatype type,
                             MPI_Op op, MPI_Comm communicator) {
  be_slow();
  return PMPI_Reduce_scatter_block(send, receive, count, type, op, communicator);
}
