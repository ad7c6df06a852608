/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Open MPI's side: a component of its framework "coll" whose modules stand in front of all others,
   colltune's own included, write down each call and pass it on. */

#include "ompi_config.h"

#include <stdint.h>
#include <string.h>

#include "mpi.h"
#include "ompi/attribute/attribute.h"
#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/request/request.h"

#include "../peers.h"
#include "bridge/clock.h"
#include "recording.h"

/* The highest that there is. */
#define PRIORITY 100

static char modex_key[] = "colltune.recorder";

/* Set while a call runs: what a library's collective calls in turn is part of it. */
static _Thread_local bool is_inside __attribute__((tls_model("initial-exec"))) = false;

#define ON_ALL(each)                                                                               \
  each(allgather) each(allgatherv) each(allreduce) each(alltoall) each(alltoallv) each(alltoallw)  \
      each(barrier) each(bcast) each(exscan) each(gather) each(gatherv) each(reduce)               \
          each(reduce_scatter) each(reduce_scatter_block) each(scan) each(scatter) each(scatterv)  \
              each(iallgather) each(iallgatherv) each(iallreduce) each(ialltoall) each(ialltoallv) \
                  each(ialltoallw) each(ibarrier) each(ibcast) each(iexscan) each(igather)         \
                      each(igatherv) each(ireduce) each(ireduce_scatter)                           \
                          each(ireduce_scatter_block) each(iscan) each(iscatter) each(iscatterv)   \
                              each(allgather_init) each(allgatherv_init) each(allreduce_init)      \
                                  each(alltoall_init) each(alltoallv_init) each(alltoallw_init)    \
                                      each(barrier_init) each(bcast_init) each(exscan_init)        \
                                          each(gather_init) each(gatherv_init) each(reduce_init)   \
                                              each(reduce_scatter_init)                            \
                                                  each(reduce_scatter_block_init) each(scan_init)  \
                                                      each(scatter_init) each(scatterv_init)
/* Only communicators with a topology have these. */
#define ON_NEIGHBORS(each)                                                                   \
  each(neighbor_allgather, allgather) each(neighbor_allgatherv, allgatherv)                  \
      each(neighbor_alltoall, alltoall) each(neighbor_alltoallv, alltoallv)                  \
          each(neighbor_alltoallw, neighbor_alltoallw) each(ineighbor_allgather, iallgather) \
              each(ineighbor_allgatherv, iallgatherv) each(ineighbor_alltoall, ialltoall)    \
                  each(ineighbor_alltoallv, ialltoallv)                                      \
                      each(ineighbor_alltoallw, ineighbor_alltoallw)                         \
                          each(neighbor_allgather_init, allgather_init)                      \
                              each(neighbor_allgatherv_init, allgatherv_init)                \
                                  each(neighbor_alltoall_init, alltoall_init)                \
                                      each(neighbor_alltoallv_init, alltoallv_init)          \
                                          each(neighbor_alltoallw_init, neighbor_alltoallw_init)

/* What the communicator had before. */
struct lower {
#define DECLARE(name, type)                \
  mca_coll_base_module_##type##_fn_t name; \
  mca_coll_base_module_t* name##_module;
#define DECLARE_ONE(name) DECLARE(name, name)
  ON_ALL(DECLARE_ONE)
  ON_NEIGHBORS(DECLARE)
#undef DECLARE_ONE
#undef DECLARE
};

typedef struct {
  mca_coll_base_module_t super;
  struct lower lower;
  colltune_recording* recording; /* null before the first call */
  int ranks;
  int rank;
} recorder_module;

static void construct(recorder_module* module) {
  memset(&module->lower, 0, sizeof module->lower);
  module->recording = NULL;
  module->ranks = 0;
  module->rank = 0;
}

static void destruct(recorder_module* module) {
  if (NULL != module->recording) colltune_recording_end(module->recording);
#define RELEASE(name) \
  if (NULL != module->lower.name##_module) OBJ_RELEASE(module->lower.name##_module);
#define RELEASE_TWO(name, type) RELEASE(name)
  ON_ALL(RELEASE)
  ON_NEIGHBORS(RELEASE_TWO)
#undef RELEASE_TWO
#undef RELEASE
}

static OBJ_CLASS_INSTANCE(recorder_module, mca_coll_base_module_t, construct, destruct);

static void write_down(recorder_module* module, struct ompi_communicator_t* comm,
                       const struct colltune_seen* seen, enum colltune_form form,
                       uint64_t nanoseconds) {
  if (NULL == module->recording) module->recording = colltune_recording_begin(comm);
  if (NULL != module->recording) colltune_record(module->recording, seen, form, nanoseconds);
}

/* MPI_Start and MPI_Startall of requests that are followed. One by one: each has its own time. */
static int start_requests(size_t count, ompi_request_t** requests) {
  for (size_t i = 0; i < count; ++i) {
    const struct colltune_followed* const followed = colltune_followed_of(requests[i]);
    const bool was_inside = is_inside;
    is_inside = true;
    const int64_t begin = colltune_now();
    const int rc = followed->start(1, &requests[i]);
    const uint64_t took = (uint64_t)(colltune_now() - begin);
    is_inside = was_inside;
    if (OMPI_SUCCESS != rc) return rc;
    colltune_record_start(followed, took);
  }
  return OMPI_SUCCESS;
}

/* The library uses a request again for other calls, so it gets its own functions back before. One
   that could not be freed is not followed any longer. */
static int free_request(ompi_request_t** request) {
  const struct colltune_followed functions = *colltune_followed_of(*request);
  colltune_unfollow(*request);
  (*request)->req_start = functions.start;
  (*request)->req_free = functions.free;
  return functions.free(request);
}

/* Counts the starts of a persistent request that was made just now. */
static void follow(recorder_module* module, const struct colltune_seen* seen,
                   ompi_request_t* request) {
  /* One that does nothing is shared by others, or is never started by its function. */
  if (NULL == module->recording || !request->req_persistent ||
      OMPI_REQUEST_COLL != request->req_type)
    return;
  const struct colltune_followed functions = {request->req_start, request->req_free};
  if (!colltune_follow(module->recording, seen, request, functions)) return;
  request->req_start = start_requests;
  request->req_free = free_request;
}

/* The bytes of `count` elements. */
static uint64_t bytes_of(struct ompi_datatype_t* type, uint64_t count) {
  size_t size = 0;
  ompi_datatype_type_size(type, &size);
  return (uint64_t)size * count;
}

/* Counts of one rank each. */
struct counted {
  uint64_t sum;
  enum colltune_count_shape shape;
};

static struct counted counted(const int* counts, int ranks) {
  struct counted found = {0, COLLTUNE_COUNTS_EQUAL};
  uint64_t largest = 0;
  bool are_equal = true;
  for (int rank = 0; rank < ranks; ++rank) {
    const uint64_t count = (uint64_t)counts[rank];
    found.sum += count;
    if (count > largest) largest = count;
    are_equal = are_equal && counts[rank] == counts[0];
  }
  if (!are_equal) {
    const uint64_t others = found.sum - largest;
    const bool is_one_large = largest >= others && largest * (uint64_t)(ranks - 1) >= 2 * others;
    found.shape = is_one_large ? COLLTUNE_COUNTS_ONE_LARGE : COLLTUNE_COUNTS_MIXED;
  }
  return found;
}

static struct colltune_seen moved(enum colltune_traced operation, uint64_t bytes) {
  const struct colltune_seen seen = {operation, bytes, MPI_DATATYPE_NULL, NULL,
                                     COLLTUNE_COUNTS_EQUAL};
  return seen;
}
static struct colltune_seen moved_irregularly(enum colltune_traced operation, const int* counts,
                                              int ranks, struct ompi_datatype_t* type) {
  const struct counted all = counted(counts, ranks);
  struct colltune_seen seen = moved(operation, bytes_of(type, all.sum));
  seen.counts = all.shape;
  return seen;
}
/* On a rank that is not the root, which alone knows the counts. */
static struct colltune_seen moved_unseen(enum colltune_traced operation, uint64_t bytes) {
  struct colltune_seen seen = moved(operation, bytes);
  seen.counts = COLLTUNE_COUNTS_UNSEEN;
  return seen;
}
static struct colltune_seen reduced(enum colltune_traced operation, uint64_t count,
                                    struct ompi_datatype_t* type, struct ompi_op_t* op) {
  struct colltune_seen seen = moved(operation, bytes_of(type, count));
  seen.type = type;
  seen.op = op;
  return seen;
}
static struct colltune_seen reduced_and_scattered(const int* counts, int ranks,
                                                  struct ompi_datatype_t* type,
                                                  struct ompi_op_t* op) {
  const struct counted all = counted(counts, ranks);
  struct colltune_seen seen =
      reduced(COLLTUNE_COUNTS_EQUAL == all.shape ? COLLTUNE_TRACED_REDUCE_SCATTER
                                                 : COLLTUNE_TRACED_REDUCE_SCATTER_V,
              all.sum, type, op);
  seen.counts = all.shape;
  return seen;
}
/* With a type for each rank. The send side may be MPI_IN_PLACE. */
static struct colltune_seen exchanged(const int* counts, struct ompi_datatype_t* const* types,
                                      int ranks) {
  struct colltune_seen seen = moved(COLLTUNE_TRACED_ALL_TO_ALL_W, 0);
  seen.counts = counted(counts, ranks).shape;
  for (int rank = 0; rank < ranks; ++rank)
    if (counts[rank] > 0) seen.bytes += bytes_of(types[rank], (uint64_t)counts[rank]);
  return seen;
}

#define UNPACK(...) __VA_ARGS__

/* A collective `name`, its nonblocking and its persistent form: parameters and arguments up to the
   communicator, and what of it is written down. */
#define RECORD(name, parameters, arguments, what)                                                 \
  static int record_##name(UNPACK parameters struct ompi_communicator_t* comm,                    \
                           mca_coll_base_module_t* base) {                                        \
    recorder_module* const module = (recorder_module*)base;                                       \
    if (is_inside) return module->lower.name(UNPACK arguments comm, module->lower.name##_module); \
    is_inside = true;                                                                             \
    const int64_t begin = colltune_now();                                                         \
    const int rc = module->lower.name(UNPACK arguments comm, module->lower.name##_module);        \
    const uint64_t took = (uint64_t)(colltune_now() - begin);                                     \
    const struct colltune_seen seen = what;                                                       \
    write_down(module, comm, &seen, COLLTUNE_BLOCKING, took);                                     \
    is_inside = false;                                                                            \
    return rc;                                                                                    \
  }                                                                                               \
  static int record_i##name(UNPACK parameters struct ompi_communicator_t* comm,                   \
                            ompi_request_t** request, mca_coll_base_module_t* base) {             \
    recorder_module* const module = (recorder_module*)base;                                       \
    if (is_inside)                                                                                \
      return module->lower.i##name(UNPACK arguments comm, request,                                \
                                   module->lower.i##name##_module);                               \
    is_inside = true;                                                                             \
    const int64_t begin = colltune_now();                                                         \
    const int rc =                                                                                \
        module->lower.i##name(UNPACK arguments comm, request, module->lower.i##name##_module);    \
    const uint64_t took = (uint64_t)(colltune_now() - begin);                                     \
    const struct colltune_seen seen = what;                                                       \
    write_down(module, comm, &seen, COLLTUNE_NONBLOCKING, took);                                  \
    is_inside = false;                                                                            \
    return rc;                                                                                    \
  }                                                                                               \
  static int record_##name##_init(UNPACK parameters struct ompi_communicator_t* comm,             \
                                  struct ompi_info_t* info, ompi_request_t** request,             \
                                  mca_coll_base_module_t* base) {                                 \
    recorder_module* const module = (recorder_module*)base;                                       \
    if (is_inside)                                                                                \
      return module->lower.name##_init(UNPACK arguments comm, info, request,                      \
                                       module->lower.name##_init_module);                         \
    is_inside = true;                                                                             \
    const int64_t begin = colltune_now();                                                         \
    const int rc = module->lower.name##_init(UNPACK arguments comm, info, request,                \
                                             module->lower.name##_init_module);                   \
    const uint64_t took = (uint64_t)(colltune_now() - begin);                                     \
    const struct colltune_seen seen = what;                                                       \
    write_down(module, comm, &seen, COLLTUNE_MAKES_PERSISTENT, took);                             \
    if (OMPI_SUCCESS == rc) follow(module, &seen, *request);                                      \
    is_inside = false;                                                                            \
    return rc;                                                                                    \
  }

typedef struct ompi_datatype_t type_t;
typedef struct ompi_op_t op_t;
#define RANKS ((uint64_t)module->ranks)

RECORD(barrier, (), (), moved(COLLTUNE_TRACED_BARRIER, 0))
RECORD(bcast, (void* buffer, int count, type_t* type, int root, ), (buffer, count, type, root, ),
       moved(COLLTUNE_TRACED_BROADCAST, bytes_of(type, (uint64_t)count)))
RECORD(allgather,
       (const void* send, int send_count, type_t* send_type, void* receive, int receive_count,
        type_t* receive_type, ),
       (send, send_count, send_type, receive, receive_count, receive_type, ),
       moved(COLLTUNE_TRACED_ALL_GATHER, RANKS* bytes_of(receive_type, (uint64_t)receive_count)))
RECORD(allgatherv,
       (const void* send, int send_count, type_t* send_type, void* receive,
        const int* receive_counts, const int* displacements, type_t* receive_type, ),
       (send, send_count, send_type, receive, receive_counts, displacements, receive_type, ),
       moved_irregularly(COLLTUNE_TRACED_ALL_GATHER_V, receive_counts, module->ranks, receive_type))
RECORD(alltoall,
       (const void* send, int send_count, type_t* send_type, void* receive, int receive_count,
        type_t* receive_type, ),
       (send, send_count, send_type, receive, receive_count, receive_type, ),
       moved(COLLTUNE_TRACED_ALL_TO_ALL, RANKS* bytes_of(receive_type, (uint64_t)receive_count)))
RECORD(alltoallv,
       (const void* send, const int* send_counts, const int* send_displacements, type_t* send_type,
        void* receive, const int* receive_counts, const int* receive_displacements,
        type_t* receive_type, ),
       (send, send_counts, send_displacements, send_type, receive, receive_counts,
        receive_displacements, receive_type, ),
       moved_irregularly(COLLTUNE_TRACED_ALL_TO_ALL_V, receive_counts, module->ranks, receive_type))
RECORD(alltoallw,
       (const void* send, const int* send_counts, const int* send_displacements,
        type_t* const* send_types, void* receive, const int* receive_counts,
        const int* receive_displacements, type_t* const* receive_types, ),
       (send, send_counts, send_displacements, send_types, receive, receive_counts,
        receive_displacements, receive_types, ),
       exchanged(receive_counts, receive_types, module->ranks))
RECORD(gather,
       (const void* send, int send_count, type_t* send_type, void* receive, int receive_count,
        type_t* receive_type, int root, ),
       (send, send_count, send_type, receive, receive_count, receive_type, root, ),
       moved(COLLTUNE_TRACED_GATHER,
             RANKS*(module->rank == root ? bytes_of(receive_type, (uint64_t)receive_count)
                                         : bytes_of(send_type, (uint64_t)send_count))))
RECORD(gatherv,
       (const void* send, int send_count, type_t* send_type, void* receive,
        const int* receive_counts, const int* displacements, type_t* receive_type, int root, ),
       (send, send_count, send_type, receive, receive_counts, displacements, receive_type, root, ),
       module->rank == root
           ? moved_irregularly(COLLTUNE_TRACED_GATHER_V, receive_counts, module->ranks,
                               receive_type)
           : moved_unseen(COLLTUNE_TRACED_GATHER_V, bytes_of(send_type, (uint64_t)send_count)))
RECORD(scatter,
       (const void* send, int send_count, type_t* send_type, void* receive, int receive_count,
        type_t* receive_type, int root, ),
       (send, send_count, send_type, receive, receive_count, receive_type, root, ),
       moved(COLLTUNE_TRACED_SCATTER,
             RANKS*(module->rank == root ? bytes_of(send_type, (uint64_t)send_count)
                                         : bytes_of(receive_type, (uint64_t)receive_count))))
RECORD(scatterv,
       (const void* send, const int* send_counts, const int* displacements, type_t* send_type,
        void* receive, int receive_count, type_t* receive_type, int root, ),
       (send, send_counts, displacements, send_type, receive, receive_count, receive_type, root, ),
       module->rank == root
           ? moved_irregularly(COLLTUNE_TRACED_SCATTER_V, send_counts, module->ranks, send_type)
           : moved_unseen(COLLTUNE_TRACED_SCATTER_V,
                          bytes_of(receive_type, (uint64_t)receive_count)))
RECORD(allreduce, (const void* send, void* receive, int count, type_t* type, op_t* op, ),
       (send, receive, count, type, op, ),
       reduced(COLLTUNE_TRACED_ALL_REDUCE, (uint64_t)count, type, op))
RECORD(reduce, (const void* send, void* receive, int count, type_t* type, op_t* op, int root, ),
       (send, receive, count, type, op, root, ),
       reduced(COLLTUNE_TRACED_REDUCE, (uint64_t)count, type, op))
RECORD(reduce_scatter_block, (const void* send, void* receive, int count, type_t* type, op_t* op, ),
       (send, receive, count, type, op, ),
       reduced(COLLTUNE_TRACED_REDUCE_SCATTER, RANKS*(uint64_t)count, type, op))
RECORD(reduce_scatter,
       (const void* send, void* receive, const int* counts, type_t* type, op_t* op, ),
       (send, receive, counts, type, op, ), reduced_and_scattered(counts, module->ranks, type, op))
RECORD(scan, (const void* send, void* receive, int count, type_t* type, op_t* op, ),
       (send, receive, count, type, op, ), reduced(COLLTUNE_TRACED_SCAN, (uint64_t)count, type, op))
RECORD(exscan, (const void* send, void* receive, int count, type_t* type, op_t* op, ),
       (send, receive, count, type, op, ),
       reduced(COLLTUNE_TRACED_EXSCAN, (uint64_t)count, type, op))
/* Of these the bytes are those to one neighbor; where neighbors differ, none. */
RECORD(neighbor_allgather,
       (const void* send, int send_count, type_t* send_type, void* receive, int receive_count,
        type_t* receive_type, ),
       (send, send_count, send_type, receive, receive_count, receive_type, ),
       moved(COLLTUNE_TRACED_NEIGHBOR_ALL_GATHER, bytes_of(send_type, (uint64_t)send_count)))
RECORD(neighbor_allgatherv,
       (const void* send, int send_count, type_t* send_type, void* receive,
        const int* receive_counts, const int* displacements, type_t* receive_type, ),
       (send, send_count, send_type, receive, receive_counts, displacements, receive_type, ),
       moved_unseen(COLLTUNE_TRACED_NEIGHBOR_ALL_GATHER_V,
                    bytes_of(send_type, (uint64_t)send_count)))
RECORD(neighbor_alltoall,
       (const void* send, int send_count, type_t* send_type, void* receive, int receive_count,
        type_t* receive_type, ),
       (send, send_count, send_type, receive, receive_count, receive_type, ),
       moved(COLLTUNE_TRACED_NEIGHBOR_ALL_TO_ALL, bytes_of(send_type, (uint64_t)send_count)))
RECORD(neighbor_alltoallv,
       (const void* send, const int* send_counts, const int* send_displacements, type_t* send_type,
        void* receive, const int* receive_counts, const int* receive_displacements,
        type_t* receive_type, ),
       (send, send_counts, send_displacements, send_type, receive, receive_counts,
        receive_displacements, receive_type, ),
       moved_unseen(COLLTUNE_TRACED_NEIGHBOR_ALL_TO_ALL_V, 0))
RECORD(neighbor_alltoallw,
       (const void* send, const int* send_counts, const MPI_Aint* send_displacements,
        type_t* const* send_types, void* receive, const int* receive_counts,
        const MPI_Aint* receive_displacements, type_t* const* receive_types, ),
       (send, send_counts, send_displacements, send_types, receive, receive_counts,
        receive_displacements, receive_types, ),
       moved_unseen(COLLTUNE_TRACED_NEIGHBOR_ALL_TO_ALL_W, 0))

/* Takes the place of what the communicator has, and only of that. */
static int enable(mca_coll_base_module_t* base, struct ompi_communicator_t* comm) {
  recorder_module* const module = (recorder_module*)base;
#define KEEP(name)                                                                    \
  if (NULL == comm->c_coll->coll_##name) {                                            \
    module->super.coll_##name = NULL;                                                 \
  } else {                                                                            \
    module->lower.name = comm->c_coll->coll_##name;                                   \
    module->lower.name##_module = comm->c_coll->coll_##name##_module;                 \
    if (NULL != module->lower.name##_module) OBJ_RETAIN(module->lower.name##_module); \
  }
#define KEEP_TWO(name, type) KEEP(name)
  ON_ALL(KEEP)
  ON_NEIGHBORS(KEEP_TWO)
#undef KEEP_TWO
#undef KEEP
  return OMPI_SUCCESS;
}

/* MPI deletes the attributes of MPI_COMM_SELF while it is whole: the first that MPI_Finalize does.
 */
static int finish(MPI_Comm comm, int key, void* value, void* state) {
  (void)comm, (void)key, (void)value, (void)state;
  is_inside = true;
  if (colltune_all_told(&ompi_mpi_comm_world.comm, modex_key, colltune_recorder_fingerprint(),
                        NULL))
    colltune_recorder_finish();
  else
    colltune_recorder_give_up(
        "not all ranks run with the recorder, the same build and the same file");
  is_inside = false;
  return MPI_SUCCESS;
}

static void finish_with_mpi(void) {
  ompi_attribute_fn_ptr_union_t copy = {.attr_communicator_copy_fn = NULL};
  ompi_attribute_fn_ptr_union_t end = {.attr_communicator_delete_fn = finish};
  copy.attr_communicator_copy_fn = (MPI_Comm_internal_copy_attr_function*)MPI_COMM_NULL_COPY_FN;
  int key = MPI_KEYVAL_INVALID;
  if (OMPI_SUCCESS != ompi_attr_create_keyval(COMM_ATTR, copy, end, &key, NULL, 0, NULL) ||
      OMPI_SUCCESS != ompi_attr_set_c(COMM_ATTR, &ompi_mpi_comm_self.comm,
                                      &ompi_mpi_comm_self.comm.c_keyhash, key, NULL, false))
    colltune_recorder_give_up("MPI_COMM_SELF takes no attribute");
}

static mca_coll_base_module_t* query(struct ompi_communicator_t* comm, int* priority) {
  if (comm == &ompi_mpi_comm_world.comm) finish_with_mpi();
  /* A rank alone has nobody to exchange with. */
  if (OMPI_COMM_IS_INTER(comm) || ompi_comm_size(comm) < 2) return NULL;
  recorder_module* const module = OBJ_NEW(recorder_module);
  if (NULL == module) return NULL;
  module->ranks = ompi_comm_size(comm);
  module->rank = ompi_comm_rank(comm);
  module->super.coll_module_enable = enable;
#define OFFER(name) module->super.coll_##name = record_##name;
#define OFFER_TWO(name, type) OFFER(name)
  ON_ALL(OFFER)
  ON_NEIGHBORS(OFFER_TWO)
#undef OFFER_TWO
#undef OFFER
  *priority = PRIORITY;
  return &module->super;
}

static int open_component(void) {
  if (!colltune_recorder_open(OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION))
    return OMPI_ERR_NOT_AVAILABLE;
  return OPAL_SUCCESS == colltune_tell(modex_key, colltune_recorder_fingerprint())
             ? OMPI_SUCCESS
             : OMPI_ERR_NOT_AVAILABLE;
}

static int close_component(void) {
  colltune_recorder_close();
  return OMPI_SUCCESS;
}

static int init_query(bool enable_progress_threads, bool enable_mpi_threads) {
  (void)enable_progress_threads;
  (void)enable_mpi_threads;
  return OMPI_SUCCESS;
}

OMPI_MODULE_DECLSPEC const mca_coll_base_component_t mca_coll_colltune_recorder_component = {
    .collm_version = {MCA_COLL_BASE_VERSION_2_0_0, .mca_component_name = "colltune_recorder",
                      MCA_BASE_MAKE_VERSION(component, OMPI_MAJOR_VERSION, OMPI_MINOR_VERSION,
                                            OMPI_RELEASE_VERSION),
                      .mca_open_component = open_component, .mca_close_component = close_component},
    .collm_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .collm_init_query = init_query,
    .collm_comm_query = query,
};
