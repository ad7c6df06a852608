/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* An ordinary MPI program that starts a persistent collective again and again: one JSON object with
   the median over runs of 100 starts and waits, ns each, of the slowest rank.

     mpirun -n 2 started_program SECONDS

   The first second does not count: in it a machine that was idle is slower. Open MPI alone: its
   persistent collectives are an extension before MPI 4. */

#include <mpi.h>
/* Open MPI's extensions come behind its mpi.h. */
#include <mpi-ext.h>
#include <stdio.h>
#include <stdlib.h>

enum { calls = 100, most_runs = 1000000 };

static int compare(const void* one, const void* other) {
  const double a = *(const double*)one;
  const double b = *(const double*)other;
  return (a > b) - (a < b);
}

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? atof(argv[1]) : 0;
  double* const times = malloc(most_runs * sizeof *times);
  if (seconds <= 0 || NULL == times) {
    fputs("usage: started_program SECONDS\n", stderr);
    return 2;
  }
  MPI_Init(&argc, &argv);
  double value = 1;
  double sum = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPIX_Allreduce_init(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL,
                      &request);
  const double begun = MPI_Wtime();
  int runs = 0;
  for (int is_over = 0; !is_over;) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int call = 0; call < calls; ++call) {
      MPI_Start(&request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    const double end = MPI_Wtime();
    double time = (end - start) / calls * 1e9;
    MPI_Allreduce(MPI_IN_PLACE, &time, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    if (end - begun > 1 && runs < most_runs) times[runs++] = time;
    is_over = end - begun > 1 + seconds || runs == most_runs;
    MPI_Bcast(&is_over, 1, MPI_INT, 0, MPI_COMM_WORLD);
  }
  MPI_Request_free(&request);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (0 == rank && runs > 0) {
    qsort(times, (size_t)runs, sizeof *times, compare);
    printf("{\"collective\": \"MPIX_Allreduce_init\", \"bytes\": 8, \"median_ns\": %.1f}\n",
           times[runs / 2]);
  }
  free(times);
  MPI_Finalize();
  return 0;
}
