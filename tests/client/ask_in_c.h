/* SPDX-FileCopyrightText: The colltune authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COLLTUNE_TESTS_ASK_IN_C_H
#define COLLTUNE_TESTS_ASK_IN_C_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Asks for all_reduce f32 sum of 1 KiB on 1 x 2 ranks. Returns the status; `text` becomes what the
 * answer's functions tell, or the error's message. */
int ask_in_c(const char* address, const char* architecture, char* text, size_t size);

/* The same for 1 x 4 ranks that can do `members`. `text` becomes "members winner kind kind kind
 * kind composition", the kinds being those of the ranks, and "-" what is NULL; or the error's
 * message. */
int ask_for_members_in_c(const char* address, const char* members, char* text, size_t size);

/* The same for a reduction over the mesh `shape` by `steps`, in the `form` that alone is wanted or
 * NULL. `text` becomes "winner composition", or the error's message. */
int ask_about_mesh_in_c(const char* address, const char* shape, const char* steps, const char* form,
                        char* text, size_t size);

/* Asks with a structure of that size for a regime; NULL leaves it open. `text` becomes the winner,
 * or the error's message. */
int ask_in_regime_in_c(const char* address, size_t struct_size, const char* calling,
                       const char* input, char* text, size_t size);
/* The sizes of the structure before and since it has a regime. */
size_t query_without_regime(void);
size_t query_with_regime(void);

/* Asks for gather f32 of 1 KiB on 1 x 2 ranks. `text` becomes "by count variables…how" of the
 * variant at `rank`, or the error's message. */
int ask_how_to_apply_in_c(const char* address, size_t rank, char* text, size_t size);

/* Asks a table file for all_reduce f32 sum of 1 KiB on 1 x 2 ranks of a generation with that
 * digest; 0 and NULL: any. `text` becomes "winner generation", or the error's message. */
int ask_table_in_c(const char* path, unsigned long long generation, const char* digest, char* text,
                   size_t size);

/* Asks in one batch of `generation` with that digest for all_reduce f32 sum of 1 KiB, of 7 bytes in
 * a type that no decision has, and of 4 KiB. `text` becomes "count generation winner code winner",
 * or the error's message. */
int ask_batch_in_c(const char* address, unsigned long long generation, const char* digest,
                   char* text, size_t size);

/* Fetches the decisions of the worlds with that many ranks per node and that architecture (0, NULL:
 * all), with a structure of that size. `text` becomes their number, or the error's message. */
int fetch_worlds_in_c(const char* address, size_t struct_size, int ranks_per_node,
                      const char* architecture, char* text, size_t size);
/* The sizes of the structure before and since it has worlds. */
size_t fetch_without_worlds(void);
size_t fetch_with_worlds(void);

/* One rank of a group that fetches one table from a daemon; `context` is that of both functions.
 * `generation`: the one demanded, 0: any. `text` becomes the table's digest, or the error's
 * message. */
int fetch_in_group_in_c(const char* address, int rank, int size_of_group, void* context,
                        int (*broadcast)(void*, void*, size_t),
                        int (*all_gather)(void*, const void*, void*, size_t),
                        unsigned long long generation, char* text, size_t size);

/* Calls every function with wrong arguments; empty where all behaved, else which one did not. */
const char* misuse_in_c(void);

#ifdef __cplusplus
}
#endif

#endif
