/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Which ranks run with colltune, without asking them: each holds a name on its host from before
   MPI_Init until MPI_Finalize has ended. README.md says why all ranks find the same. */
#ifndef COLLTUNE_PRELOAD_PRESENT_H
#define COLLTUNE_PRELOAD_PRESENT_H

#include <mpi.h>
#include <stdbool.h>

/* What came of holding the name. */
enum colltune_seat {
  COLLTUNE_SEATED = 0,
  COLLTUNE_NO_LAUNCHER = 1, /* nothing says which rank of which launch this is */
  COLLTUNE_NO_NAME = 2,     /* the name could not be held: errno */
  COLLTUNE_INIT_APART = 3   /* ranks may leave MPI_Init before others have entered it */
};

/* Before MPI_Init. `fingerprint`: what must be equal on all ranks. */
enum colltune_seat colltune_take_seat(const char* fingerprint);
/* The rank of MPI_COMM_WORLD whose name this process holds. */
int colltune_seat_rank(void);
/* Whether all ranks of `comm` run with colltune on this host with the same fingerprint. Nothing is
   asked of them; the same on all ranks. `lowest`: the lowest rank of `comm` that does; -1: none. */
bool colltune_are_all_present(MPI_Comm comm, int* lowest);
void colltune_leave_seat(void);

#endif
