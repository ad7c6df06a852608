/* SPDX-FileCopyrightText: The colltune authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COLLTUNE_CLIENT_H
#define COLLTUNE_CLIENT_H

/* Asks a colltuned which variant of a collective is the fastest: the stable C interface of
 * libcolltune_client.so, for C, Python (ctypes) and whoever loads it with dlopen.
 *
 * Functions that can fail return 0, or a status code of gRPC (3 invalid argument, 4 deadline
 * exceeded, 5 not found, 14 unavailable, ...), and write the text to `error` where that is not
 * NULL. All calls on one client may come from several threads. Structures begin with their size, so
 * that they can grow: set it with sizeof, and clear the rest. */

#include <stddef.h>
#include <stdint.h>

#include "colltune/error.h"

#ifdef __cplusplus
extern "C" {
#endif

#pragma GCC visibility push(default)

typedef struct colltune_client colltune_client;
typedef struct colltune_answer colltune_answer;

/* What is 0 or NULL is left open: where several stored worlds fit then, the lookup fails with a
 * message that lists them. */
typedef struct colltune_query {
  size_t struct_size;
  const char* collective;      /* "all_reduce", "all_gather", ..., "mesh_reduce": required */
  const char* data_type;       /* "f32", "bf16", ...: required */
  const char* reduce_op;       /* NULL: "sum" where the collective reduces, else "none" */
  uint64_t message_size_bytes; /* of the larger of one rank's send and receive buffers */
  int nodes;
  int ranks_per_node;
  int in_place;             /* 0 or 1 */
  int registered;           /* 0 or 1: the buffers lie in symmetric memory */
  const char* architecture; /* "x86_64-avx2", "sm_90", ... */
  const char* environment_digest;
  const char* layout_digest;
  const char* interconnect;
  const char* placement;     /* NULL: "dedicated" */
  const char* family;        /* NULL: "any" */
  const char* numeric_class; /* NULL: "any" */
  uint64_t generation;       /* that very one; 0: the newest */
  /* What each rank of the asking communicator can do, as JSON: {"kind_of_rank": [0, 1], "kinds":
   * [{"architecture": "x86_64-avx2", "features": ["cpu.cores=8"]}, ...]}, each kind once, in
   * ascending order, as `colltune show members --json` prints it and `colltune lookup --members`
   * reads it. The answer is one that all of them can run. NULL: not said; what is composed of
   * several variants is no answer then. Older callers' structures end before this. */
  const char* members;
  /* Of the collective "mesh_reduce": the ranks along each dimension of the process mesh, as in
   * "2x3", what is reduced over it in which order, as in "0:sum,1:sum", and the form that alone is
   * to be answered ("sequential", "merged", "hierarchical"; NULL: the fastest). `reduce_op` is NULL
   * then: the operators stand in `mesh_steps`. */
  const char* mesh_shape;
  const char* mesh_steps;
  const char* mesh_form;
  /* The content of `generation`, as colltune_answer_generation_digest says it: one of that number
   * with another content is an error. NULL: whatever has the number. Older callers' structures end
   * before this. */
  const char* generation_digest;
  /* How the calls are made, "each" (every call brings its buffers) or "persistent" (prepared once
   * for fixed buffers), and where their input was, "rewritten", "hot" or "rotating": what was
   * decided for another way is never the answer. NULL: the defaults of the command line's --calling
   * and --input. Older callers' structures end before this. */
  const char* calling;
  const char* input;
} colltune_query;

/* `address` is "unix:/path" or "host:port"; sends nothing yet. `timeout_ms` bounds every call; 0:
 * 2000. On success *client is to be given to colltune_close. */
int colltune_open(const char* address, unsigned timeout_ms, colltune_client** client,
                  colltune_error* error);
/* The same for a table file, as `colltune export table` writes it: no daemon is asked. The file is
 * read now; it may be replaced later. 9 (failed precondition): it is not there, no table
 * file or of another version; 15 (data loss): it is damaged. */
int colltune_open_table(const char* path, colltune_client** client, colltune_error* error);
/* NULL is allowed. */
void colltune_close(colltune_client* client);

/* On success *answer is to be given to colltune_answer_free; it may outlive the client. */
int colltune_lookup(const colltune_client* client, const colltune_query* query,
                    colltune_answer** answer, colltune_error* error);
/* NULL is allowed. */
void colltune_answer_free(colltune_answer* answer);

/* Texts belong to the answer. */
const char* colltune_answer_winner(const colltune_answer* answer); /* "name{a=1,b=ring}" */
const char* colltune_answer_source(const colltune_answer* answer); /* "measured", ... */
const char* colltune_answer_match(const colltune_answer* answer);  /* "exact", ... */
/* How what was measured compares with the question's members: "not_asked", "same" (just these),
 * "less" (with members that can do less) or "unknown" (the baseline alone is the answer). */
const char* colltune_answer_members(const colltune_answer* answer);
uint64_t colltune_answer_generation(const colltune_answer* answer);
/* Rank 0 broadcasts both, so that all ranks ask for that very generation. */
const char* colltune_answer_generation_digest(const colltune_answer* answer);

/* The ranked variants: 0 is the winner. Out of range: NULL, -1, 0. */
size_t colltune_answer_count(const colltune_answer* answer);
const char* colltune_answer_variant(const colltune_answer* answer, size_t rank);
const char* colltune_answer_family(const colltune_answer* answer, size_t rank);
int64_t colltune_answer_median_ns(const colltune_answer* answer, size_t rank);
double colltune_answer_speedup_over_baseline(const colltune_answer* answer, size_t rank);
/* What members that are not alike, or the steps of a mesh reduction, run together under a variant's
 * name, as JSON:
 * {"mode": "substituted", "parts": [{"role": "whole", "kinds": ["5f0c..."], "variant": "..."},
 * ...]}, as configs/export.schema.json says of a composition. NULL where all run the variant
 * itself. */
const char* colltune_answer_composition(const colltune_answer* answer, size_t rank);
/* What makes a variant run in its own library: the texts belong to the answer. */
typedef struct colltune_apply {
  size_t struct_size;
  /* "nothing" (it is what runs anyway), "environment" (`variables` of the launch), "program" (calls
   * that the program makes), "component" (a table file and colltune's component for Open MPI) or
   * "colltune" (nothing does: only colltune-agent runs it). */
  const char* by;
  const char* const* variables; /* "NAME=value", ends with NULL; empty but for "environment" */
  size_t variable_count;
  const char* how; /* for a person: what to do, and what else that changes */
} colltune_apply;
/* Fills as much of *apply as its struct_size says, for the variant at `rank`. Returns 0, or 3 where
 * the answer or apply is NULL, struct_size is less than the structure's first version, or the rank
 * is out of range; then *apply is as it was. */
int colltune_answer_apply(const colltune_answer* answer, size_t rank, colltune_apply* apply);
/* The name by which parts call the kind of the question's member of this number (its rank in the
 * communicator); NULL beyond the members, or where the question said nothing of them. */
const char* colltune_answer_kind(const colltune_answer* answer, size_t member);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
