// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// The plug-in interface of colltune, version 1: pure C (C99; also valid C++), nothing to link.
///
/// A plug-in is a shared object that adds implementations of collective operations. colltune loads
/// it (`colltune-agent sweep --plugin FILE`), verifies the implementations that it describes,
/// measures them along with its own, and stores the winners. A plug-in exports ONE symbol,
/// `colltune_plugin_entry`, which returns a table of functions; colltune passes it a table in
/// return, the host's.
///
/// Life of an operation: `prepare` once, then `start` and `wait` in turn any number of times, then
/// `destroy`. Before a `start`, `bind` may give it other buffers, and `rebind` another call. Only
/// `bind`, `rebind`, `start` and `wait` are timed.
///
/// Rules
/// - Every struct begins with its size as its writer knows it. Later revisions of version 1 only
///   append fields: read a field that the first revision lacks only if `struct_size` covers it.
///   `colltune_plugin_entry` fills its table's `struct_size` with sizeof(colltune_plugin). The
///   second revision added `bind`, the third `rebind` and `colltune_call.capacity`.
/// - No exception and no longjmp crosses this interface. A function that fails returns a status;
///   before that it may give a text for a person by `host->fail`.
/// - Every wait has a deadline. A wait for another rank uses `host->signal_wait`, or is a loop that
///   checks `host->is_aborted` and compares `host->now_ns` with the deadline. When the loop gives
///   up, it names the rank by `host->miss`.
/// - `bind`, `rebind` and `start` never wait for another rank; none of them, nor `wait`, allocates
///   memory.
/// - No rank's user buffer is written, and no rank's input read, before that rank's `start`. `wait`
///   returns only when no other rank still reads this rank's input, since the caller may overwrite
///   it next. Calls follow each other without a barrier; ranks may be late by any time.
/// - Nothing outside the receive buffer is written. The send buffer is not written either, unless
///   it is the same memory.
/// - `prepare` is collective: all ranks make the same call in the same order. It fails on all ranks
///   or on none, unless a rank did not come. `destroy` is local. After a failed `start` or `wait`
///   only `destroy` follows, on every rank.
/// - Threads: one operation is used by one thread at a time. Ranks may be threads of one process:
///   keep all data that is not constant in the operation, not in static variables. Functions of the
///   host that take a communicator or memory are called by the thread that called the plug-in,
///   except rank, size, node_of, is_aborted, part and signal_get, which any thread may call.
/// - Pointers handed to the plug-in stay valid during the call. The communicator, the host table
///   and the user's buffers outlive the operation. What `describe` and the entry return stays valid
///   until the shared object is unloaded, which happens after the last `destroy`.

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { colltune_plugin_abi_version = 1 };

/// How a call ended: gRPC's canonical codes, as far as this interface uses them.
typedef int32_t colltune_status;
enum {
  colltune_ok = 0,
  colltune_invalid_argument = 3,
  colltune_deadline_exceeded = 4,  ///< a rank did not come in time
  colltune_resource_exhausted = 8,
  colltune_failed_precondition = 9,
  colltune_aborted = 10,  ///< given up because the abort flag is raised
  colltune_unimplemented = 12,
  colltune_internal = 13,
  colltune_unavailable = 14
};

typedef struct colltune_communicator colltune_communicator;  ///< the host's; opaque
typedef struct colltune_memory colltune_memory;              ///< the host's; opaque
typedef struct colltune_operation colltune_operation;        ///< the plug-in's; opaque to the host

/// Bits of `colltune_problem.flags`.
enum {
  /// The smaller buffer is a view into the larger one, as MPI and NCCL define it: the same bytes
  /// for all_reduce, reduce, broadcast and all_to_all; block `rank` of the larger one for the rest.
  colltune_in_place = 1,
  colltune_registered = 2  ///< the buffers lie in symmetric memory
};

/// One collective call to be served. Names are colltune's stable ones.
typedef struct colltune_problem {
  size_t struct_size;
  const char* collective;     ///< all_reduce, all_gather, reduce_scatter, broadcast, reduce,
                              ///< all_to_all, gather, scatter
  const char* data_type;      ///< i8 u8 i32 u32 i64 u64 f16 bf16 f32 f64 f8e4m3 f8e5m2
  const char* reduce_op;      ///< sum prod min max avg; none if the collective does not reduce
  const char* numeric_class;  ///< what the caller demands: any, same_bits, rank_order
  uint64_t message_size;      ///< bytes of the larger of one rank's send and receive buffers
  uint64_t block_elements;    ///< the unit of "count": the whole message, or one rank's share of it
  uint64_t element_size;      ///< bytes
  int32_t ranks;
  int32_t nodes;
  int32_t ranks_per_node;  ///< the most on any node
  uint32_t flags;
} colltune_problem;

/// One of the described implementations with every parameter set. Parameters are sorted by name;
/// the three arrays have `parameter_count` entries.
typedef struct colltune_variant {
  size_t struct_size;
  const char* implementation;           ///< as described: without the family
  const char* const* parameter_names;   ///< as described
  const char* const* parameter_values;  ///< as text
  const int64_t* parameter_numbers;     ///< as a number; 0 for a word
  size_t parameter_count;
} colltune_variant;

/// What a caller wants done. Every rank passes the same problem and root, and its own buffers.
typedef struct colltune_call {
  size_t struct_size;
  const colltune_problem* problem;
  int32_t root;      ///< 0 if the collective has none
  const void* send;  ///< NULL if this rank sends nothing
  size_t send_size;
  void* receive;  ///< NULL if this rank receives nothing
  size_t receive_size;
  /// Since the third revision. In `prepare`: the largest message, in bytes, of the calls that
  /// follow by `rebind`, at least that of `problem`; the same on all ranks. 0: no `rebind` follows.
  /// In `rebind`: 0.
  uint64_t capacity;
} colltune_call;

/// What colltune offers to a plug-in. Deadlines are points on the steady clock (`now_ns`).
typedef struct colltune_host {
  size_t struct_size;
  uint32_t abi_version;
  /// This rank, the number of ranks, and the node of a rank (from 0; -1 for a rank that does not
  /// exist).
  int32_t (*rank)(const colltune_communicator* communicator);
  int32_t (*size)(const colltune_communicator* communicator);
  int32_t (*node_of)(const colltune_communicator* communicator, int32_t rank);
  /// Whether ranks share a core while they run. If so, a loop that waits should call sched_yield.
  int32_t (*is_oversubscribed)(const colltune_communicator* communicator);

  /// Collective: allocates memory in which every rank owns a part of `bytes_per_rank` bytes
  /// (zeroed, aligned to 2 MiB) that all ranks can access, with `signals` signals per rank. Only in
  /// `prepare`. Fails with colltune_failed_precondition if the ranks are not all on one node.
  colltune_status (*allocate)(colltune_communicator* communicator, size_t bytes_per_rank,
                              int32_t signals, int64_t deadline_ns, colltune_memory** memory);
  /// The address of a rank's part in this process; NULL for a rank that does not exist.
  void* (*part)(const colltune_memory* memory, int32_t rank);
  /// Local. Memory that is not released is freed with the operation.
  void (*release)(colltune_memory* memory);

  /// A signal is a word that only its owner sets; its value starts at 0 and only grows. What the
  /// owner wrote to memory before `signal_set` is visible to a rank that has seen the value by
  /// `signal_get` or `signal_wait`.
  void (*signal_set)(colltune_memory* memory, int32_t signal, uint64_t value);
  uint64_t (*signal_get)(const colltune_memory* memory, int32_t rank, int32_t signal);
  /// Returns colltune_ok once the signal of `rank` has reached `value`; colltune_deadline_exceeded
  /// at the deadline; colltune_aborted if the abort flag is raised. In the last two cases the host
  /// has recorded the rank and `waiting_for` ("the staged input"): return the status unchanged.
  colltune_status (*signal_wait)(colltune_memory* memory, int32_t rank, int32_t signal,
                                 uint64_t value, int64_t deadline_ns, const char* waiting_for);

  /// Nonzero once the collective cannot complete: give up and return colltune_aborted.
  int32_t (*is_aborted)(const colltune_communicator* communicator);
  /// The steady clock: CLOCK_MONOTONIC in nanoseconds, never compared between machines.
  int64_t (*now_ns)(void);
  /// A pointer to the MPI_Comm of these ranks, or NULL if they are not MPI processes.
  const void* (*mpi_comm)(const colltune_communicator* communicator);

  /// Sets the text, for a person, of the error that a function of the plug-in's table returns next.
  /// Copied.
  void (*fail)(colltune_communicator* communicator, const char* message);
  /// Names the rank for which a wait of the plug-in's own was given up; the plug-in then returns
  /// colltune_deadline_exceeded or colltune_aborted. `waiting_for` is copied.
  void (*miss)(colltune_communicator* communicator, int32_t rank, const char* waiting_for);
} colltune_host;

/// What a plug-in offers. No pointer is NULL but those of `bind` and `rebind`.
typedef struct colltune_plugin {
  size_t struct_size;
  uint32_t abi_version;  ///< colltune_plugin_abi_version
  /// The consumer that can execute these implementations: letters, digits, '_' and '-'; none of
  /// colltune's own (any, colltune, cpu, cuda, mpi, nccl). Implementations are called
  /// <family>.<name>.
  const char* family;

  /// The implementations as JSON text (kernels/plugin/README.md of colltune has every key):
  /// {"implementations":[{"name":"ring", "collective":"all_reduce", "description":"one line",
  ///   "rounding":"exact|once|each_step", "numeric_class":"any|same_bits|rank_order",
  ///   "parameters":[{"name":"chunk", "values":[4096,65536]}],
  ///   "limits":{"min_ranks":2, "data_types":["f32"], "reduce_ops":["sum"]},
  ///   "cost":{"steps":{"ranks":2}, "bytes_per_rank":{"size":2}, "reduced_bytes":{"size":1}}}]}
  const char* (*describe)(void);
  /// colltune_ok if `variant` can run `problem`. Otherwise any other status, with the reason in
  /// `reason` (at most `reason_size` bytes including the final 0; it completes "unavailable: ").
  /// Called only within the described limits. Pure: any rank answers for any other.
  colltune_status (*supports)(const colltune_problem* problem, const colltune_variant* variant,
                              char* reason, size_t reason_size);
  colltune_status (*prepare)(const colltune_host* host, colltune_communicator* communicator,
                             const colltune_call* call, const colltune_variant* variant,
                             int64_t deadline_ns, colltune_operation** operation);
  colltune_status (*start)(colltune_operation* operation);
  colltune_status (*wait)(colltune_operation* operation, int64_t deadline_ns);
  void (*destroy)(colltune_operation* operation);
  /// The calls that start from now on use these buffers: as large as those of `prepare`, NULL and
  /// in place where those are. Local; other ranks may bind or not. NULL, or a table of the first
  /// revision: operations keep their buffers. Then they are measured and offered for persistent
  /// calls alone, since ordinary calls come with other buffers each time.
  colltune_status (*bind)(colltune_operation* operation, const void* send, void* receive);
  /// The calls that start from now on are `call`. It has the collective, the registered buffers (or
  /// not) and the ranks of `prepare`'s call; its size (up to the capacity), root, data type,
  /// operator and colltune_in_place may be others. All ranks do so before the same call, and `call`
  /// differs between ranks in its buffers alone; in reduce, gather and scatter colltune_in_place
  /// counts on the root only. Local. The host has compared the call with the capacity, the
  /// described limits and the sizes of its buffers; what `supports` alone can tell, `rebind`
  /// refuses with a status, on all ranks alike. A `rebind` that fails changes nothing. NULL, or a
  /// table of an earlier revision: operations keep the size and the root of `prepare`. A plug-in
  /// with `rebind` has `bind` too.
  colltune_status (*rebind)(colltune_operation* operation, const colltune_call* call);
} colltune_plugin;

/// What the plug-in exports. Returns its table, or NULL if it cannot serve a host of this version.
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const colltune_plugin*
colltune_plugin_entry(uint32_t host_abi_version);

#ifdef __cplusplus
}
#endif
