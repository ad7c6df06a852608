/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Open MPI's side: a component of its framework "coll", whose modules stand in front of those of
   lower priority and pass on to them what is not theirs. */

#define _GNU_SOURCE
#include "ompi_config.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/proc/proc.h"
#include "opal/runtime/opal_progress.h"

#include "bridge/bridge.h"
#include "bridge/clock.h"
#include "bridge/first_in_process.h"
#include "bridge/looks.h"
#include "colltune/kernels/program_calls/open_mpi_types.h"
#include "colltune/kernels/program_calls/program_calls.h"
#include "late_bridge.h"
#include "peers.h"

/* Below coll/cuda, which brings the data of devices into host memory first; above all that compute.
 */
#define PRIORITY 75

#define TEXT_OF(number) #number
#define RELEASE_TEXT(major, minor) "Open MPI " TEXT_OF(major) "." TEXT_OF(minor)
#define BUILT_FOR RELEASE_TEXT(OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION)

static char modex_key[] = "colltune.coll";
static struct colltune_alike alike; /* while the component is open */

#define FUNCTIONS(each)                                                                            \
  each(allreduce) each(allgather) each(allgatherv) each(reduce_scatter_block) each(reduce_scatter) \
      each(bcast) each(reduce) each(alltoall) each(gather) each(scatter)

/* What the communicator had before. */
struct lower {
#define DECLARE(name)                      \
  mca_coll_base_module_##name##_fn_t name; \
  mca_coll_base_module_t* name##_module;
  FUNCTIONS(DECLARE)
#undef DECLARE
};

typedef struct {
  mca_coll_base_module_t super;
  struct lower lower;
  /* Without an executor before it is set up, and if nothing of ours runs. */
  struct colltune_place place;
  bool is_everywhere; /* every rank runs this, as a look has found */
  bool is_set_up;
  uint64_t calls;                    /* until it is set up */
  uint64_t next_look;                /* at this call */
  struct colltune_spending spending; /* in the library's collectives until then */
} colltune_module;

static void construct(colltune_module* module) {
  memset(&module->lower, 0, sizeof module->lower);
  memset(&module->place, 0, sizeof module->place);
  module->is_everywhere = false;
  module->is_set_up = false;
  module->calls = 0;
  module->next_look = COLLTUNE_FIRST_LOOK;
  memset(&module->spending, 0, sizeof module->spending);
}

static void destruct(colltune_module* module) {
  if (NULL != module->place.executor) {
    is_inside = true;
    colltune_tear_down(module->place.executor);
    is_inside = false;
  }
#define RELEASE(name) \
  if (NULL != module->lower.name##_module) OBJ_RELEASE(module->lower.name##_module);
  FUNCTIONS(RELEASE)
#undef RELEASE
}

static OBJ_CLASS_INSTANCE(colltune_module, mca_coll_base_module_t, construct, destruct);

/* Whether every rank of the communicator runs this with the same settings. The same on all ranks.
 */
static bool is_everywhere(colltune_module* module, struct ompi_communicator_t* comm) {
  if (module->is_everywhere) return true;
  module->is_everywhere = colltune_all_told(comm, modex_key, colltune_fingerprint(), &alike);
  if (!module->is_everywhere && 0 == ompi_comm_rank(comm))
    colltune_say(
        "not all ranks of a communicator run with colltune, the same build and the same settings");
  return module->is_everywhere;
}

/* Puts the functions below back in front for the collectives of which nothing of ours ever runs on
   this communicator: they then cost nothing. One collective stays, so that the communicator still
   holds the module. A component that came in front of us calls us as its lower one: it stays. */
static void stand_aside(colltune_module* module, struct ompi_communicator_t* comm) {
  const colltune_executor* const executor = module->place.executor;
#define STAND_ASIDE_UNLESS(name, is_used)                                                         \
  if (comm->c_coll->coll_##name##_module == &module->super && (NULL == executor || !(is_used))) { \
    comm->c_coll->coll_##name = module->lower.name;                                               \
    comm->c_coll->coll_##name##_module = module->lower.name##_module;                             \
    OBJ_RETAIN(module->lower.name##_module);                                                      \
    OBJ_RELEASE(module);                                                                          \
  }
#define STAND_ASIDE(name, collective) \
  STAND_ASIDE_UNLESS(name, colltune_is_used(executor, collective))
  STAND_ASIDE(allreduce, COLLTUNE_ALL_REDUCE)
  STAND_ASIDE(allgather, COLLTUNE_ALL_GATHER)
  STAND_ASIDE_UNLESS(allgatherv, colltune_is_used_unequal(executor, COLLTUNE_ALL_GATHER))
  STAND_ASIDE(reduce_scatter_block, COLLTUNE_REDUCE_SCATTER)
  STAND_ASIDE(bcast, COLLTUNE_BROADCAST)
  STAND_ASIDE(reduce, COLLTUNE_REDUCE)
  STAND_ASIDE(alltoall, COLLTUNE_ALL_TO_ALL)
  STAND_ASIDE(gather, COLLTUNE_GATHER)
  STAND_ASIDE(scatter, COLLTUNE_SCATTER)
#undef STAND_ASIDE
#undef STAND_ASIDE_UNLESS
}

/* Whether the ranks have spent so long in this communicator's collectives, and have run so long,
   that setting it up may pay; if not, when to look again. Collective, at the same call on all
   ranks: how large their calls are does not count, since that may differ by mistake. The same on
   all ranks. */
static bool is_worthwhile(colltune_module* module, struct ompi_communicator_t* comm) {
  const int ranks_here = 1 + (int)ompi_process_info.num_local_peers;
  struct colltune_look found = colltune_own_look(module->spending.spent, ranks_here);
  if (0 == found.spent_wanted) return true;
  is_inside = true;
  const int rc = module->lower.allreduce(MPI_IN_PLACE, &found, COLLTUNE_LOOK_WORDS, MPI_INT64_T,
                                         MPI_SUM, comm, module->lower.allreduce_module);
  is_inside = false;
  if (MPI_SUCCESS == rc && colltune_is_enough(found)) return true;
  module->next_look = colltune_next_look(module->calls, found);
  return false;
}

/* Whether every rank of the communicator has loaded what runs its calls, and the same of it. The
   same on all ranks. */
static bool is_loaded_everywhere(colltune_module* module, struct ompi_communicator_t* comm) {
  const int64_t own = colltune_load();
  int64_t words[2] = {own, -own};
  is_inside = true;
  const int rc = module->lower.allreduce(MPI_IN_PLACE, words, 2, MPI_INT64_T, MPI_MIN, comm,
                                         module->lower.allreduce_module);
  is_inside = false;
  if (MPI_SUCCESS == rc && 0 != words[0] && words[0] == -words[1]) return true;
  if (0 != own && 0 == ompi_comm_rank(comm))
    colltune_say("not all ranks of a communicator could load the same build of colltune");
  return false;
}

/* The same as the next, before the communicator is set up. */
static colltune_executor* executor_of_new(colltune_module* module,
                                          struct ompi_communicator_t* comm) {
  if (is_inside) return NULL;
  if (++module->calls == module->next_look) {
    const bool is_possible = is_everywhere(module, comm);
    if (!is_possible || is_worthwhile(module, comm)) {
      if (is_possible && is_loaded_everywhere(module, comm)) {
        is_inside = true;
        module->place.executor = colltune_set_up(comm, opal_progress);
        is_inside = false;
      }
      module->is_set_up = true;
      stand_aside(module, comm);
      return module->place.executor;
    }
  }
  colltune_call_begins(&module->spending, module->calls);
  return NULL;
}

/* The executor for a call; null: the call is the library's. */
static inline colltune_executor* executor_of(colltune_module* module,
                                             struct ompi_communicator_t* comm) {
  if (OPAL_LIKELY(module->is_set_up)) return is_inside ? NULL : module->place.executor;
  return executor_of_new(module, comm);
}

static int result_of(enum colltune_outcome outcome) {
  return COLLTUNE_DONE == outcome ? MPI_SUCCESS : MPI_ERR_OTHER;
}

/* Around the library's own collective, which may be made of others on the same communicator: they
   are part of it. */
struct passing {
  colltune_module* module; /* null: this is such a part */
  colltune_executor* executor;
};
static inline struct passing pass_on(colltune_module* module, colltune_executor* executor) {
  const bool is_counted = !is_inside && (NULL != executor || !module->is_set_up);
  if (is_counted) is_inside = true;
  return (struct passing){is_counted ? module : NULL, executor};
}
static inline int passed_on(struct passing call, int result) {
  if (NULL != call.module) {
    is_inside = false;
    if (NULL != call.executor)
      finish_left(call.executor);
    else
      colltune_call_ends(&call.module->spending);
  }
  return result;
}

static int colltune_bcast(void* buffer, int count, struct ompi_datatype_t* type, int root,
                          struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  colltune_module* const module = (colltune_module*)base;
  colltune_executor* const executor = executor_of(module, comm);
  if (NULL != executor) {
    const enum colltune_outcome outcome = run_bcast(&module->place, buffer, count, type, root);
    if (COLLTUNE_LEFT != outcome) return result_of(outcome);
  }
  const struct passing call = pass_on(module, executor);
  return passed_on(
      call, module->lower.bcast(buffer, count, type, root, comm, module->lower.bcast_module));
}

static int colltune_allgather(const void* send, int send_count, struct ompi_datatype_t* send_type,
                              void* receive, int receive_count,
                              struct ompi_datatype_t* receive_type,
                              struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  colltune_module* const module = (colltune_module*)base;
  colltune_executor* const executor = executor_of(module, comm);
  if (NULL != executor) {
    const enum colltune_outcome outcome = run_allgather(&module->place, send, send_count, send_type,
                                                        receive, receive_count, receive_type);
    if (COLLTUNE_LEFT != outcome) return result_of(outcome);
  }
  const struct passing call = pass_on(module, executor);
  return passed_on(call,
                   module->lower.allgather(send, send_count, send_type, receive, receive_count,
                                           receive_type, comm, module->lower.allgather_module));
}

static int colltune_allgatherv(const void* send, int send_count, struct ompi_datatype_t* send_type,
                               void* receive, const int* receive_counts, const int* displacements,
                               struct ompi_datatype_t* receive_type,
                               struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  colltune_module* const module = (colltune_module*)base;
  colltune_executor* const executor = executor_of(module, comm);
  if (NULL != executor) {
    const enum colltune_outcome outcome =
        run_allgatherv(&module->place, send, send_count, send_type, receive, receive_counts,
                       displacements, receive_type);
    if (COLLTUNE_LEFT != outcome) return result_of(outcome);
  }
  const struct passing call = pass_on(module, executor);
  return passed_on(call, module->lower.allgatherv(send, send_count, send_type, receive,
                                                  receive_counts, displacements, receive_type, comm,
                                                  module->lower.allgatherv_module));
}

static int colltune_alltoall(const void* send, int send_count, struct ompi_datatype_t* send_type,
                             void* receive, int receive_count, struct ompi_datatype_t* receive_type,
                             struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  colltune_module* const module = (colltune_module*)base;
  colltune_executor* const executor = executor_of(module, comm);
  if (NULL != executor) {
    const enum colltune_outcome outcome = run_alltoall(&module->place, send, send_count, send_type,
                                                       receive, receive_count, receive_type);
    if (COLLTUNE_LEFT != outcome) return result_of(outcome);
  }
  const struct passing call = pass_on(module, executor);
  return passed_on(call, module->lower.alltoall(send, send_count, send_type, receive, receive_count,
                                                receive_type, comm, module->lower.alltoall_module));
}

static int colltune_gather(const void* send, int send_count, struct ompi_datatype_t* send_type,
                           void* receive, int receive_count, struct ompi_datatype_t* receive_type,
                           int root, struct ompi_communicator_t* comm,
                           mca_coll_base_module_t* base) {
  colltune_module* const module = (colltune_module*)base;
  colltune_executor* const executor = executor_of(module, comm);
  if (NULL != executor) {
    const enum colltune_outcome outcome = run_gather(&module->place, send, send_count, send_type,
                                                     receive, receive_count, receive_type, root);
    if (COLLTUNE_LEFT != outcome) return result_of(outcome);
  }
  const struct passing call = pass_on(module, executor);
  return passed_on(
      call, module->lower.gather(send, send_count, send_type, receive, receive_count, receive_type,
                                 root, comm, module->lower.gather_module));
}

static int colltune_scatter(const void* send, int send_count, struct ompi_datatype_t* send_type,
                            void* receive, int receive_count, struct ompi_datatype_t* receive_type,
                            int root, struct ompi_communicator_t* comm,
                            mca_coll_base_module_t* base) {
  colltune_module* const module = (colltune_module*)base;
  colltune_executor* const executor = executor_of(module, comm);
  if (NULL != executor) {
    const enum colltune_outcome outcome = run_scatter(&module->place, send, send_count, send_type,
                                                      receive, receive_count, receive_type, root);
    if (COLLTUNE_LEFT != outcome) return result_of(outcome);
  }
  const struct passing call = pass_on(module, executor);
  return passed_on(
      call, module->lower.scatter(send, send_count, send_type, receive, receive_count, receive_type,
                                  root, comm, module->lower.scatter_module));
}

static int colltune_allreduce(const void* send, void* receive, int count,
                              struct ompi_datatype_t* type, struct ompi_op_t* op,
                              struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  colltune_module* const module = (colltune_module*)base;
  colltune_executor* const executor = executor_of(module, comm);
  if (NULL != executor) {
    const enum colltune_outcome outcome =
        run_allreduce(&module->place, send, receive, count, type, op);
    if (COLLTUNE_LEFT != outcome) return result_of(outcome);
  }
  const struct passing call = pass_on(module, executor);
  return passed_on(call, module->lower.allreduce(send, receive, count, type, op, comm,
                                                 module->lower.allreduce_module));
}

static int colltune_reduce(const void* send, void* receive, int count, struct ompi_datatype_t* type,
                           struct ompi_op_t* op, int root, struct ompi_communicator_t* comm,
                           mca_coll_base_module_t* base) {
  colltune_module* const module = (colltune_module*)base;
  colltune_executor* const executor = executor_of(module, comm);
  if (NULL != executor) {
    const enum colltune_outcome outcome =
        run_reduce(&module->place, send, receive, count, type, op, root);
    if (COLLTUNE_LEFT != outcome) return result_of(outcome);
  }
  const struct passing call = pass_on(module, executor);
  return passed_on(call, module->lower.reduce(send, receive, count, type, op, root, comm,
                                              module->lower.reduce_module));
}

static int colltune_reduce_scatter_block(const void* send, void* receive, int count,
                                         struct ompi_datatype_t* type, struct ompi_op_t* op,
                                         struct ompi_communicator_t* comm,
                                         mca_coll_base_module_t* base) {
  colltune_module* const module = (colltune_module*)base;
  colltune_executor* const executor = executor_of(module, comm);
  if (NULL != executor) {
    const enum colltune_outcome outcome =
        run_reduce_scatter_block(&module->place, send, receive, count, type, op);
    if (COLLTUNE_LEFT != outcome) return result_of(outcome);
  }
  const struct passing call = pass_on(module, executor);
  return passed_on(call,
                   module->lower.reduce_scatter_block(send, receive, count, type, op, comm,
                                                      module->lower.reduce_scatter_block_module));
}

static int colltune_reduce_scatter(const void* send, void* receive, const int* counts,
                                   struct ompi_datatype_t* type, struct ompi_op_t* op,
                                   struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  colltune_module* const module = (colltune_module*)base;
  colltune_executor* const executor = executor_of(module, comm);
  if (NULL != executor) {
    const enum colltune_outcome outcome =
        run_reduce_scatter(&module->place, send, receive, counts, type, op);
    if (COLLTUNE_LEFT != outcome) return result_of(outcome);
  }
  const struct passing call = pass_on(module, executor);
  return passed_on(call, module->lower.reduce_scatter(send, receive, counts, type, op, comm,
                                                      module->lower.reduce_scatter_module));
}

static int enable(mca_coll_base_module_t* base, struct ompi_communicator_t* comm) {
  colltune_module* const module = (colltune_module*)base;
#define KEEP(name)                                                       \
  module->lower.name = comm->c_coll->coll_##name;                        \
  module->lower.name##_module = comm->c_coll->coll_##name##_module;      \
  if (NULL == module->lower.name || NULL == module->lower.name##_module) \
    return OMPI_ERR_NOT_FOUND;                                           \
  OBJ_RETAIN(module->lower.name##_module);
  FUNCTIONS(KEEP)
#undef KEEP
  return OMPI_SUCCESS;
}

static mca_coll_base_module_t* query(struct ompi_communicator_t* comm, int* priority) {
  if (OMPI_COMM_IS_INTER(comm) || ompi_comm_size(comm) < 2) return NULL;
  colltune_module* const module = OBJ_NEW(colltune_module);
  if (NULL == module) return NULL;
  module->place = (struct colltune_place){
      .comm = comm, .ranks = ompi_comm_size(comm), .rank = ompi_comm_rank(comm)};
  module->super.coll_module_enable = enable;
#define OFFER(name) module->super.coll_##name = colltune_##name;
  FUNCTIONS(OFFER)
#undef OFFER
  *priority = PRIORITY;
  return &module->super;
}

/* Whether another object of colltune serves this process, which then does not need this one. */
static bool is_second(void) {
  colltune_preload_serves_function* const serves =
      (colltune_preload_serves_function*)dlsym(RTLD_DEFAULT, COLLTUNE_PRELOAD_SERVES);
  return NULL != serves && serves();
}

static int open_component(void) {
  if (is_second()) {
    if (0 == OMPI_PROC_MY_NAME->vpid)
      fputs(
          "colltune: libcolltune_mpi.so is preloaded and serves this program: the component for "
          "Open MPI stands back\n",
          stderr);
    return OMPI_ERR_NOT_AVAILABLE;
  }
  if (!colltune_open(BUILT_FOR, colltune_now())) return OMPI_ERR_NOT_AVAILABLE;
  /* Sent along with what every rank tells of itself during MPI_Init, so that the others can see it
   * without this rank's help. */
  if (OPAL_SUCCESS != colltune_tell(modex_key, colltune_fingerprint()))
    return OMPI_ERR_NOT_AVAILABLE;
  alike = colltune_none_is_known();
  return OMPI_SUCCESS;
}

static int close_component(void) {
  colltune_close(0 == OMPI_PROC_MY_NAME->vpid);
  colltune_forget_alike(&alike);
  return OMPI_SUCCESS;
}

static int init_query(bool enable_progress_threads, bool enable_mpi_threads) {
  (void)enable_progress_threads;
  (void)enable_mpi_threads;
  return OMPI_SUCCESS;
}

OMPI_MODULE_DECLSPEC const mca_coll_base_component_t mca_coll_colltune_component = {
    .collm_version = {MCA_COLL_BASE_VERSION_2_0_0, .mca_component_name = "colltune",
                      MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
                                            OMPI_RELEASE_VERSION),
                      .mca_open_component = open_component, .mca_close_component = close_component},
    .collm_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .collm_init_query = init_query,
    .collm_comm_query = query,
};
