/* SPDX-FileCopyrightText: The colltune authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COLLTUNE_TESTS_COLLECTIVES_IN_C_H
#define COLLTUNE_TESTS_COLLECTIVES_IN_C_H

#include "colltune/collectives.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Makes every call of the C interface on one rank of `collectives`, with checks. Returns NULL, or
 * what was wrong. */
const char* use_collectives_in_c(colltune_collectives* collectives);
/* What all ranks of a C program may do wrong and go on. Returns NULL, or what was not refused. */
const char* misuse_collectives_in_c(colltune_collectives* collectives);

#ifdef __cplusplus
}
#endif
#endif
