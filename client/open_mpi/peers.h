/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What processes tell of themselves during MPI_Init, so that others need not ask them. Open MPI's
   headers come before this one. */
#ifndef COLLTUNE_OPEN_MPI_PEERS_H
#define COLLTUNE_OPEN_MPI_PEERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "ompi/communicator/communicator.h"

/* While a component is opened: tells `text` of this process under `key`. Returns an Open MPI error
   code. */
int colltune_tell(char* key, const char* text);

/* What this process has found of the others of its job, by their ranks in it. What they told does
   not change, and to look it up takes a hand-over to another thread: so once for each, not once for
   each communicator. Any thread may use it. */
struct colltune_alike {
  uint32_t ranks; /* 0: nothing is kept */
  _Atomic unsigned char* found;
};
struct colltune_alike colltune_none_is_known(void);
void colltune_forget_alike(struct colltune_alike* alike);

/* Whether every rank of the communicator told the same text under `key`. Needs nothing of them now.
   The same on all ranks. `alike` is of this key and text; null: nothing is kept. */
bool colltune_all_told(struct ompi_communicator_t* comm, char* key, const char* text,
                       struct colltune_alike* alike);

#endif
