/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: notes which algorithm of Open MPI's coll/base or coll/han a program's collective runs.
 * Every function that coll/tuned calls, and each that coll/han composes, is in its way here, and is
 * passed on as it is.
 *
 * first_algorithm() gives the first one since it was last asked ("" if none ran): an algorithm may
 * call others. With FIRST_ALGORITHM_COUNTS=FILE each rank writes to FILE.RANK, when it ends, how
 * often each one ran. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

static const char* first = "";

const char* first_algorithm(void) {
  const char* const found = first;
  first = "";
  return found;
}

/* More arguments than any of them takes, each as wide as a register: the calling conventions of
 * x86-64 and aarch64 pass integers and pointers so, and ignore what is too many. */
typedef long (*algorithm)(long, long, long, long, long, long, long, long, long, long, long, long);

struct passed {
  const char* name;
  algorithm next;
  unsigned long calls;
  struct passed* other;
};
static struct passed* all = NULL;

/* A component's own functions are in no scope but that of the object that calls them. */
static algorithm find(const char* name, void* caller) {
  algorithm found = (algorithm)dlsym(RTLD_NEXT, name);
  Dl_info info;
  if (found == NULL && dladdr(caller, &info) != 0) {
    void* const object = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (object != NULL) found = (algorithm)dlsym(object, name);
  }
  if (found == NULL) {
    fprintf(stderr, "first_algorithm: there is no %s\n", name);
    abort();
  }
  return found;
}

static void note(struct passed* one, const char* function, void* caller) {
  if (one->next == NULL) {
    one->next = find(function, caller);
    one->other = all;
    all = one;
  }
  ++one->calls;
  if (*first == '\0') first = one->name;
}

__attribute__((destructor)) static void write_counts(void) {
  const char* const file = getenv("FIRST_ALGORITHM_COUNTS");
  const char* const rank = getenv("OMPI_COMM_WORLD_RANK");
  char path[4096];
  FILE* out = NULL;
  if (file == NULL || rank == NULL || all == NULL) return;
  snprintf(path, sizeof path, "%s.%s", file, rank);
  out = fopen(path, "w");
  if (out == NULL) return;
  for (const struct passed* one = all; one != NULL; one = one->other)
    fprintf(out, "%s %lu\n", one->name, one->calls);
  fclose(out);
}

#define PASS_ON_AS(function, name)                                                                \
  long function(long a, long b, long c, long d, long e, long f, long g, long h, long i, long j,   \
                long k, long l) {                                                                 \
    static struct passed one = {name, NULL, 0, NULL};                                             \
    note(&one, #function, __builtin_return_address(0));                                           \
    return one.next(a, b, c, d, e, f, g, h, i, j, k, l);                                          \
  }
#define PASS_ON(name) PASS_ON_AS(ompi_coll_base_##name, #name)

PASS_ON_AS(mca_coll_han_allgather_intra, "han_allgather")
PASS_ON_AS(mca_coll_han_allreduce_intra, "han_allreduce")
PASS_ON_AS(mca_coll_han_barrier_intra_simple, "han_barrier")
PASS_ON_AS(mca_coll_han_bcast_intra, "han_bcast")
PASS_ON_AS(mca_coll_han_gather_intra, "han_gather")
PASS_ON_AS(mca_coll_han_reduce_intra, "han_reduce")
PASS_ON_AS(mca_coll_han_scatter_intra, "han_scatter")
PASS_ON(allgather_intra_basic_linear)
PASS_ON(allgather_intra_bruck)
PASS_ON(allgather_intra_neighborexchange)
PASS_ON(allgather_intra_recursivedoubling)
PASS_ON(allgather_intra_ring)
PASS_ON(allgather_intra_two_procs)
PASS_ON(allreduce_intra_basic_linear)
PASS_ON(allreduce_intra_nonoverlapping)
PASS_ON(allreduce_intra_recursivedoubling)
PASS_ON(allreduce_intra_redscat_allgather)
PASS_ON(allreduce_intra_ring)
PASS_ON(allreduce_intra_ring_segmented)
PASS_ON(alltoall_intra_basic_linear)
PASS_ON(alltoall_intra_bruck)
PASS_ON(alltoall_intra_linear_sync)
PASS_ON(alltoall_intra_pairwise)
PASS_ON(alltoall_intra_two_procs)
PASS_ON(bcast_intra_basic_linear)
PASS_ON(bcast_intra_binomial)
PASS_ON(bcast_intra_bintree)
PASS_ON(bcast_intra_chain)
PASS_ON(bcast_intra_knomial)
PASS_ON(bcast_intra_pipeline)
PASS_ON(bcast_intra_scatter_allgather)
PASS_ON(bcast_intra_scatter_allgather_ring)
PASS_ON(bcast_intra_split_bintree)
PASS_ON(gather_intra_basic_linear)
PASS_ON(gather_intra_binomial)
PASS_ON(gather_intra_linear_sync)
PASS_ON(reduce_intra_basic_linear)
PASS_ON(reduce_intra_binary)
PASS_ON(reduce_intra_binomial)
PASS_ON(reduce_intra_chain)
PASS_ON(reduce_intra_in_order_binary)
PASS_ON(reduce_intra_pipeline)
PASS_ON(reduce_intra_redscat_gather)
PASS_ON(reduce_scatter_block_basic_linear)
PASS_ON(reduce_scatter_block_intra_butterfly)
PASS_ON(reduce_scatter_block_intra_recursivedoubling)
PASS_ON(reduce_scatter_block_intra_recursivehalving)
PASS_ON(scatter_intra_basic_linear)
PASS_ON(scatter_intra_binomial)
PASS_ON(scatter_intra_linear_nb)
