/* SPDX-FileCopyrightText: The colltune authors
 * SPDX-License-Identifier: Apache-2.0 */
#ifndef COLLTUNE_CLIENT_H
#define COLLTUNE_CLIENT_H

/* Which variant of a collective is the fastest, from a table file or a colltuned: the stable C
 * interface of libcolltune_client.so, for C, Python (ctypes) and whoever loads it with dlopen. What
 * is named colltune_table_* (but for the fetches), colltune_answer_* and colltune_*_name is also in
 * libcolltune_table.so, which needs neither gRPC nor protobuf and starts no thread.
 *
 * Ranks of a group, whose calls must be alike, open one table (colltune_table_open_in_group,
 * colltune_table_fetch_in_group). All lookups are in that table then.
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
  int graph_capture;    /* 0 or 1: the calls are captured into a graph */
  const char* at_least; /* "exact", "nearest_size"; NULL: "any_environment"; "other_ranks": also
                         * what models say of a number of ranks per node that was not measured.
                         * Older callers' structures end before these two. */
  /* How the lengths of the ranks' blocks are distributed: "equal", or of all_gather and
   * reduce_scatter "one_large" (one is at least half of the message, and twice the mean of the
   * others) or "random". NULL: "equal". Older callers' structures end before this. */
  const char* counts;
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

/* One question without a table, for people and their tools: two processes that ask so may get
 * unlike answers. It alone guesses an environment, where the query names none and several fit: the
 * one that is most like this machine, among equals the one that was stored last;
 * colltune_answer_guess says so. On success *answer is to be given to colltune_answer_free; it may
 * outlive the client. */
int colltune_lookup_once(const colltune_client* client, const colltune_query* query,
                         colltune_answer** answer, colltune_error* error);
/* The old name of colltune_lookup_once. */
int colltune_lookup(const colltune_client* client, const colltune_query* query,
                    colltune_answer** answer, colltune_error* error);

/* The answers to many questions, all of one generation. */
typedef struct colltune_batch colltune_batch;
/* Asks the daemon of a client that colltune_open made `count` questions at once, at most 1000;
 * `query_size` is sizeof(colltune_query). All are answered from `generation`, whose content must
 * have `generation_digest`; 0: from the newest, NULL: whatever has the number. A query's own
 * generation is 0 or the same one, and its generation_digest is NULL. Guesses nothing. Fails where
 * a query is malformed, and names its number. On success *batch is to be given to
 * colltune_batch_free. */
int colltune_lookup_batch(const colltune_client* client, const colltune_query* queries,
                          size_t count, size_t query_size, uint64_t generation,
                          const char* generation_digest, colltune_batch** batch,
                          colltune_error* error);
uint64_t colltune_batch_generation(const colltune_batch* batch);
const char* colltune_batch_generation_digest(const colltune_batch* batch);
size_t colltune_batch_count(const colltune_batch* batch); /* that of the queries */
/* The answer to the query of this number; it belongs to the batch and is not to be freed. Its
 * environment's facts are not known, so that colltune_answer_apply may say less of it. Returns the
 * code of that query's own error where it has no answer, 3 where the batch is NULL or has no such
 * query; *answer is NULL then. */
int colltune_batch_answer(const colltune_batch* batch, size_t number,
                          const colltune_answer** answer, colltune_error* error);
/* NULL is allowed. */
void colltune_batch_free(colltune_batch* batch);

/* The decisions of one generation and one environment in this process. Immutable: all calls may
 * come from several threads, and from forked processes. */
typedef struct colltune_table colltune_table;
/* Reads a table file, as `colltune export table` writes it; it may be replaced later. `digest`: the
 * one that it must have, NULL: any. On success *table is to be given to colltune_table_close. 9
 * (failed precondition): it is not there, no table file, of another version, or another table than
 * demanded; 15 (data loss): it is damaged. */
int colltune_table_open(const char* path, const char* digest, colltune_table** table,
                        colltune_error* error);
/* Which table of a daemon. What is 0 or NULL is left open. */
typedef struct colltune_fetch {
  size_t struct_size;
  const char* environment_digest; /* may be NULL where there are decisions of one alone */
  uint64_t generation;            /* 0: the newest */
  const char* generation_digest;  /* the content that this generation must have */
  const char* digest;             /* the one that the table must have */
  /* The worlds whose decisions are fetched, as in colltune_query. Tables of other worlds have
   * another digest. Older callers' structures end before this. */
  int nodes;
  int ranks_per_node;
  const char* architecture;
} colltune_fetch;
/* The same from the daemon of a client that colltune_open made. `what` may be NULL. */
int colltune_table_fetch(const colltune_client* client, const colltune_fetch* what,
                         colltune_table** table, colltune_error* error);

/* How the ranks of a group tell each other something. All ranks call both functions in the same
 * order, from the thread that opens; `context` is that of the structure. They return 0; after
 * anything else the opening ends on that rank, with 10 (aborted). */
typedef int (*colltune_broadcast)(void* context, void* data, size_t bytes);
typedef int (*colltune_all_gather)(void* context, const void* own, void* all, size_t bytes);
typedef struct colltune_group_calls {
  size_t struct_size;
  int rank;
  int size; /* of the group */
  void* context;
  colltune_broadcast broadcast;   /* overwrites `data` with rank 0's, on all ranks */
  colltune_all_gather all_gather; /* puts `bytes` bytes of each rank into `all`, in rank order */
} colltune_group_calls;
/* On all ranks of a group the table that rank 0 opens; each rank reads the file at its own path. If
 * one of them has no file or another one, all ranks fail with an error that names it. What is wrong
 * with `group` itself is an error of that rank alone: 3. */
int colltune_table_open_in_group(const char* path, const colltune_group_calls* group,
                                 colltune_table** table, colltune_error* error);
/* The same from daemons: each rank may have one of its own. `what` names the same worlds on all
 * ranks; what else it names must be rank 0's table. */
int colltune_table_fetch_in_group(const colltune_client* client, const colltune_fetch* what,
                                  const colltune_group_calls* group, colltune_table** table,
                                  colltune_error* error);
/* NULL is allowed. Answers may outlive their table. */
void colltune_table_close(colltune_table* table);

/* Texts belong to the table. */
/* Of the whole content, generation and environment included: 32 hexadecimal digits. */
const char* colltune_table_digest(const colltune_table* table);
const char* colltune_table_environment(const colltune_table* table); /* its digest */
uint64_t colltune_table_generation(const colltune_table* table);
const char* colltune_table_generation_digest(const colltune_table* table);
const char* colltune_table_store(const colltune_table* table); /* the store's UUID */
size_t colltune_table_decisions(const colltune_table* table);

/* The whole answer to a query: ranking, evidence, members, compositions. Takes memory. */
int colltune_table_lookup(const colltune_table* table, const colltune_query* query,
                          colltune_answer** answer, colltune_error* error);

/* The short answer, for many calls. A group is the calls that differ only in their message size: it
 * is resolved once, from a query whose message size does not matter, and which has neither members
 * nor mesh_form. The numbers of groups are those of one digest. */
int colltune_table_resolve(const colltune_table* table, const colltune_query* query,
                           uint32_t* group, colltune_error* error);
/* Its layout never changes. Times are per call. */
typedef struct colltune_found {
  uint32_t variant;  /* colltune_table_variant; UINT32_MAX: there is no answer */
  uint32_t baseline; /* UINT32_MAX: it is not ranked */
  int64_t time_ns;
  int64_t baseline_time_ns; /* 0: no baseline is ranked */
  uint64_t size_bytes;      /* the size asked for, rounded to what the calls allow */
  int32_t code;             /* 0, or 5: no measured variant can run this size */
  uint8_t source;           /* colltune_source_name */
  uint8_t verdict;          /* colltune_verdict_name */
  uint8_t status;           /* colltune_status_name */
  uint8_t is_baseline;      /* 0 or 1 */
  uint64_t reserved;
} colltune_found;
/* Takes no lock and no memory. Returns found->code, or 3 where an argument is NULL; a group that
 * the table has not is answered by 5. */
int colltune_table_find(const colltune_table* table, uint32_t group, uint64_t bytes,
                        colltune_found* found);
/* `count` of them; found_size is sizeof(colltune_found). Returns 0, or 3 where an argument is NULL
 * or found_size is another one; each found has its own code. */
int colltune_table_find_many(const colltune_table* table, const uint32_t* groups,
                             const uint64_t* bytes, size_t count, colltune_found* found,
                             size_t found_size);
/* "name{a=1,b=ring}"; NULL for a number that the table has not. */
const char* colltune_table_variant(const colltune_table* table, uint32_t variant);
/* NULL for a number that names nothing. */
const char* colltune_source_name(unsigned source);   /* "measured", ... */
const char* colltune_verdict_name(unsigned verdict); /* "displaced", ... */
const char* colltune_status_name(unsigned status);   /* "provisional", "confirmed" */

/* The generations of a daemon. */
typedef struct colltune_generation_list colltune_generation_list;
/* On success *list is to be given to colltune_generations_free. */
int colltune_generations(const colltune_client* client, colltune_generation_list** list,
                         colltune_error* error);
/* The same, as soon as the newest is another one than `known`, or after `timeout_ms`. Asks twice a
 * second. For communicators that are made later: those that there are keep their table. */
int colltune_wait_for_generation(const colltune_client* client, uint64_t known,
                                 const char* known_digest, unsigned timeout_ms,
                                 colltune_generation_list** list, colltune_error* error);
uint64_t colltune_generations_newest(const colltune_generation_list* list);
const char* colltune_generations_newest_digest(const colltune_generation_list* list);
/* Those that can be pinned, the newest first. */
size_t colltune_generations_count(const colltune_generation_list* list);
uint64_t colltune_generations_at(const colltune_generation_list* list, size_t number);
/* NULL is allowed. */
void colltune_generations_free(colltune_generation_list* list);

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
const char* colltune_answer_generation_digest(const colltune_answer* answer);

/* Why the winner won, as a sentence; what the measurements show about the baseline ("displaced",
 * "kept", "undecided", "no_baseline"); how far the decision may be trusted ("provisional",
 * "confirmed"). */
const char* colltune_answer_reason(const colltune_answer* answer);
const char* colltune_answer_verdict(const colltune_answer* answer);
const char* colltune_answer_status(const colltune_answer* answer);
/* The digest of the environment in which it was measured; how colltune_lookup_once chose it and
 * what differs from this machine, "" where it had no choice. */
const char* colltune_answer_environment(const colltune_answer* answer);
const char* colltune_answer_guess(const colltune_answer* answer);
/* How the calls were made, and where their input was. */
const char* colltune_answer_calling(const colltune_answer* answer);
const char* colltune_answer_input(const colltune_answer* answer);
/* For a person: "1x2 x86_64-avx2". */
const char* colltune_answer_world(const colltune_answer* answer);
/* The measured sizes that the answer is based on: one, or two around the query's, or none. */
size_t colltune_answer_measured_count(const colltune_answer* answer);
uint64_t colltune_answer_measured_bytes(const colltune_answer* answer, size_t number);

/* The ranked variants: 0 is the winner. Out of range: NULL, -1, 0. */
size_t colltune_answer_count(const colltune_answer* answer);
const char* colltune_answer_variant(const colltune_answer* answer, size_t rank);
const char* colltune_answer_family(const colltune_answer* answer, size_t rank);
int64_t colltune_answer_median_ns(const colltune_answer* answer, size_t rank);
double colltune_answer_speedup_over_baseline(const colltune_answer* answer, size_t rank);
int colltune_answer_is_baseline(const colltune_answer* answer, size_t rank);
uint64_t colltune_answer_samples(const colltune_answer* answer, size_t rank);
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
/* Where a model expects the winner's time, of a size or a number of ranks that was not measured:
 * within these bounds lay 90 % of the measured times that were left out of the model. The text
 * belongs to the answer. */
typedef struct colltune_prediction {
  size_t struct_size;
  int64_t low_ns;
  int64_t high_ns;
  const char* model; /* "alpha_beta"; "loggp" where the match is "other_ranks" */
} colltune_prediction;
/* Fills as much of *prediction as its struct_size says. Returns 0; 5 (not found) where the size was
 * measured, or no model was fitted to the winner's times; 3 where an argument is NULL, or
 * struct_size is less than the structure's first version. After 3 and 5 *prediction is as it
 * was. */
int colltune_answer_prediction(const colltune_answer* answer, colltune_prediction* prediction);
/* The name by which parts call the kind of the question's member of this number (its rank in the
 * communicator); NULL beyond the members, or where the question said nothing of them. */
const char* colltune_answer_kind(const colltune_answer* answer, size_t member);

#pragma GCC visibility pop

#ifdef __cplusplus
}
#endif

#endif
