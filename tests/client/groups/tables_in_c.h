/* SPDX-FileCopyrightText: The colltune authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COLLTUNE_TESTS_TABLES_IN_C_H
#define COLLTUNE_TESTS_TABLES_IN_C_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Asks the table file, which has all_reduce f32 of 1 KiB (cpu.one_shot{n=2} in 1000 ns, mpi.default
 * in 2000) on 1 x 2 ranks and digest `digest`, by all functions of tables. Empty where all answered
 * as they must, else which did not. */
const char* ask_tables_in_c(const char* path, const char* digest);

/* One rank of a group that opens one table; `context` is that of both functions. `text` becomes the
 * table's digest, or the error's message. Returns the status. */
int open_in_group_in_c(const char* path, int rank, int size_of_group, void* context,
                       int (*broadcast)(void*, void*, size_t),
                       int (*all_gather)(void*, const void*, void*, size_t), char* text,
                       size_t size);

#ifdef __cplusplus
}
#endif

#endif
