// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What libnccl-tuner-colltune.so offers besides NCCL's own interface, to who finds it loaded in
/// its process (dlopen with RTLD_NOLOAD, or once more: there is one copy). C, so that any program
/// can use it. All functions may be called from any thread at any time; they return 0, or an error
/// by gRPC's canonical numbers (3: an argument is not allowed, 5: there is no such communicator, 6:
/// it is somebody else's, 8: out of memory, 9: nothing to say yet, or not now).

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/// colltune_nccl_tuner_interface() of what this header describes. Others have other structures.
#define COLLTUNE_NCCL_TUNER_INTERFACE 3

enum {
  colltune_nccl_table_none = 0,     ///< none is named in the environment
  colltune_nccl_table_in_use = 1,   ///< its rules are applied
  colltune_nccl_table_refused = 2,  ///< not whole, or not there: NCCL's own choices stay
};

/// A communicator of this process that is initialised and not yet finalized.
typedef struct colltune_nccl_communicator {
  uint64_t number;    ///< never used again; 1 is the first of the process
  uint64_t identity;  ///< NCCL's, equal on all of its ranks; 0 by interface 4
  uint64_t ranks;
  uint64_t nodes;
  int32_t interface_version;  ///< 4 to 7
  int32_t table_state;
  uint64_t table_generation;
  uint64_t table_rules;      ///< those for its ranks and nodes
  uint8_t table_digest[16];  ///< zeros where none is in use; must be equal on all ranks
  int32_t is_claimed;        ///< somebody knows it as its own
  int32_t nccl_version;      ///< as ncclGetVersion codes it; 0: not found out
} colltune_nccl_communicator;

/// What every call of a communicator is to use. While it is set the table is not looked at.
typedef struct colltune_nccl_force {
  uint64_t id;         ///< the caller's own; comes back with what was seen
  uint32_t functions;  ///< bit f: calls of NCCL's function f; others keep NCCL's own choice
  int32_t
      algorithm;  ///< by NCCL's numbers; -1: NCCL's own choice (then protocol is -1, channels 0)
  int32_t protocol;
  int32_t channels;  ///< 0: NCCL decides, else 1 to 64; not passed on for CollNet. A request: see
                     ///< colltune_nccl_call
  float time_us;     ///< stands in NCCL's table as the cost; not negative
} colltune_nccl_force;

enum {
  colltune_nccl_left = 0,               ///< no force and no rule for it: the table was not touched
  colltune_nccl_forced = 1,             ///< by the force
  colltune_nccl_ruled = 2,              ///< by a rule of the table
  colltune_nccl_force_unavailable = 3,  ///< NCCL marks the entry as unavailable: not touched
  colltune_nccl_rule_unavailable = 4,
};

/// What `channels` of a call mean. How many run a tuner never sees, but a profiler does.
enum {
  colltune_nccl_channels_own = 0,    ///< none were asked for: NCCL decides
  colltune_nccl_channels_asked = 1,  ///< NCCL takes as many of them as communicator, message and
                                     ///< buffers have (up to 2.30)
  colltune_nccl_channels_most = 2,   ///< NCCL takes its own number for the message where that is
                                     ///< lower: it may have taken fewer (since 2.31, or not known)
};

/// The last call that a communicator asked about since it is observed.
typedef struct colltune_nccl_call {
  uint64_t count;  ///< calls so far
  uint64_t bytes;
  uint64_t available;  ///< bit algorithm * 3 + protocol: NCCL could choose it
  uint64_t force_id;   ///< of the force that was set; 0: none
  int32_t function;
  int32_t pipe_operations;
  int32_t registered;
  int32_t outcome;
  int32_t own_algorithm;  ///< what NCCL's table alone leads to; -1: nothing is available
  int32_t own_protocol;
  int32_t algorithm;  ///< what the table leads to as it was handed back
  int32_t protocol;
  int32_t channels;  ///< as it was handed back; 0: NCCL decides
  int32_t channels_are;
} colltune_nccl_call;

int colltune_nccl_tuner_interface(void);
/// Fills `into` with the first `capacity` communicators, the oldest first; returns how many there
/// are.
size_t colltune_nccl_tuner_list(colltune_nccl_communicator* into, size_t capacity);
/// Whose communicator it is says so: who looks for another one passes it by from now on. 6 where
/// somebody has.
int colltune_nccl_tuner_claim(uint64_t communicator);
/// NCCL does not say which communicator it calls a tuner for. Who wants to know observes those that
/// nobody has claimed, makes a call on its own and claims the one that asks; meanwhile nobody else
/// may. 9 where another thread is at it: try again.
int colltune_nccl_tuner_begin_search(void);
void colltune_nccl_tuner_end_search(void);
/// Copies `force`; NULL takes it away.
int colltune_nccl_tuner_force(uint64_t communicator, const colltune_nccl_force* force);
/// 9 where none is set.
int colltune_nccl_tuner_forced(uint64_t communicator, colltune_nccl_force* into);
/// Whether calls are recorded from now on; they are not at first.
int colltune_nccl_tuner_observe(uint64_t communicator, int is_on);
/// 9 where nothing was observed.
int colltune_nccl_tuner_last_call(uint64_t communicator, colltune_nccl_call* into);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
