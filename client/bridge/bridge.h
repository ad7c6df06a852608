/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Between an MPI library's structures, which are C, and the kernels. Nothing here throws. */
#ifndef COLLTUNE_BRIDGE_BRIDGE_H
#define COLLTUNE_BRIDGE_BRIDGE_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "colltune/kernels/program_calls/program_executor.h"
#include "looks.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Reads the settings from the environment, once per process. Returns whether to take part; if not
   although a table is named, a line on stderr says why. `built_for`: the MPI library
   whose headers this was built with, "Open MPI 4.1" say. `begun`: when the process began its MPI,
   in ns of clock.h. May be called before MPI_Init. */
bool colltune_open(const char* built_for, int64_t begun);
/* Prints the report, if one is asked for and this is the job's first rank. */
void colltune_close(bool is_first_rank);
/* What must be equal on all ranks, as text: the build and the settings. Only after colltune_open.
 */
const char* colltune_fingerprint(void);
/* What this rank says in a look at a communicator in whose collectives it has spent `spent` ns.
   `ranks_here`: of the job on this host. Only after colltune_open. */
struct colltune_look colltune_own_look(int64_t spent, int ranks_here);
/* Says once per process, on stderr, why the library's own collectives run. */
void colltune_say(const char* why);

/* Collective, with the library's own collectives on `comm`. `progress` lets the library go on. Null
   if nothing of ours runs; then it is so on all ranks. */
colltune_executor* colltune_set_up(MPI_Comm comm, void (*progress)(void));
void colltune_tear_down(colltune_executor* executor);

/* Whether any call of the collective whose blocks are of one length may be ours. */
bool colltune_is_used(const colltune_executor* executor, enum colltune_collective collective);
/* The same where their lengths differ. */
bool colltune_is_used_unequal(const colltune_executor* executor,
                              enum colltune_collective collective);

#ifdef __cplusplus
}
#endif
#endif
