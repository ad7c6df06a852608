// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

/// What libnccl-tuner-colltune.so tells, as NCCL's profiler (NCCL_PROFILER_PLUGIN), to who finds it
/// loaded in its process: what a collective ran as. As tuner_control.h, which says how.

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#pragma GCC visibility push(default)

/// colltune_nccl_profiler_interface() of what this header describes.
#define COLLTUNE_NCCL_PROFILER_INTERFACE 1

/// What carried a call out.
enum {
  colltune_nccl_ran_entry = 0,      ///< an entry of the table that tuners see
  colltune_nccl_ran_kernel = 1,     ///< a kernel that is none, as those for symmetric windows
  colltune_nccl_ran_transfers = 2,  ///< sends and receives
};

/// What a call ran as; all but `kind` of an entry alone, else 0.
typedef struct colltune_nccl_run {
  int32_t kind;
  int32_t algorithm;  ///< by NCCL's numbers
  int32_t protocol;
  int32_t channels;  ///< 1 or more
  int32_t warps;     ///< of each channel
} colltune_nccl_run;

int colltune_nccl_profiler_interface(void);
/// The next collective that sends from `send` and receives into `receive` is told, of whichever
/// communicator: those are in nobody else's use. Before the call; NCCL tells nothing else, and
/// nothing at all while nobody watches. 9 where NCCL uses no profiler, or another one; 8 where as
/// many calls are watched as can be, 64.
int colltune_nccl_profiler_watch(const void* send, const void* receive, uint64_t* watch);
/// Ends it, behind the end of the call. 9 where nothing was told: no kernel did it (but copy
/// engines), or it did not run. 5 where there is no such watch. `into` may be NULL.
int colltune_nccl_profiler_end_watch(uint64_t watch, colltune_nccl_run* into);

#pragma GCC visibility pop
#ifdef __cplusplus
}
#endif
