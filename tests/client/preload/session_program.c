/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* A program that uses MPI by sessions (MPI 4): `alone` never calls MPI_Init; `beside` does, and
   makes its calls by turns with those of a session. */

#include <mpi.h>
#include <stdio.h>
#include <string.h>

static int failed = 0;

static void sums(MPI_Comm comm, int times) {
  int ranks = 0;
  MPI_Comm_size(comm, &ranks);
  for (int i = 1; i <= times; ++i) {
    const double own = i;
    double sum = 0;
    MPI_Allreduce(&own, &sum, 1, MPI_DOUBLE, MPI_SUM, comm);
    if (sum != (double)i * ranks) failed = 1;
  }
}

int main(int argc, char** argv) {
  const int is_beside = argc > 1 && strcmp(argv[1], "beside") == 0;
  if (is_beside) MPI_Init(&argc, &argv);
  MPI_Session session;
  MPI_Group group;
  MPI_Comm comm;
  MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
  MPI_Group_from_session_pset(session, "mpi://WORLD", &group);
  MPI_Comm_create_from_group(group, "colltune.test", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm);
  MPI_Group_free(&group);
  for (int turn = 0; turn < 10; ++turn) {
    sums(comm, 4);
    if (is_beside) sums(MPI_COMM_WORLD, 4);
  }
  int rank = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_free(&comm);
  MPI_Session_finalize(&session);
  if (is_beside) {
    sums(MPI_COMM_WORLD, 4);
    MPI_Finalize();
  }
  if (rank == 0 && !failed) printf("%s: right\n", is_beside ? "beside" : "alone");
  return failed;
}
