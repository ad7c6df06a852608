/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded: notes which algorithm of Open MPI's coll/base a program's collective runs. Every
 * function that coll/tuned calls is in its way here, and is passed on as it is.
 *
 * first_algorithm() gives the first one since it was last asked ("" if none ran): an algorithm may
 * call others. */

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

static algorithm find(const char* name) {
  const algorithm found = (algorithm)dlsym(RTLD_NEXT, name);
  if (found == NULL) {
    fprintf(stderr, "first_algorithm: there is no %s\n", name);
    abort();
  }
  return found;
}

#define PASS_ON(name)                                                                             \
  long ompi_coll_base_##name(long a, long b, long c, long d, long e, long f, long g, long h,      \
                             long i, long j, long k, long l) {                                    \
    static algorithm next;                                                                        \
    if (next == NULL) next = find("ompi_coll_base_" #name);                                       \
    if (*first == '\0') first = #name;                                                            \
    return next(a, b, c, d, e, f, g, h, i, j, k, l);                                              \
  }

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
