/* SPDX-FileCopyrightText: The colltune authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COLLTUNE_COLLECTIVES_MPI_H
#define COLLTUNE_COLLECTIVES_MPI_H

/* colltune/collectives.h over the ranks of an MPI communicator. */

#include <mpi.h>

#include "colltune/collectives.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

/* Collective over `comm`, an intracommunicator: the collectives of its ranks, with a communicator
 * of their own, so that they do not meet other calls on `comm`. Neither error handlers nor
 * attributes of `comm` change; all of MPI is called by its profiling names. `options` may be NULL.
 * Fails on all ranks if one rank's options are not valid (3) or differ from those of rank 0, the
 * ranks run different builds of colltune (9), the table was measured with another MPI library than
 * the one that runs (9), or as colltune_collectives_of_threads. On success
 * *collectives and what is made of it are to be freed before MPI_Finalize; `comm` may be freed at
 * any time. */
int colltune_collectives_of_mpi(MPI_Comm comm, const colltune_collectives_options* options,
                                colltune_collectives** collectives, colltune_error* error);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
