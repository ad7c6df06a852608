// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// Sweeps inside a running MPI program, with implementations that are the program's own functions.
/// C99; also valid C++. Python's side of it is client/python/colltune/_callables.py.
///
/// Every function returns 0 or one of gRPC's canonical codes, and sets `*text`: to its result, or
/// to the reason of the failure for a person. The caller frees it with colltune_callables_free.
/// Functions that take a communicator are collective over it; it is an MPI_Fint (MPI_Comm_c2f).
/// They use MPI by its profiling names and change neither the error handlers nor the attributes of
/// the program's communicators. Not thread-safe: one thread of a process calls MPI.

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// One call of a registered function. Texts stay valid while the operation lives.
typedef struct colltune_callable_call {
  size_t struct_size;
  const char* problem;     ///< JSON: collective, data_type, reduce_op, message_size, count,
                           ///< element_size, ranks, nodes, ranks_per_node, in_place
  const char* parameters;  ///< JSON: an object with a value for each described parameter
  const void* send;        ///< NULL if this rank sends nothing
  size_t send_size;        ///< bytes
  void* receive;           ///< NULL if this rank receives nothing
  size_t receive_size;     ///< bytes
  uint64_t count;          ///< elements: the whole message, or one rank's share of it
  int32_t root;            ///< 0 if the collective has none
  int32_t communicator;    ///< MPI_Fint of the ranks that make the call
} colltune_callable_call;

/// A registered implementation. No pointer but `context` and `supports` is NULL.
typedef struct colltune_callable {
  size_t struct_size;
  /// JSON: {"name", "collective"}, and if wanted "description", "rounding", "numeric_class",
  /// "parameters", "limits" and "cost", as in kernels/plugin/README.md. The variant is called
  /// python.<collective>_<name>, its family python:<name>.
  const char* description;
  void* context;  ///< passed back
  /// 0 if this rank can run the problem; else the reason is in `reason`. NULL: it can run all.
  int32_t (*supports)(void* context, const char* problem, const char* parameters, char* reason,
                      size_t reason_size);
  /// Makes the call and returns when the result is there; not 0: it failed, with the reason in
  /// `message`. All ranks should fail together: one that waits for another has no way out but the
  /// end of its process, at the call's deadline.
  int32_t (*run)(void* context, const colltune_callable_call* call, char* message,
                 size_t message_size);
} colltune_callable;

typedef struct colltune_callables_request {
  size_t struct_size;
  int32_t communicator;
  const char* configuration;  ///< JSON, as in configs/README.md; the same on all ranks
  const char* database;       ///< to add to; NULL: nothing is stored. Rank 0 opens it
  const colltune_callable* callables;
  size_t callable_count;
  int32_t call_limit_seconds;   ///< before which no call is late; 0: derived from the budget
  int32_t allow_oversubscribe;  ///< more ranks than cores: results are kept apart
} colltune_callables_request;

/// Exchanges the callables, plans, measures, decides, stores and publishes; collective. The result,
/// the same on all ranks, is JSON: {"sweep_uuid", "environment_digest", "environment", "generation"
/// (or null), "decisions", "trials" (what did not end well), "skipped", "notes"}. Fails on all
/// ranks where ranks described one name unlike, MPI is not running, or a stage fails.
int32_t colltune_callables_sweep(const colltune_callables_request* request, char** text);

/// The texts of all ranks, as a JSON array in rank order; collective, bounded by 60 s.
int32_t colltune_callables_gather(int32_t communicator, const char* own, char** text);

/// The answer to a question, as JSON: {"ranked": the variants, best first, "reason", "problem": as
/// a function sees it, "buffers": the bytes that the root (or every rank) sends and receives,
/// "send" and "receive", and the other ranks, "other_send" and "other_receive"}. Local.
/// `decisions`: those of a sweep's result; NULL: those published in `database`. `query`: JSON with
/// collective, data_type, reduce_op (ignored where nothing is reduced), message_size (a whole
/// number of elements on each rank), nodes, ranks_per_node and, if wanted, root, environment_digest
/// and placement.
int32_t colltune_callables_find(const char* decisions, const char* database, const char* query,
                                char** text);

/// Runs a variant that is no function of the program (colltune's kernels, the MPI library's own
/// call and its forced algorithms) as a sweep in the program measures it: on a communicator of its
/// own, prepared once, and bound to the buffers of each call.
typedef struct colltune_callables_runner colltune_callables_runner;

/// Collective. `call`: JSON with collective, data_type, reduce_op, message_size and root, as in a
/// query; the same on all ranks. Fails on all ranks where one gives a wrong call or another one
/// than rank 0, or runs another build. `communicator` outlives the calls of
/// colltune_callables_prepare.
int32_t colltune_callables_open(int32_t communicator, const char* call,
                                colltune_callables_runner** runner, char** text);

/// Why not all ranks can run `variant`, as a decision prints it; empty if they can. Local, and the
/// same on all ranks.
int32_t colltune_callables_why_not(const colltune_callables_runner* runner, const char* variant,
                                   char** text);

/// Prepares `variant`, instead of what was prepared before. Collective, bounded by 60 s. Fails on
/// all ranks where one cannot; another variant may be prepared then.
int32_t colltune_callables_prepare(colltune_callables_runner* runner, const char* variant,
                                   char** text);

/// Makes the call. All ranks do so, each with its own buffers, which may be others in every call; a
/// rank that sends or receives nothing passes NULL and 0. A broadcast has one buffer: the root's
/// `send` is its `receive`. Otherwise the two must not overlap. Waits for other ranks at most 5
/// minutes, in the MPI library's own calls as long as the library does. Wrong buffers are refused
/// before anything is started, as by colltune_callables_refuse. After any other failure the runner
/// makes no further call. `*text` is NULL where it succeeds.
int32_t colltune_callables_run(colltune_callables_runner* runner, const void* send,
                               size_t send_size, void* receive, size_t receive_size, char** text);

/// The same call again with the buffers of the last one, which must still be valid: for bindings,
/// to which arguments are dear. The other ranks may call colltune_callables_run.
int32_t colltune_callables_repeat(colltune_callables_runner* runner, char** text);

/// This rank does not make its next call: for bindings that find its buffers to be wrong. If all
/// ranks refuse the call, they go on to the next one. Else, where a kernel of colltune's runs, it
/// fails on all ranks of the node, and the runner makes no further call: on the other ranks while
/// they wait in it, on this one in the next call. In the MPI library's own calls the others wait,
/// as in MPI, and this rank may still make the call.
int32_t colltune_callables_refuse(colltune_callables_runner* runner, char** text);

/// Frees it; NULL is allowed. Local: waits for no other rank, and the others may free theirs at any
/// later time. Before MPI_Finalize the communicator is freed too.
void colltune_callables_close(colltune_callables_runner* runner);

/// Starts MPI where the program has not. The result is JSON, as of colltune_callables_describe, for
/// MPI_COMM_WORLD, with "is_started": whether this call has started MPI. For programs without
/// mpi4py. Who started MPI so ends it by colltune_callables_end_mpi.
int32_t colltune_callables_start_mpi(char** text);
int32_t colltune_callables_end_mpi(char** text);

/// {"communicator": its MPI_Fint, "rank", "size"}, as JSON. Local.
int32_t colltune_callables_describe(int32_t communicator, char** text);

/// The communicator of the ranks that give the same `color`, ordered by `key`, then by rank: as
/// colltune_callables_describe. A rank with a negative color gets an empty text. Collective.
int32_t colltune_callables_split(int32_t communicator, int32_t color, int32_t key, char** text);

/// Frees what colltune_callables_split made. Collective in MPI's words, although no MPI library
/// waits there.
int32_t colltune_callables_free_communicator(int32_t communicator, char** text);

void colltune_callables_free(char* text);

#ifdef __cplusplus
}
#endif
