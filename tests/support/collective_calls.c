/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* An ordinary MPI program that calls what it is told, and says what happened:
 *
 *   mpirun -n 2 collective_calls allreduce:4096 bcast:64 ...
 *
 * Bytes are those of the larger of a rank's two buffers. One JSON object a call, by rank 0: the
 * error class, and with first_algorithm.c preloaded the algorithm that Open MPI ran. */

#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int call(const char* name, char* send, char* receive, int bytes, int ranks) {
  const int floats = bytes / 4;
  const int block = bytes / ranks;
  const MPI_Comm all = MPI_COMM_WORLD;
  if (strcmp(name, "allreduce") == 0)
    return MPI_Allreduce(send, receive, floats, MPI_FLOAT, MPI_SUM, all);
  if (strcmp(name, "allgather") == 0)
    return MPI_Allgather(send, block, MPI_BYTE, receive, block, MPI_BYTE, all);
  if (strcmp(name, "alltoall") == 0)
    return MPI_Alltoall(send, block, MPI_BYTE, receive, block, MPI_BYTE, all);
  if (strcmp(name, "bcast") == 0) return MPI_Bcast(send, bytes, MPI_BYTE, 0, all);
  if (strcmp(name, "gather") == 0)
    return MPI_Gather(send, block, MPI_BYTE, receive, block, MPI_BYTE, 0, all);
  if (strcmp(name, "reduce") == 0)
    return MPI_Reduce(send, receive, floats, MPI_FLOAT, MPI_SUM, 0, all);
  if (strcmp(name, "reduce_scatter_block") == 0)
    return MPI_Reduce_scatter_block(send, receive, floats / ranks, MPI_FLOAT, MPI_SUM, all);
  if (strcmp(name, "scatter") == 0)
    return MPI_Scatter(send, block, MPI_BYTE, receive, block, MPI_BYTE, 0, all);
  fprintf(stderr, "collective_calls: no such collective: %s\n", name);
  MPI_Abort(all, 2);
  return 0;
}

int main(int argc, char** argv) {
  int rank = 0;
  int ranks = 1;
  const char* (*algorithm)(void) = NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  *(void**)&algorithm = dlsym(RTLD_DEFAULT, "first_algorithm");
  for (int i = 1; i < argc; ++i) {
    char* const colon = strchr(argv[i], ':');
    const int bytes = colon == NULL ? 0 : atoi(colon + 1);
    char* const send = calloc(1, (size_t)bytes + 64);
    char* const receive = calloc(1, (size_t)bytes + 64);
    int code = 0;
    int class = 0;
    if (colon != NULL) *colon = '\0';
    if (algorithm != NULL) (void)algorithm();
    code = call(argv[i], send, receive, bytes, ranks);
    MPI_Error_class(code, &class);
    if (rank == 0)
      printf("{\"collective\": \"%s\", \"bytes\": %d, \"error_class\": %d, \"ran\": \"%s\"}\n", argv[i],
             bytes, class, algorithm != NULL ? algorithm() : "");
    free(send);
    free(receive);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  MPI_Finalize();
  return 0;
}
