/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* How the component for Open MPI sees that the preloaded library serves its process already. Two
   in a row would run each call that the first passes on by a winner of the second, and both would
   count it. The preloaded library's names can be found in the whole process; it comes first, before
   the library's MPI_Init loads components. */
#ifndef COLLTUNE_BRIDGE_FIRST_IN_PROCESS_H
#define COLLTUNE_BRIDGE_FIRST_IN_PROCESS_H

#include <stdbool.h>

/* Of the preloaded library: whether its front has been opened, so that it may take calls. */
#define COLLTUNE_PRELOAD_SERVES "colltune_preload_serves"
typedef bool colltune_preload_serves_function(void);

#endif
