/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Whether MPI_Init returns on a rank only when all have called it: the last rank makes a file
   before it calls, and comes late; the others see the file when MPI_Init has returned.

     mpirun -n 3 met_in_init FILE RANKS */
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const char* number = getenv("PMIX_RANK");
  if (NULL == number) number = getenv("PMI_RANK");
  if (argc < 3 || NULL == number) return 2;
  if (atoi(number) == atoi(argv[2]) - 1) {
    usleep(300000);
    close(open(argv[1], O_CREAT | O_WRONLY, 0600));
  }
  MPI_Init(&argc, &argv);
  const int is_there = 0 == access(argv[1], F_OK);
  MPI_Finalize();
  if (!is_there) printf("MPI_Init returned before all ranks had called it\n");
  return is_there ? 0 : 1;
}
