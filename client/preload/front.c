/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Before an MPI library's collectives: what is not ours is passed on to it. */

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/bridge.h"
#include "bridge/clock.h"
#include "bridge/looks.h"
#include "calls_of_mpi.h"
#include "colltune/kernels/program_calls/program_calls.h"
#include "present.h"

/* Whether the library refuses one buffer for both sides of any collective; what it refuses is
   passed on to it. */
#ifdef MPICH_VERSION
#define REFUSES_ALIASES true
#else
#define REFUSES_ALIASES false
#endif

#define INITIAL_EXEC __attribute__((tls_model("initial-exec")))

static struct colltune_calls library;

/* What is known of a communicator. */
struct known {
  /* Without an executor before it is set up, and if nothing of ours runs. */
  struct colltune_place place;
  bool is_everywhere; /* every rank runs this, as a look has found */
  bool is_set_up;
  uint64_t calls;                    /* until it is set up */
  uint64_t next_look;                /* at this call */
  struct colltune_spending spending; /* in the library's collectives until then */
  struct known* next;
  struct known* previous;
};

static int keyval = MPI_KEYVAL_INVALID; /* of what is known */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct known* all = NULL;      /* guarded by mutex */
static MPI_Comm idle = MPI_COMM_NULL; /* of this rank alone: no message comes, errors return */

/* Handles are used again: what threads remember of one is from before the last forgetting. */
static _Atomic uint64_t forgotten = 0;

/* The communicator that a thread used last. */
struct latest {
  struct known* known;
  MPI_Comm comm;
  uint64_t forgotten;
};
static _Thread_local struct latest latest INITIAL_EXEC = {NULL, MPI_COMM_NULL, 0};

/* A predefined type, which is never freed. */
struct known_type {
  bool is_known;
  bool is_contiguous;
  MPI_Datatype type;
  size_t bytes;
};
static _Thread_local struct known_type latest_type INITIAL_EXEC = {false};

/* A type as it is now: another one may have the same handle later, unless it is predefined. */
static inline struct known_type look_up(MPI_Datatype type) {
  if (latest_type.is_known && latest_type.type == type) return latest_type;
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = MPI_COMBINER_DUP;
  MPI_Count bytes = 0;
  struct known_type found = {.is_known = false, .type = type};
  if (MPI_SUCCESS != PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner) ||
      MPI_SUCCESS != PMPI_Type_size_x(type, &bytes) || bytes < 0)
    return found;
  found.bytes = (size_t)bytes;
  if (MPI_COMBINER_NAMED != combiner) return found;
  MPI_Aint low = 0;
  MPI_Aint extent = 0;
  found.is_contiguous = MPI_SUCCESS == PMPI_Type_get_extent(type, &low, &extent) && 0 == low &&
                        (size_t)extent == found.bytes;
  found.is_known = true;
  latest_type = found;
  return found;
}

static inline size_t bytes_of(MPI_Datatype type, size_t count) {
  return look_up(type).bytes * count;
}

/* Others may be contiguous, too, but their elements need not lie in the order of their type. */
static inline bool is_contiguous(MPI_Datatype type, size_t count, MPI_Aint* start) {
  (void)count;
  *start = 0;
  return look_up(type).is_contiguous;
}

/* What must not go wrong on one rank alone, for which the others would wait. */
static void require(bool is_right, MPI_Comm comm, const char* what) {
  if (is_right) return;
  colltune_say(what);
  PMPI_Abort(comm, 1);
}

static void progress(void) {
  int found = 0;
  PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, idle, &found, MPI_STATUS_IGNORE);
}

/* Once `known` is no longer in the list. */
static void tear_down(struct known* known) {
  if (NULL != known->place.executor) {
    const bool was_inside = is_inside;
    is_inside = true;
    colltune_tear_down(known->place.executor);
    is_inside = was_inside;
  }
  free(known);
}

static int forget(MPI_Comm comm, int key, void* value, void* nothing) {
  (void)comm;
  (void)key;
  (void)nothing;
  struct known* const known = value;
  pthread_mutex_lock(&mutex);
  if (NULL != known->next) known->next->previous = known->previous;
  if (NULL != known->previous) known->previous->next = known->next;
  if (all == known) all = known->next;
  pthread_mutex_unlock(&mutex);
  atomic_fetch_add(&forgotten, 1);
  tear_down(known);
  return MPI_SUCCESS;
}

static struct known* learn(MPI_Comm comm) {
  struct known* const known = calloc(1, sizeof *known);
  require(NULL != known, comm, "no memory for a communicator");
  int is_inter = 0;
  PMPI_Comm_test_inter(comm, &is_inter);
  PMPI_Comm_size(comm, &known->place.ranks);
  PMPI_Comm_rank(comm, &known->place.rank);
  known->place.comm = comm;
  known->place.error = MPI_SUCCESS;
  known->next_look = COLLTUNE_FIRST_LOOK;
  known->is_set_up = 0 != is_inter || known->place.ranks < 2;
  require(MPI_SUCCESS == PMPI_Comm_set_attr(comm, keyval, known), comm,
          "an attribute of a communicator could not be set");
  pthread_mutex_lock(&mutex);
  known->next = all;
  if (NULL != all) all->previous = known;
  all = known;
  pthread_mutex_unlock(&mutex);
  return known;
}

/* Null: the call is a part of another one, or wrong. */
static inline struct known* known_of(MPI_Comm comm) {
  if (is_inside) return NULL;
  const uint64_t now = atomic_load_explicit(&forgotten, memory_order_acquire);
  if (NULL != latest.known && latest.comm == comm && latest.forgotten == now) return latest.known;
  if (MPI_COMM_NULL == comm) return NULL;
  struct known* known = NULL;
  int is_found = 0;
  if (MPI_SUCCESS != PMPI_Comm_get_attr(comm, keyval, &known, &is_found)) return NULL;
  if (!is_found) known = learn(comm);
  latest = (struct latest){known, comm, now};
  return known;
}

static bool is_everywhere(struct known* known) {
  if (known->is_everywhere) return true;
  int lowest = -1;
  known->is_everywhere = colltune_are_all_present(known->place.comm, &lowest);
  if (!known->is_everywhere && known->place.rank == lowest)
    colltune_say(
        "not all ranks of a communicator run with colltune on this host, the same build and the "
        "same settings");
  return known->is_everywhere;
}

/* Whether the ranks have spent so long in this communicator's collectives, and have run so long,
   that setting it up may pay; if not, when to look again. Collective, at the same call on all
   ranks. The same on all ranks. */
static bool is_worthwhile(struct known* known) {
  /* All ranks of the communicator are on this host. */
  struct colltune_look found = colltune_own_look(known->spending.spent, known->place.ranks);
  if (0 == found.spent_wanted) return true;
  is_inside = true;
  const int rc = library.allreduce(MPI_IN_PLACE, &found, COLLTUNE_LOOK_WORDS, MPI_INT64_T, MPI_SUM,
                                   known->place.comm);
  is_inside = false;
  if (MPI_SUCCESS == rc && colltune_is_enough(found)) return true;
  known->next_look = colltune_next_look(known->calls, found);
  return false;
}

static void look(struct known* known) {
  if (++known->calls != known->next_look) return;
  const bool is_possible = is_everywhere(known);
  if (is_possible && !is_worthwhile(known)) return;
  if (is_possible) {
    is_inside = true;
    known->place.executor = colltune_set_up(known->place.comm, progress);
    is_inside = false;
  }
  known->is_set_up = true;
}

/* Around the library's own collective: those that it is made of are part of it. */
static inline void pass_on(struct known* known) {
  if (NULL == known->place.executor && known->is_set_up) return;
  is_inside = true;
  if (!known->is_set_up) colltune_call_begins(&known->spending, known->calls);
}
static inline int passed_on(struct known* known, int result) {
  if (NULL == known->place.executor && known->is_set_up) return result;
  is_inside = false;
  if (known->is_set_up)
    finish_left(known->place.executor);
  else
    colltune_call_ends(&known->spending);
  return result;
}

static int result_of(struct known* known, enum colltune_outcome outcome) {
  if (COLLTUNE_DONE == outcome) return MPI_SUCCESS;
  const int reported = known->place.error;
  known->place.error = MPI_SUCCESS;
  if (MPI_SUCCESS != reported) return reported;
  PMPI_Comm_call_errhandler(known->place.comm, MPI_ERR_OTHER);
  return MPI_ERR_OTHER;
}

/* What the library would refuse, it shall refuse: such calls are passed on. */

/* Nothing is packed: the library looks at the type. */
static bool is_committed(MPI_Datatype type) {
  char nothing = 0;
  char also = 0;
  int position = 0;
  return MPI_SUCCESS == PMPI_Pack(&nothing, 0, type, &also, 1, &position, idle);
}
static inline bool is_side(const void* buffer, int count, MPI_Datatype type) {
  if (count < 0 || MPI_DATATYPE_NULL == type || MPI_IN_PLACE == buffer) return false;
  const struct known_type known = look_up(type);
  if (!known.is_known && !is_committed(type)) return false;
  return NULL != buffer || 0 == count || !known.is_contiguous;
}
static inline bool are_apart(const void* send, const void* receive, int count) {
  return send != receive || 0 == count;
}
/* Whether MPICH takes the block that a rank gives for its own one among all blocks, `place`
   elements behind their beginning. It counts in sizes, not in extents, and only where the types are
   one. */
static inline bool is_own_block(const void* block, MPI_Datatype block_type, const void* all,
                                MPI_Datatype type, MPI_Aint place) {
  return REFUSES_ALIASES && block_type == type &&
         block == (const char*)all + place * (MPI_Aint)bytes_of(type, 1);
}
static inline bool is_rank(const struct known* known, int root) {
  return root >= 0 && root < known->place.ranks;
}
/* `inner`: a rank's block, or all of them in an alltoall; `place`: which of the blocks of `outer`
   it must not be. */
static inline bool is_move(const void* inner, int inner_count, MPI_Datatype inner_type,
                           const void* outer, int outer_count, MPI_Datatype outer_type, int place) {
  if (!is_side(outer, outer_count, outer_type)) return false;
  if (MPI_IN_PLACE == inner) return true;
  if (!is_side(inner, inner_count, inner_type)) return false;
  return inner_count != outer_count || 0 == inner_count ||
         !is_own_block(inner, inner_type, outer, outer_type, (MPI_Aint)place * outer_count);
}
/* Of a reduce_scatter the counts differ. */
static inline bool is_reduction(const void* send, int send_count, const void* receive,
                                int receive_count, MPI_Datatype type, MPI_Op op) {
  if (MPI_OP_NULL == op || !is_side(receive, receive_count, type)) return false;
  return MPI_IN_PLACE == send || is_side(send, send_count, type);
}
static inline bool is_right_allreduce(const struct known* known, const void* send, void* receive,
                                      int count, MPI_Datatype type, MPI_Op op) {
  (void)known;
  /* Open MPI refuses such buffers here and in a reduce alone. */
  return is_reduction(send, count, receive, count, type, op) && are_apart(send, receive, count);
}
static inline bool is_right_reduce_scatter_block(const struct known* known, const void* send,
                                                 void* receive, int count, MPI_Datatype type,
                                                 MPI_Op op) {
  (void)known;
  return is_reduction(send, count, receive, count, type, op) &&
         (!REFUSES_ALIASES || are_apart(send, receive, count));
}
static inline bool is_right_reduce_scatter(const struct known* known, const void* send,
                                           void* receive, const int* counts, MPI_Datatype type,
                                           MPI_Op op) {
  if (NULL == counts) return false;
  int longest = 0;
  for (int rank = 0; rank < known->place.ranks; ++rank) {
    if (counts[rank] < 0) return false;
    if (counts[rank] > longest) longest = counts[rank];
  }
  return is_reduction(send, longest, receive, counts[known->place.rank], type, op) &&
         (!REFUSES_ALIASES || are_apart(send, receive, longest));
}
static inline bool is_right_reduce(const struct known* known, const void* send, void* receive,
                                   int count, MPI_Datatype type, MPI_Op op, int root) {
  if (!is_rank(known, root) || MPI_OP_NULL == op) return false;
  if (known->place.rank == root)
    return is_reduction(send, count, receive, count, type, op) && are_apart(send, receive, count);
  return is_side(send, count, type);
}
static inline bool is_right_bcast(const struct known* known, void* buffer, int count,
                                  MPI_Datatype type, int root) {
  return is_rank(known, root) && is_side(buffer, count, type);
}
static inline bool is_right_allgather(const struct known* known, const void* send, int send_count,
                                      MPI_Datatype send_type, void* receive, int receive_count,
                                      MPI_Datatype receive_type) {
  return is_move(send, send_count, send_type, receive, receive_count, receive_type,
                 known->place.rank);
}
static inline bool is_right_allgatherv(const struct known* known, const void* send, int send_count,
                                       MPI_Datatype send_type, void* receive, const int* counts,
                                       const int* displacements, MPI_Datatype receive_type) {
  if (NULL == counts || NULL == displacements) return false;
  int longest = 0;
  for (int rank = 0; rank < known->place.ranks; ++rank) {
    if (counts[rank] < 0) return false;
    if (counts[rank] > longest) longest = counts[rank];
  }
  if (!is_side(receive, longest, receive_type)) return false;
  if (MPI_IN_PLACE == send) return true;
  if (!is_side(send, send_count, send_type)) return false;
  const int own = known->place.rank;
  return 0 == send_count || 0 == counts[own] ||
         !is_own_block(send, send_type, receive, receive_type, displacements[own]);
}
static inline bool is_right_alltoall(const struct known* known, const void* send, int send_count,
                                     MPI_Datatype send_type, void* receive, int receive_count,
                                     MPI_Datatype receive_type) {
  (void)known;
  return is_move(send, send_count, send_type, receive, receive_count, receive_type, 0);
}
static inline bool is_right_gather(const struct known* known, const void* send, int send_count,
                                   MPI_Datatype send_type, void* receive, int receive_count,
                                   MPI_Datatype receive_type, int root) {
  if (!is_rank(known, root)) return false;
  if (known->place.rank == root)
    return is_move(send, send_count, send_type, receive, receive_count, receive_type, root);
  return is_side(send, send_count, send_type);
}
static inline bool is_right_scatter(const struct known* known, const void* send, int send_count,
                                    MPI_Datatype send_type, void* receive, int receive_count,
                                    MPI_Datatype receive_type, int root) {
  if (!is_rank(known, root)) return false;
  if (known->place.rank == root)
    return is_move(receive, receive_count, receive_type, send, send_count, send_type, root);
  return is_side(receive, receive_count, receive_type);
}

/* FRONT(call, parameters, arguments): without the communicator, which comes last. */
#define LIST(...) __VA_ARGS__
#define FRONT(name, parameters, arguments)                                                         \
  static int front_##name(parameters, MPI_Comm comm) {                                             \
    struct known* const known = known_of(comm);                                                    \
    if (NULL == known || !is_right_##name(known, arguments)) return library.name(arguments, comm); \
    if (!known->is_set_up) look(known);                                                            \
    if (NULL != known->place.executor) {                                                           \
      const enum colltune_outcome outcome = run_##name(&known->place, arguments);                  \
      if (COLLTUNE_LEFT != outcome) return result_of(known, outcome);                              \
    }                                                                                              \
    pass_on(known);                                                                                \
    return passed_on(known, library.name(arguments, comm));                                        \
  }
#define MOVED                                                                                 \
  const void *send, int send_count, MPI_Datatype send_type, void *receive, int receive_count, \
      MPI_Datatype receive_type
#define MOVED_ARGUMENTS send, send_count, send_type, receive, receive_count, receive_type
#define REDUCED const void *send, void *receive, int count, MPI_Datatype type, MPI_Op op
#define REDUCED_ARGUMENTS send, receive, count, type, op

FRONT(allreduce, LIST(REDUCED), LIST(REDUCED_ARGUMENTS))
FRONT(reduce_scatter_block, LIST(REDUCED), LIST(REDUCED_ARGUMENTS))
FRONT(reduce_scatter,
      LIST(const void* send, void* receive, const int* counts, MPI_Datatype type, MPI_Op op),
      LIST(send, receive, counts, type, op))
FRONT(reduce, LIST(REDUCED, int root), LIST(REDUCED_ARGUMENTS, root))
FRONT(bcast, LIST(void* buffer, int count, MPI_Datatype type, int root),
      LIST(buffer, count, type, root))
FRONT(allgather, LIST(MOVED), LIST(MOVED_ARGUMENTS))
FRONT(allgatherv,
      LIST(const void* send, int send_count, MPI_Datatype send_type, void* receive,
           const int* counts, const int* displacements, MPI_Datatype receive_type),
      LIST(send, send_count, send_type, receive, counts, displacements, receive_type))
FRONT(alltoall, LIST(MOVED), LIST(MOVED_ARGUMENTS))
FRONT(gather, LIST(MOVED, int root), LIST(MOVED_ARGUMENTS, root))
FRONT(scatter, LIST(MOVED, int root), LIST(MOVED_ARGUMENTS, root))

static enum colltune_seat seat = COLLTUNE_NO_LAUNCHER;

static bool begin(void) {
  int rank = 0;
  int ranks = 1;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (COLLTUNE_NO_LAUNCHER == seat && ranks > 1 && 0 == rank)
    colltune_say("the launcher does not tell ranks apart by PMI or PMIx");
  if (COLLTUNE_INIT_APART == seat && ranks > 1 && 0 == rank)
    colltune_say("MPI_Init does not wait for all ranks (async_mpi_init, pmix_base_async_modex)");
  if (COLLTUNE_SEATED != seat || ranks < 2) return false;
  /* Others have seen a name that is not this rank's, and would wait for it. */
  require(colltune_seat_rank() == rank, MPI_COMM_WORLD,
          "the launcher's number of a rank is not that of MPI_COMM_WORLD");
  require(MPI_SUCCESS == PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, forget, &keyval, NULL) &&
              MPI_SUCCESS == PMPI_Comm_dup(MPI_COMM_SELF, &idle) &&
              MPI_SUCCESS == PMPI_Comm_set_errhandler(idle, MPI_ERRORS_RETURN),
          MPI_COMM_WORLD, "MPI has no attribute or communicator left");
  return true;
}

static void end(void) {
  int rank = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  /* Communicators that the program did not free. */
  for (;;) {
    pthread_mutex_lock(&mutex);
    struct known* const known = all;
    pthread_mutex_unlock(&mutex);
    if (NULL == known) break;
    PMPI_Comm_delete_attr(known->place.comm, keyval);
  }
  PMPI_Comm_free_keyval(&keyval);
  PMPI_Comm_free(&idle);
  colltune_close(0 == rank);
}

static const struct colltune_front front = {
    .calls =
        {
#define NAME(mpi, own, parameters, arguments) .own = front_##own,
            COLLTUNE_CALLS(NAME)
#undef NAME
        },
    .begin = begin,
    .end = end,
    .close = colltune_leave_seat,
};

__attribute__((visibility("default"))) const struct colltune_front* colltune_front_open(
    const struct colltune_calls* calls) {
  library = *calls;
  if (!colltune_open(COLLTUNE_BUILT_FOR, colltune_now())) return NULL;
  seat = colltune_take_seat(colltune_fingerprint());
  if (COLLTUNE_NO_NAME == seat) {
    char text[256];
    snprintf(text, sizeof text, "a name that tells other ranks of this one cannot be held (%s)",
             strerror(errno));
    colltune_say(text);
  }
  return &front;
}
