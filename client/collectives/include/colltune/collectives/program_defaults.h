/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* What a program that sets nothing has, in C as well: the component for Open MPI knows it before it
   loads what is written in C++. */
#ifndef COLLTUNE_COLLECTIVES_PROGRAM_DEFAULTS_H
#define COLLTUNE_COLLECTIVES_PROGRAM_DEFAULTS_H

/* COLLTUNE_PATIENCE */
#define COLLTUNE_DEFAULT_PATIENCE_MS 10

/* The report where nothing of ours ran. */
#define COLLTUNE_NONE_SET_UP                                                                 \
  "no communicator was set up: none spent long enough in collectives, or the program ended " \
  "too soon (COLLTUNE_PATIENCE), or nothing of the table runs there"

#endif
