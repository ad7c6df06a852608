/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Open MPI's side: a component of its framework "coll", whose modules stand in front of those of
   lower priority and pass on to them what is not theirs. */

#include "ompi_config.h"

#include <stdint.h>
#include <string.h>

#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/proc/proc.h"
#include "opal/runtime/opal_progress.h"

#include "bridge.h"
#include "clock.h"
#include "peers.h"

/* Below coll/cuda, which brings the data of devices into host memory first; above all that compute.
 */
#define PRIORITY 75
/* At this of a communicator's collectives, and whenever there are twice as many, its ranks look
   whether to set it up: many have only one or two. */
#define FIRST_LOOK 3

static char modex_key[] = "colltune.coll";

/* Set while this thread is in our code, or in a collective that was passed on: the collectives that
   are called there, on the user's communicator and on ours, are the library's and do not count.
   Initial-exec: every call reads it, and a call for its address would take longer than the rest. */
static _Thread_local bool is_inside __attribute__((tls_model("initial-exec"))) = false;

#define FUNCTIONS(each)                                                                       \
  each(allreduce) each(allgather) each(reduce_scatter_block) each(reduce_scatter) each(bcast) \
      each(reduce) each(alltoall) each(gather) each(scatter)

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
  colltune_executor* executor; /* null before it is set up, and if nothing of ours runs */
  bool is_set_up;
  uint64_t calls;     /* until it is set up */
  uint64_t next_look; /* at this call */
  int64_t spent;      /* in the library's collectives until then, ns */
  int64_t begun;      /* the latest of them */
  int ranks;
  int rank;
} colltune_module;

static void construct(colltune_module* module) {
  memset(&module->lower, 0, sizeof module->lower);
  module->executor = NULL;
  module->is_set_up = false;
  module->calls = 0;
  module->next_look = FIRST_LOOK;
  module->spent = 0;
  module->begun = 0;
  module->ranks = 0;
  module->rank = 0;
}

static void destruct(colltune_module* module) {
  if (NULL != module->executor) {
    is_inside = true;
    colltune_tear_down(module->executor);
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
static bool is_everywhere(struct ompi_communicator_t* comm) {
  if (colltune_all_told(comm, modex_key, colltune_fingerprint())) return true;
  if (0 == ompi_comm_rank(comm))
    colltune_say(
        "not all ranks of a communicator run with colltune, the same build and the same settings");
  return false;
}

/* Puts the functions below back in front for the collectives of which nothing of ours ever runs on
   this communicator: they then cost nothing. One collective stays, so that the communicator still
   holds the module. A component that came in front of us calls us as its lower one: it stays. */
static void stand_aside(colltune_module* module, struct ompi_communicator_t* comm) {
  const colltune_executor* const executor = module->executor;
#define STAND_ASIDE(name, collective)                                  \
  if (comm->c_coll->coll_##name##_module == &module->super &&          \
      (NULL == executor || !colltune_is_used(executor, collective))) { \
    comm->c_coll->coll_##name = module->lower.name;                    \
    comm->c_coll->coll_##name##_module = module->lower.name##_module;  \
    OBJ_RETAIN(module->lower.name##_module);                           \
    OBJ_RELEASE(module);                                               \
  }
  STAND_ASIDE(allreduce, COLLTUNE_ALL_REDUCE)
  STAND_ASIDE(allgather, COLLTUNE_ALL_GATHER)
  STAND_ASIDE(reduce_scatter_block, COLLTUNE_REDUCE_SCATTER)
  STAND_ASIDE(bcast, COLLTUNE_BROADCAST)
  STAND_ASIDE(reduce, COLLTUNE_REDUCE)
  STAND_ASIDE(alltoall, COLLTUNE_ALL_TO_ALL)
  STAND_ASIDE(gather, COLLTUNE_GATHER)
  STAND_ASIDE(scatter, COLLTUNE_SCATTER)
#undef STAND_ASIDE
}

/* Whether some rank has spent so long in this communicator's collectives that setting it up may
   pay. Collective, at the same call on all ranks: how large their calls are does not count, since
   that may differ by mistake. The same on all ranks. */
static bool is_worthwhile(colltune_module* module, struct ompi_communicator_t* comm) {
  const int64_t patience = colltune_patience();
  if (0 == patience) return true;
  int64_t longest = module->spent;
  is_inside = true;
  const int rc = module->lower.allreduce(MPI_IN_PLACE, &longest, 1, MPI_INT64_T, MPI_MAX, comm,
                                         module->lower.allreduce_module);
  is_inside = false;
  return MPI_SUCCESS == rc && longest >= patience;
}

/* The same as the next, before the communicator is set up. */
static colltune_executor* executor_of_new(colltune_module* module,
                                          struct ompi_communicator_t* comm) {
  if (is_inside) return NULL;
  if (++module->calls == module->next_look) {
    module->next_look *= 2;
    const bool is_possible = is_everywhere(comm);
    if (!is_possible || is_worthwhile(module, comm)) {
      if (is_possible) {
        is_inside = true;
        module->executor = colltune_set_up(comm, opal_progress);
        is_inside = false;
      }
      module->is_set_up = true;
      stand_aside(module, comm);
      return module->executor;
    }
  }
  module->begun = colltune_now();
  return NULL;
}

/* The executor for a call; null: the call is the library's. */
static inline colltune_executor* executor_of(colltune_module* module,
                                             struct ompi_communicator_t* comm) {
  if (OPAL_LIKELY(module->is_set_up)) return is_inside ? NULL : module->executor;
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
      colltune_finish(call.executor);
    else
      call.module->spent += colltune_now() - call.module->begun;
  }
  return result;
}

/* The first call of a variant makes memory, and communicators if there are several nodes. */
static enum colltune_outcome run(colltune_executor* executor, unsigned choice,
                                 const struct colltune_buffers* buffers) {
  is_inside = true;
  const enum colltune_outcome outcome = colltune_run(executor, choice, buffers);
  is_inside = false;
  return outcome;
}

/* The bytes of `count` elements. */
static size_t bytes_of(struct ompi_datatype_t* type, size_t count) {
  size_t size = 0;
  ompi_datatype_type_size(type, &size);
  return size * count;
}

/* A buffer of the user as plain bytes: where it is, or a copy of it. */
struct plain {
  void* bytes; /* null without memory for a copy */
  bool is_copy;
};

static struct plain plain_of(colltune_executor* executor, int which, const void* user, size_t count,
                             struct ompi_datatype_t* type, bool is_read,
                             struct ompi_communicator_t* comm) {
  struct plain plain = {.bytes = (char*)user + type->super.true_lb, .is_copy = false};
  if (count <= INT32_MAX && ompi_datatype_is_contiguous_memory_layout(type, (int32_t)count))
    return plain;
  const size_t bytes = bytes_of(type, count);
  plain.is_copy = true;
  plain.bytes = colltune_memory(executor, which, bytes);
  int position = 0;
  if (is_read && NULL != plain.bytes &&
      MPI_SUCCESS != PMPI_Pack(user, (int)count, type, plain.bytes, (int)bytes, &position, comm))
    plain.bytes = NULL;
  return plain;
}

static int take_back(struct plain plain, void* user, size_t count, struct ompi_datatype_t* type,
                     struct ompi_communicator_t* comm) {
  int position = 0;
  return PMPI_Unpack(plain.bytes, (int)bytes_of(type, count), &position, user, (int)count, type,
                     comm);
}

/* A buffer of a call that moves data, as the program gives it; count 0: this rank has none. */
struct side {
  const void* buffer;
  size_t count;
  struct ompi_datatype_t* type;
};

/* One rank's buffers. In place the program gives the larger one alone: the other one is `inner`
 * bytes of it, from `offset` on. */
struct move {
  struct side send;
  struct side receive;
  bool in_place;
  size_t inner;
  size_t offset;
};

/* Runs the call that was begun as `choice`. */
static enum colltune_outcome move(colltune_executor* executor, unsigned choice,
                                  const struct move* of, struct ompi_communicator_t* comm) {
  struct plain from = {NULL, false};
  struct plain to = {NULL, false};
  struct colltune_buffers buffers = {.in_place = of->in_place};
  if (of->send.count > 0) {
    from = plain_of(executor, 0, of->send.buffer, of->send.count, of->send.type, true, comm);
    buffers.send_bytes = bytes_of(of->send.type, of->send.count);
  }
  if (of->receive.count > 0) {
    to = plain_of(executor, 1, of->receive.buffer, of->receive.count, of->receive.type,
                  of->inner > 0, comm);
    buffers.receive_bytes = bytes_of(of->receive.type, of->receive.count);
  }
  /* The other ranks are in the call by now: a rank that lacks memory for a copy cannot leave it to
   * the library. */
  if ((buffers.send_bytes > 0 && NULL == from.bytes) ||
      (buffers.receive_bytes > 0 && NULL == to.bytes)) {
    colltune_say("a buffer whose data are not contiguous could not be copied");
    return COLLTUNE_FAILED;
  }
  buffers.send = from.bytes;
  buffers.receive = to.bytes;
  buffers.is_copied_back = to.is_copy;
  if (of->inner > 0 && 0 == of->send.count) {
    buffers.send = (const char*)to.bytes + of->offset;
    buffers.send_bytes = of->inner;
  } else if (of->inner > 0) {
    buffers.receive = (char*)from.bytes + of->offset;
    buffers.receive_bytes = of->inner;
  }
  const enum colltune_outcome outcome = run(executor, choice, &buffers);
  if (COLLTUNE_DONE != outcome || !to.is_copy) return outcome;
  const int rc =
      take_back(to, (void*)of->receive.buffer, of->receive.count, of->receive.type, comm);
  colltune_finish(executor);
  return MPI_SUCCESS == rc ? outcome : COLLTUNE_FAILED;
}

static int colltune_bcast(void* buffer, int count, struct ompi_datatype_t* type, int root,
                          struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  colltune_module* const module = (colltune_module*)base;
  colltune_executor* const executor = executor_of(module, comm);
  const size_t bytes = bytes_of(type, (size_t)count);
  if (NULL != executor && bytes > 0) {
    const unsigned choice = colltune_begin_move(executor, COLLTUNE_BROADCAST, root, bytes);
    if (0 != choice) {
      const struct move of = {.receive = {buffer, (size_t)count, type},
                              .in_place = true,
                              .inner = module->rank == root ? bytes : 0};
      const enum colltune_outcome outcome = move(executor, choice, &of, comm);
      if (COLLTUNE_LEFT != outcome) return result_of(outcome);
    }
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
  const size_t block = bytes_of(receive_type, (size_t)receive_count);
  if (NULL != executor && block > 0) {
    const size_t ranks = (size_t)module->ranks;
    const unsigned choice = colltune_begin_move(executor, COLLTUNE_ALL_GATHER, 0, block * ranks);
    if (0 != choice) {
      struct move of = {.receive = {receive, (size_t)receive_count * ranks, receive_type}};
      if (MPI_IN_PLACE == send) {
        of.in_place = true;
        of.inner = block;
        of.offset = (size_t)module->rank * block;
      } else {
        of.send = (struct side){send, (size_t)send_count, send_type};
      }
      const enum colltune_outcome outcome = move(executor, choice, &of, comm);
      if (COLLTUNE_LEFT != outcome) return result_of(outcome);
    }
  }
  const struct passing call = pass_on(module, executor);
  return passed_on(call,
                   module->lower.allgather(send, send_count, send_type, receive, receive_count,
                                           receive_type, comm, module->lower.allgather_module));
}

static int colltune_alltoall(const void* send, int send_count, struct ompi_datatype_t* send_type,
                             void* receive, int receive_count, struct ompi_datatype_t* receive_type,
                             struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  colltune_module* const module = (colltune_module*)base;
  colltune_executor* const executor = executor_of(module, comm);
  const size_t ranks = (size_t)module->ranks;
  const size_t bytes = bytes_of(receive_type, (size_t)receive_count) * ranks;
  if (NULL != executor && bytes > 0) {
    const unsigned choice = colltune_begin_move(executor, COLLTUNE_ALL_TO_ALL, 0, bytes);
    if (0 != choice) {
      struct move of = {.receive = {receive, (size_t)receive_count * ranks, receive_type}};
      if (MPI_IN_PLACE == send) {
        of.in_place = true;
        of.inner = bytes;
      } else {
        of.send = (struct side){send, (size_t)send_count * ranks, send_type};
      }
      const enum colltune_outcome outcome = move(executor, choice, &of, comm);
      if (COLLTUNE_LEFT != outcome) return result_of(outcome);
    }
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
  const bool is_root = module->rank == root;
  /* What the other side says is not significant here. */
  const size_t block = is_root ? bytes_of(receive_type, (size_t)receive_count)
                               : bytes_of(send_type, (size_t)send_count);
  if (NULL != executor && block > 0) {
    const size_t ranks = (size_t)module->ranks;
    const unsigned choice = colltune_begin_move(executor, COLLTUNE_GATHER, root, block * ranks);
    if (0 != choice) {
      struct move of = {.in_place = false};
      if (is_root) of.receive = (struct side){receive, (size_t)receive_count * ranks, receive_type};
      if (is_root && MPI_IN_PLACE == send) {
        of.in_place = true;
        of.inner = block;
        of.offset = (size_t)root * block;
      } else {
        of.send = (struct side){send, (size_t)send_count, send_type};
      }
      const enum colltune_outcome outcome = move(executor, choice, &of, comm);
      if (COLLTUNE_LEFT != outcome) return result_of(outcome);
    }
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
  const bool is_root = module->rank == root;
  const size_t block = is_root ? bytes_of(send_type, (size_t)send_count)
                               : bytes_of(receive_type, (size_t)receive_count);
  if (NULL != executor && block > 0) {
    const size_t ranks = (size_t)module->ranks;
    const unsigned choice = colltune_begin_move(executor, COLLTUNE_SCATTER, root, block * ranks);
    if (0 != choice) {
      struct move of = {.in_place = false};
      if (is_root) of.send = (struct side){send, (size_t)send_count * ranks, send_type};
      if (is_root && MPI_IN_PLACE == receive) {
        of.in_place = true;
        of.inner = block;
        of.offset = (size_t)root * block;
      } else {
        of.receive = (struct side){receive, (size_t)receive_count, receive_type};
      }
      const enum colltune_outcome outcome = move(executor, choice, &of, comm);
      if (COLLTUNE_LEFT != outcome) return result_of(outcome);
    }
  }
  const struct passing call = pass_on(module, executor);
  return passed_on(
      call, module->lower.scatter(send, send_count, send_type, receive, receive_count, receive_type,
                                  root, comm, module->lower.scatter_module));
}

/* Predefined operators take predefined types alone, which are contiguous. */

static int colltune_allreduce(const void* send, void* receive, int count,
                              struct ompi_datatype_t* type, struct ompi_op_t* op,
                              struct ompi_communicator_t* comm, mca_coll_base_module_t* base) {
  colltune_module* const module = (colltune_module*)base;
  colltune_executor* const executor = executor_of(module, comm);
  if (NULL != executor && count > 0) {
    const unsigned choice =
        colltune_begin_reduction(executor, COLLTUNE_ALL_REDUCE, 0, (size_t)count, type, op);
    if (0 != choice) {
      const bool in_place = MPI_IN_PLACE == send;
      const size_t bytes = bytes_of(type, (size_t)count);
      const struct colltune_buffers buffers = {
          in_place ? receive : send, bytes, receive, bytes, in_place, false};
      const enum colltune_outcome outcome = run(executor, choice, &buffers);
      if (COLLTUNE_LEFT != outcome) return result_of(outcome);
    }
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
  if (NULL != executor && count > 0) {
    const unsigned choice =
        colltune_begin_reduction(executor, COLLTUNE_REDUCE, root, (size_t)count, type, op);
    if (0 != choice) {
      const bool is_root = module->rank == root;
      const bool in_place = is_root && MPI_IN_PLACE == send;
      const size_t bytes = bytes_of(type, (size_t)count);
      const struct colltune_buffers buffers = {
          in_place ? receive : send, bytes,    is_root ? receive : NULL,
          is_root ? bytes : 0,       in_place, false};
      const enum colltune_outcome outcome = run(executor, choice, &buffers);
      if (COLLTUNE_LEFT != outcome) return result_of(outcome);
    }
  }
  const struct passing call = pass_on(module, executor);
  return passed_on(call, module->lower.reduce(send, receive, count, type, op, root, comm,
                                              module->lower.reduce_module));
}

/* Runs a reduce_scatter of `count` elements for each rank. */
static enum colltune_outcome scatter_reduced(colltune_module* module, colltune_executor* executor,
                                             const void* send, void* receive, size_t count,
                                             struct ompi_datatype_t* type, struct ompi_op_t* op) {
  const size_t ranks = (size_t)module->ranks;
  const unsigned choice =
      colltune_begin_reduction(executor, COLLTUNE_REDUCE_SCATTER, 0, count * ranks, type, op);
  if (0 == choice) return COLLTUNE_LEFT;
  const size_t block = bytes_of(type, count);
  /* MPI puts the result at the beginning of the buffer, the kernels at this rank's block. */
  const bool in_place = MPI_IN_PLACE == send;
  void* const result = in_place ? colltune_memory(executor, 0, block) : receive;
  if (NULL == result) {
    colltune_say("no memory for the result of MPI_Reduce_scatter in place");
    return COLLTUNE_FAILED;
  }
  const struct colltune_buffers buffers = {
      in_place ? receive : send, block * ranks, result, block, false, in_place};
  const enum colltune_outcome outcome = run(executor, choice, &buffers);
  if (COLLTUNE_DONE == outcome && in_place) {
    memcpy(receive, result, block);
    colltune_finish(executor);
  }
  return outcome;
}

static int colltune_reduce_scatter_block(const void* send, void* receive, int count,
                                         struct ompi_datatype_t* type, struct ompi_op_t* op,
                                         struct ompi_communicator_t* comm,
                                         mca_coll_base_module_t* base) {
  colltune_module* const module = (colltune_module*)base;
  colltune_executor* const executor = executor_of(module, comm);
  if (NULL != executor && count > 0) {
    const enum colltune_outcome outcome =
        scatter_reduced(module, executor, send, receive, (size_t)count, type, op);
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
  bool are_equal = counts[0] > 0;
  for (int rank = 1; rank < module->ranks; ++rank)
    are_equal = are_equal && counts[rank] == counts[0];
  if (NULL != executor && are_equal) {
    const enum colltune_outcome outcome =
        scatter_reduced(module, executor, send, receive, (size_t)counts[0], type, op);
    if (COLLTUNE_LEFT != outcome) return result_of(outcome);
  } else if (NULL != executor) {
    colltune_leave(executor, COLLTUNE_REDUCE_SCATTER);
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
  module->ranks = ompi_comm_size(comm);
  module->rank = ompi_comm_rank(comm);
  module->super.coll_module_enable = enable;
#define OFFER(name) module->super.coll_##name = colltune_##name;
  FUNCTIONS(OFFER)
#undef OFFER
  *priority = PRIORITY;
  return &module->super;
}

static int open_component(void) {
  if (!colltune_open(OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION)) return OMPI_ERR_NOT_AVAILABLE;
  /* Sent along with what every rank tells of itself during MPI_Init, so that the others can see it
   * without this rank's help. */
  return OPAL_SUCCESS == colltune_tell(modex_key, colltune_fingerprint()) ? OMPI_SUCCESS
                                                                          : OMPI_ERR_NOT_AVAILABLE;
}

static int close_component(void) {
  colltune_close(0 == OMPI_PROC_MY_NAME->vpid);
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
