/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* The bridge as a library that is loaded late: its functions by the names of bridge.h. */
#ifndef COLLTUNE_BRIDGE_FUNCTIONS_H
#define COLLTUNE_BRIDGE_FUNCTIONS_H

#include "bridge.h"

struct colltune_functions {
  bool (*open)(const char* built_for, int64_t begun);
  void (*close)(bool is_first_rank);
  const char* (*fingerprint)(void);
  struct colltune_look (*own_look)(int64_t spent, int ranks_here);
  void (*say)(const char* why);
  colltune_executor* (*set_up)(MPI_Comm comm, void (*progress)(void));
  void (*tear_down)(colltune_executor* executor);
  bool (*is_used)(const colltune_executor* executor, enum colltune_collective collective);
  bool (*is_used_unequal)(const colltune_executor* executor, enum colltune_collective collective);
  unsigned (*begin_move)(colltune_executor* executor, enum colltune_collective collective, int root,
                         size_t message);
  unsigned (*begin_reduction)(colltune_executor* executor, enum colltune_collective collective,
                              int root, size_t count, MPI_Datatype type, MPI_Op op);
  unsigned (*begin_moves)(colltune_executor* executor, enum colltune_collective collective,
                          const int* counts, int ranks, size_t unit);
  unsigned (*begin_reductions)(colltune_executor* executor, enum colltune_collective collective,
                               const int* counts, int ranks, MPI_Datatype type, MPI_Op op);
  const size_t* (*block_starts)(const colltune_executor* executor);
  enum colltune_outcome (*run)(colltune_executor* executor, unsigned choice,
                               const struct colltune_buffers* buffers);
  void (*leave)(colltune_executor* executor, enum colltune_collective collective);
  void (*finish)(colltune_executor* executor);
  void* (*memory)(colltune_executor* executor, int which, size_t bytes);
};

/* The library's only name: a const struct colltune_functions. */
#define COLLTUNE_FUNCTIONS colltune_functions_of_bridge

#endif
