/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The functions of bridge.h, of a library that is loaded when they are needed: most programs are
   short, and set nothing up. To load it takes a process a millisecond, or several where page faults
   are dear. */
#ifndef COLLTUNE_OPEN_MPI_LATE_BRIDGE_H
#define COLLTUNE_OPEN_MPI_LATE_BRIDGE_H

#include <stdint.h>

/* Loads the library, if it is not. Returns a word of its fingerprint, the same where the build and
   the settings are; 0: it does not take part, and a line on stderr has said why. Local. */
int64_t colltune_load(void);

#endif
