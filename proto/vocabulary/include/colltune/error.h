/* SPDX-FileCopyrightText: The colltune authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COLLTUNE_ERROR_H
#define COLLTUNE_ERROR_H

/* What colltune's C functions write where they fail. */

#include <stddef.h>

typedef struct colltune_error {
  size_t struct_size; /* set it with sizeof */
  int code;           /* a status code of gRPC */
  char message[2048]; /* ends with 0; cut where it is longer */
} colltune_error;

#endif
