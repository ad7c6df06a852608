/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's group, for the tests that are written in C. */
#ifndef COLLTUNE_TESTS_GROUP_IN_C_H
#define COLLTUNE_TESTS_GROUP_IN_C_H

#include "colltune/client.h"

static inline colltune_group_calls group_of(int rank, int size, void* context,
                                            int (*broadcast)(void*, void*, size_t),
                                            int (*all_gather)(void*, const void*, void*, size_t)) {
  const colltune_group_calls group = {.struct_size = sizeof group,
                                      .rank = rank,
                                      .size = size,
                                      .context = context,
                                      .broadcast = broadcast,
                                      .all_gather = all_gather};
  return group;
}

#endif
