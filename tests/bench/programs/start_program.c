/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Does next to nothing with MPI, and says how long that took: each rank prints the milliseconds of
   MPI_Init, of its first allreduce, and of MPI_Finalize. */

#include <mpi.h>
#include <stdio.h>
#include <time.h>

static double now_ms(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

int main(int argc, char** argv) {
  const double begun = now_ms();
  MPI_Init(&argc, &argv);
  const double initialized = now_ms();
  int sum = 1;
  MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  const double reduced = now_ms();
  MPI_Finalize();
  printf("init %.3f allreduce %.3f finalize %.3f\n", initialized - begun, reduced - initialized,
         now_ms() - reduced);
  return 0;
}
