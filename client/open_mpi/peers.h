/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What processes tell of themselves during MPI_Init, so that others need not ask them. Open MPI's
   headers come before this one. */
#ifndef COLLTUNE_OPEN_MPI_PEERS_H
#define COLLTUNE_OPEN_MPI_PEERS_H

#include <stdbool.h>

#include "ompi/communicator/communicator.h"

/* While a component is opened: tells `text` of this process under `key`. Returns an Open MPI error
   code. */
int colltune_tell(char* key, const char* text);

/* Whether every rank of the communicator told the same text under `key`. Needs nothing of them now.
   The same on all ranks. */
bool colltune_all_told(struct ompi_communicator_t* comm, char* key, const char* text);

#endif
