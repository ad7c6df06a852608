/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "present.h"

#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

static int held = -1;   /* the socket that has the name */
static int asking = -1; /* another one, which looks for others' names */
static int own_rank = -1;
static uint64_t launch = 0; /* the part of the name that all ranks share */

/* FNV-1a. */
static uint64_t mixed(uint64_t hash, const char* text) {
  for (; '\0' != *text; ++text) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  return (hash ^ '|') * UINT64_C(0x100000001b3);
}

/* A number that is all of the text; -1 if it is none. */
static int number_of(const char* text) {
  if (NULL == text || '\0' == *text) return -1;
  char* end = NULL;
  const long value = strtol(text, &end, 10);
  return '\0' == *end && value >= 0 && value <= INT32_MAX ? (int)value : -1;
}

/* When a process was started, in the kernel's ticks: a number that tells it from earlier ones of
   the same pid. */
static bool start_of(int pid, char* text, size_t bytes) {
  char name[64];
  char line[1024];
  snprintf(name, sizeof name, "/proc/%d/stat", pid);
  FILE* const file = fopen(name, "re");
  if (NULL == file) return false;
  const bool is_read = NULL != fgets(line, sizeof line, file);
  fclose(file);
  char* at = is_read ? strrchr(line, ')') : NULL; /* the program's name may hold anything */
  for (int field = 2; NULL != at && field < 22; ++field) {
    at = strchr(at, ' ');
    if (NULL != at) ++at;
  }
  if (NULL == at) return false;
  const int length = (int)strcspn(at, " ");
  snprintf(text, bytes, "%d.%.*s", pid, length, at);
  return true;
}

/* PMI 1 and 2: a socket pair made by the launcher's process on this host. A job that was spawned
   may have the same one, and takes no part. */
static bool find_pmi(char* text, size_t bytes) {
  const int rank = number_of(getenv("PMI_RANK"));
  const int descriptor = number_of(getenv("PMI_FD"));
  if (rank < 0 || descriptor < 0 || NULL != getenv("PMI_SPAWNED")) return false;
  struct ucred maker;
  socklen_t length = sizeof maker;
  if (0 != getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &maker, &length) || maker.pid <= 0)
    return false;
  own_rank = rank;
  return start_of(maker.pid, text, bytes);
}

static bool find_pmix(char* text, size_t bytes) {
  const int rank = number_of(getenv("PMIX_RANK"));
  const char* const space = getenv("PMIX_NAMESPACE");
  if (rank < 0 || NULL == space) return false;
  own_rank = rank;
  snprintf(text, bytes, "%s", space);
  return true;
}

static bool find_launch(char* text, size_t bytes) {
#ifdef OPEN_MPI
  return find_pmix(text, bytes) || find_pmi(text, bytes);
#else
  return find_pmi(text, bytes) || find_pmix(text, bytes);
#endif
}

/* The name of a rank: in the abstract space, which needs no file and ends with the process. */
static socklen_t name_of(int rank, struct sockaddr_un* name) {
  memset(name, 0, sizeof *name);
  name->sun_family = AF_UNIX;
  const int length = snprintf(name->sun_path + 1, sizeof name->sun_path - 1, "colltune.%016llx.%d",
                              (unsigned long long)launch, rank);
  return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
}

/* A child that goes on without another program must not keep the name. */
static void leave_in_child(void) {
  if (held >= 0) close(held);
  if (asking >= 0) close(asking);
  held = asking = -1;
}

/* Open MPI lets ranks leave MPI_Init before all have entered it, if it is told to. */
static bool may_init_apart(void) {
  static const char* const names[] = {"OMPI_MCA_async_mpi_init", "OMPI_MCA_pmix_base_async_modex"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
    const char* const value = getenv(names[i]);
    if (NULL != value && '\0' != *value && NULL == strchr("0fFnNdD", *value)) return true;
  }
  return false;
}

enum colltune_seat colltune_take_seat(const char* fingerprint) {
  char id[512];
  if (may_init_apart()) return COLLTUNE_INIT_APART;
  if (!find_launch(id, sizeof id)) return COLLTUNE_NO_LAUNCHER;
  char processes[64] = ""; /* containers may share the names, but not the numbers of processes */
  if (readlink("/proc/self/ns/pid", processes, sizeof processes - 1) < 0) processes[0] = '\0';
  char user[32];
  snprintf(user, sizeof user, "%u", (unsigned)geteuid());
  launch =
      mixed(mixed(mixed(mixed(UINT64_C(0xcbf29ce484222325), id), processes), user), fingerprint);
  held = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  asking = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  struct sockaddr_un name;
  const socklen_t length = name_of(own_rank, &name);
  if (held < 0 || asking < 0 || 0 != pthread_atfork(NULL, NULL, leave_in_child) ||
      0 != bind(held, (const struct sockaddr*)&name, length)) {
    const int why = errno;
    colltune_leave_seat();
    errno = why;
    return COLLTUNE_NO_NAME;
  }
  return COLLTUNE_SEATED;
}

int colltune_seat_rank(void) { return own_rank; }

static bool is_present(int rank) {
  struct sockaddr_un name;
  const socklen_t length = name_of(rank, &name);
  /* A socket of datagrams is connected at once: all that counts is whether somebody has the name.
   */
  return 0 == connect(asking, (const struct sockaddr*)&name, length);
}

bool colltune_are_all_present(MPI_Comm comm, int* lowest) {
  *lowest = -1;
  bool are_all = true;
  MPI_Group members = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  int ranks = 0;
  if (MPI_SUCCESS != PMPI_Comm_group(comm, &members) ||
      MPI_SUCCESS != PMPI_Comm_group(MPI_COMM_WORLD, &world) ||
      MPI_SUCCESS != PMPI_Group_size(members, &ranks))
    PMPI_Abort(comm, 1); /* others may wait for this rank */
  for (int rank = 0; rank < ranks; ++rank) {
    /* A rank of another job has no number in this world. */
    int in_world = MPI_UNDEFINED;
    if (MPI_SUCCESS != PMPI_Group_translate_ranks(members, 1, &rank, world, &in_world))
      PMPI_Abort(comm, 1);
    const bool is_there = MPI_UNDEFINED != in_world && is_present(in_world);
    if (is_there && *lowest < 0) *lowest = rank;
    are_all = are_all && is_there;
  }
  PMPI_Group_free(&members);
  PMPI_Group_free(&world);
  return are_all;
}

void colltune_leave_seat(void) {
  if (held >= 0) close(held);
  if (asking >= 0) close(asking);
  held = asking = -1;
}
