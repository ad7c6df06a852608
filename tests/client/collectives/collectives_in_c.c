/* SPDX-FileCopyrightText: The colltune authors
 * SPDX-License-Identifier: Apache-2.0 */
#include "collectives_in_c.h"

#include <stddef.h>
#include <string.h>

enum { most_ranks = 8, count = 3 };

static const char* use_persistent(colltune_collectives* collectives) {
  const int ranks = colltune_collectives_size(collectives);
  const int rank = colltune_collectives_rank(collectives);
  colltune_error error = {.struct_size = sizeof error};
  colltune_symmetric_buffer* buffer = NULL;
  if (colltune_symmetric_allocate(collectives, 2 * count * sizeof(int32_t), &buffer, &error) != 0)
    return "colltune_symmetric_allocate";
  int32_t* own = colltune_symmetric_part(buffer, rank);
  if (own == NULL || colltune_symmetric_part(buffer, ranks) != NULL)
    return "colltune_symmetric_part";
  const colltune_collective_call call = {.struct_size = sizeof call,
                                         .collective = COLLTUNE_KIND_ALL_REDUCE,
                                         .type = COLLTUNE_I32,
                                         .op = COLLTUNE_SUM,
                                         .count = count,
                                         .send = own,
                                         .receive = own + count};
  colltune_persistent_call* persistent = NULL;
  if (colltune_persistent_init(collectives, &call, &persistent, &error) != 0)
    return "colltune_persistent_init";
  if (colltune_persistent_variant(persistent) == NULL) return "colltune_persistent_variant";
  for (int32_t turn = 1; turn <= 3; ++turn) {
    for (int i = 0; i < count; ++i) own[i] = turn * (rank + i);
    if (colltune_persistent_start(persistent, &error) != 0) return "colltune_persistent_start";
    if (colltune_persistent_wait(persistent, &error) != 0) return "colltune_persistent_wait";
    for (int i = 0; i < count; ++i)
      if (own[count + i] != turn * (ranks * (ranks - 1) / 2 + ranks * i))
        return "the persistent call's result";
  }
  if (colltune_persistent_wait(persistent, &error) != 9 ||
      strstr(error.message, "was not started") == NULL)
    return "a wait without start";
  colltune_persistent_free(persistent);
  colltune_symmetric_free(buffer);
  return NULL;
}

/* Rank r has a block of r elements: 1000 * r and up. */
static const char* use_counts(colltune_collectives* collectives) {
  const int ranks = colltune_collectives_size(collectives);
  const int rank = colltune_collectives_rank(collectives);
  size_t counts[most_ranks];
  int32_t own[most_ranks];
  int32_t all[most_ranks * most_ranks];
  int32_t expected[most_ranks * most_ranks];
  int elements = 0;
  int first = 0; /* of the own block */
  colltune_error error = {.struct_size = sizeof error};
  for (int r = 0; r < ranks; ++r) {
    if (r == rank) first = elements;
    counts[r] = (size_t)r;
    for (int i = 0; i < r; ++i) expected[elements++] = 1000 * r + i;
  }
  for (int i = 0; i < rank; ++i) own[i] = 1000 * rank + i;
  if (colltune_all_gather_v(collectives, own, all, counts, (size_t)ranks, COLLTUNE_I32, &error) !=
      0)
    return "colltune_all_gather_v";
  for (int i = 0; i < elements; ++i)
    if (all[i] != expected[i]) return "the result of all_gather_v";
  if (colltune_reduce_scatter_v(collectives, all, own, counts, (size_t)ranks, COLLTUNE_I32,
                                COLLTUNE_SUM, &error) != 0)
    return "colltune_reduce_scatter_v";
  for (int i = 0; i < rank; ++i)
    if (own[i] != ranks * expected[first + i]) return "the result of reduce_scatter_v";

  const colltune_collective_call call = {.struct_size = sizeof call,
                                         .collective = COLLTUNE_KIND_ALL_GATHER,
                                         .type = COLLTUNE_I32,
                                         .send = own,
                                         .receive = all,
                                         .counts = counts,
                                         .ranks = (size_t)ranks};
  colltune_persistent_call* persistent = NULL;
  if (colltune_persistent_init(collectives, &call, &persistent, &error) != 0)
    return "colltune_persistent_init with counts";
  for (size_t r = 0; r < (size_t)ranks; ++r) counts[r] = 99; /* no longer read */
  for (int32_t turn = 1; turn <= 3; ++turn) {
    for (int i = 0; i < rank; ++i) own[i] = turn * (1000 * rank + i);
    if (colltune_persistent_start(persistent, &error) != 0 ||
        colltune_persistent_wait(persistent, &error) != 0)
      return "a persistent call with counts";
    for (int i = 0; i < elements; ++i)
      if (all[i] != turn * expected[i]) return "the result of a persistent call with counts";
  }
  colltune_persistent_free(persistent);

  /* A caller that was built before calls had counts: what lies behind its structure is not its. */
  colltune_collective_call older = call;
  older.struct_size = offsetof(colltune_collective_call, counts);
  older.count = 1;
  own[0] = rank;
  if (colltune_persistent_init(collectives, &older, &persistent, &error) != 0)
    return "colltune_persistent_init of an older caller";
  if (colltune_persistent_start(persistent, &error) != 0 ||
      colltune_persistent_wait(persistent, &error) != 0)
    return "a persistent call of an older caller";
  for (int r = 0; r < ranks; ++r)
    if (all[r] != r) return "the result of an older caller's call";
  colltune_persistent_free(persistent);
  return NULL;
}

const char* use_collectives_in_c(colltune_collectives* collectives) {
  const int ranks = colltune_collectives_size(collectives);
  const int rank = colltune_collectives_rank(collectives);
  const int root = ranks - 1;
  int32_t one[count];
  int32_t many[most_ranks * count];
  int32_t to[most_ranks * count];
  colltune_error error = {.struct_size = sizeof error};
  if (ranks < 1 || ranks > most_ranks || rank < 0 || rank >= ranks) return "rank and size";

  for (int i = 0; i < count; ++i) one[i] = 10 * rank + i;
  if (colltune_all_reduce(collectives, one, to, count, COLLTUNE_I32, COLLTUNE_MAX, &error) != 0)
    return "colltune_all_reduce";
  for (int i = 0; i < count; ++i)
    if (to[i] != 10 * root + i) return "the result of all_reduce";

  if (colltune_all_gather(collectives, one, many, count, COLLTUNE_I32, &error) != 0)
    return "colltune_all_gather";
  for (int i = 0; i < ranks * count; ++i)
    if (many[i] != 10 * (i / count) + i % count) return "the result of all_gather";

  if (colltune_reduce_scatter(collectives, many, to, count, COLLTUNE_I32, COLLTUNE_SUM, &error) !=
      0)
    return "colltune_reduce_scatter";
  for (int i = 0; i < count; ++i)
    if (to[i] != ranks * (10 * rank + i)) return "the result of reduce_scatter";

  for (int i = 0; i < count; ++i) to[i] = rank == root ? 7 * i : -1;
  if (colltune_broadcast(collectives, to, count, COLLTUNE_I32, root, &error) != 0)
    return "colltune_broadcast";
  for (int i = 0; i < count; ++i)
    if (to[i] != 7 * i) return "the result of broadcast";

  if (colltune_reduce(collectives, one, rank == root ? to : NULL, count, COLLTUNE_I32, COLLTUNE_MIN,
                      root, &error) != 0)
    return "colltune_reduce";
  for (int i = 0; i < count && rank == root; ++i)
    if (to[i] != i) return "the result of reduce";

  for (int i = 0; i < ranks * count; ++i) many[i] = 1000 * rank + i;
  if (colltune_all_to_all(collectives, many, to, count, COLLTUNE_I32, &error) != 0)
    return "colltune_all_to_all";
  for (int i = 0; i < ranks * count; ++i)
    if (to[i] != 1000 * (i / count) + rank * count + i % count) return "the result of all_to_all";

  if (colltune_gather(collectives, one, rank == root ? to : NULL, count, COLLTUNE_I32, root,
                      &error) != 0)
    return "colltune_gather";
  for (int i = 0; i < ranks * count && rank == root; ++i)
    if (to[i] != 10 * (i / count) + i % count) return "the result of gather";

  if (colltune_scatter(collectives, rank == root ? many : NULL, to, count, COLLTUNE_I32, root,
                       &error) != 0)
    return "colltune_scatter";
  for (int i = 0; i < count; ++i)
    if (to[i] != 1000 * root + rank * count + i) return "the result of scatter";

  const colltune_mesh_call mesh = {.struct_size = sizeof mesh,
                                   .shape = ranks == 4   ? "2x2"
                                            : ranks == 2 ? "2x1"
                                                         : "1x1",
                                   .steps = "1:sum,0:max",
                                   .type = COLLTUNE_I32,
                                   .count = count,
                                   .send = one,
                                   .receive = to};
  colltune_persistent_call* over_mesh = NULL;
  if (ranks == 1 || ranks == 2 || ranks == 4) {
    if (colltune_persistent_init_mesh(collectives, &mesh, &over_mesh, &error) != 0 ||
        colltune_persistent_start(over_mesh, &error) != 0 ||
        colltune_persistent_wait(over_mesh, &error) != 0)
      return "colltune_persistent_init_mesh";
    /* Of 2x2 ranks 2 and 3 have the larger sum. */
    for (int i = 0; i < count; ++i)
      if (to[i] != (ranks == 4 ? 50 + 2 * i : 10 * root + i)) return "the result of a mesh";
    colltune_persistent_free(over_mesh);
    for (int turn = 0; turn < 3; ++turn) {
      for (int i = 0; i < count; ++i) to[i] = -1;
      if (colltune_mesh_reduce(collectives, &mesh, &error) != 0) return "colltune_mesh_reduce";
      for (int i = 0; i < count; ++i)
        if (to[i] != (ranks == 4 ? 50 + 2 * i : 10 * root + i)) return "the result of a mesh call";
    }
  }

  const char* const report = colltune_collectives_report(collectives);
  if (report == NULL || strstr(report, "report of rank ") == NULL)
    return "colltune_collectives_report";
  const char* const of_counts = use_counts(collectives);
  return of_counts != NULL ? of_counts : use_persistent(collectives);
}

const char* misuse_collectives_in_c(colltune_collectives* collectives) {
  int32_t one = 1;
  int32_t to = 0;
  colltune_error error = {.struct_size = sizeof error};
  if (colltune_all_reduce(NULL, &one, &to, 1, COLLTUNE_I32, COLLTUNE_SUM, &error) != 3 ||
      strcmp(error.message, "the collectives is NULL") != 0)
    return "no collectives";
  if (colltune_all_reduce(collectives, &one, &to, 1, (colltune_type)99, COLLTUNE_SUM, &error) !=
          3 ||
      strstr(error.message, "99 is no data type; allowed are i8, ") == NULL || error.code != 3)
    return "no such type";
  if (colltune_all_reduce(collectives, &one, &to, 1, COLLTUNE_I32, (colltune_op)-1, &error) != 3 ||
      strstr(error.message, "-1 is no reduce op; allowed are none, sum, ") == NULL)
    return "no such operator";
  if (colltune_all_reduce(collectives, &one, &to, 1, COLLTUNE_I32, COLLTUNE_NONE, NULL) != 3)
    return "a reduction without an operator";
  if (colltune_broadcast(collectives, &one, 1, COLLTUNE_I32, -1, &error) != 3 ||
      strstr(error.message, "the root is rank -1; allowed are 0 to ") == NULL)
    return "no such root";
  if (colltune_all_reduce(collectives, &one, &to, SIZE_MAX / 4, COLLTUNE_I32, COLLTUNE_SUM,
                          &error) != 3)
    return "more than an address space";
  const size_t counts[most_ranks + 1] = {1};
  if (colltune_all_gather_v(collectives, &one, &to, NULL, 1, COLLTUNE_I32, &error) != 3 ||
      strstr(error.message, "all_gather: the list of counts is null") == NULL ||
      colltune_reduce_scatter_v(collectives, &one, &to, NULL, 0, COLLTUNE_I32, COLLTUNE_SUM,
                                &error) != 3)
    return "no list of counts";
  if (colltune_reduce_scatter_v(collectives, &one, &to, counts, most_ranks + 1, COLLTUNE_I32,
                                COLLTUNE_SUM, &error) != 3 ||
      strstr(error.message, "the list has 9 counts") == NULL)
    return "a list of counts of other ranks";
  colltune_collective_call call = {.struct_size = sizeof call,
                                   .collective = (colltune_collective_kind)8,
                                   .type = COLLTUNE_I32,
                                   .count = 1,
                                   .send = &one,
                                   .receive = &to};
  colltune_persistent_call* persistent = (colltune_persistent_call*)&one;
  if (colltune_persistent_init(collectives, &call, &persistent, &error) != 3 ||
      persistent != NULL || strstr(error.message, "8 is no collective; allowed are ") == NULL)
    return "no such collective";
  call.struct_size = 8;
  if (colltune_persistent_init(collectives, &call, &persistent, &error) != 3 ||
      strstr(error.message, "set it to sizeof(colltune_collective_call)") == NULL)
    return "a structure without size";
  if (colltune_persistent_init(collectives, NULL, &persistent, &error) != 3) return "no call";
  call.struct_size = sizeof call;
  if (colltune_persistent_init(collectives, &call, NULL, &error) != 3)
    return "no place for a persistent call";
  const colltune_mesh_call mesh = {
      .struct_size = sizeof mesh, .shape = "no shape", .steps = "0:sum"};
  if (colltune_persistent_init_mesh(collectives, &mesh, &persistent, &error) != 3 ||
      persistent != NULL)
    return "a mesh that is none";
  if (colltune_mesh_reduce(collectives, &mesh, &error) != 3 ||
      colltune_mesh_reduce(collectives, NULL, &error) != 3 ||
      colltune_mesh_reduce(NULL, &mesh, &error) != 3)
    return "a mesh call that is none";
  if (colltune_persistent_start(NULL, &error) != 3 || colltune_persistent_variant(NULL) != NULL)
    return "no persistent call";
  if (colltune_symmetric_part(NULL, 0) != NULL) return "no symmetric buffer";
  if (colltune_collectives_rank(NULL) != -1 || colltune_collectives_size(NULL) != -1 ||
      colltune_collectives_report(NULL) != NULL)
    return "facts of no collectives";
  colltune_collectives_free(NULL);
  colltune_persistent_free(NULL);
  colltune_symmetric_free(NULL);
  colltune_rank_threads_free(NULL);
  return NULL;
}
