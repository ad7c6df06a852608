/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */

#define _GNU_SOURCE
#include "late_bridge.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "bridge/clock.h"
#include "bridge/functions.h"
#include "bridge/launch_setting.h"
#include "colltune/collectives/program_defaults.h"

#define TEXT_OF(name) #name
#define NAME_OF(name) TEXT_OF(name)

/* Null until it is loaded and has been opened. Whoever has an executor has loaded it, or come
   behind who has. */
static const struct colltune_functions* _Atomic late = NULL;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER; /* of loading and opening */

/* Of this process, from colltune_open to colltune_close. */
static struct {
  const char* built_for;
  int64_t begun; /* ns */
  long cores;
  bool reports;
  bool has_failed;       /* to load it, or to open it */
  char fingerprint[128]; /* told during MPI_Init; empty: the library's */
} process;

static inline const struct colltune_functions* loaded(void) {
  return atomic_load_explicit(&late, memory_order_acquire);
}

static bool find_library(char* path, size_t bytes) {
  Dl_info own;
  if (0 == dladdr(&process, &own)) return false;
  const char* const slash = strrchr(own.dli_fname, '/');
  const int folder = NULL == slash ? 0 : (int)(slash + 1 - own.dli_fname);
  const int length = snprintf(path, bytes, "%.*s" COLLTUNE_BRIDGE_LIBRARY, folder, own.dli_fname);
  return length > 0 && (size_t)length < bytes;
}

static void load(void) {
  char path[4096] = COLLTUNE_BRIDGE_LIBRARY;
  void* const library =
      find_library(path, sizeof path) ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  const struct colltune_functions* const found =
      NULL == library ? NULL : dlsym(library, NAME_OF(COLLTUNE_FUNCTIONS));
  if (NULL == found) {
    const char* const why = dlerror();
    fprintf(stderr, "colltune: %s cannot be loaded: %s; the library's own collectives run\n", path,
            NULL == why ? "its path is too long" : why);
    return;
  }
  if (found->open(process.built_for, process.begun))
    atomic_store_explicit(&late, found, memory_order_release);
}

int64_t colltune_load(void) {
  pthread_mutex_lock(&mutex);
  if (NULL == loaded() && !process.has_failed) load();
  process.has_failed = NULL == loaded();
  pthread_mutex_unlock(&mutex);
  if (NULL == loaded()) return 0;
  uint64_t word = 1469598103934665603U; /* FNV-1a */
  for (const char* at = loaded()->fingerprint(); '\0' != *at; ++at)
    word = (word ^ (unsigned char)*at) * 1099511628211U;
  return (int64_t)(word >> 2U) + 1;
}

/* The build id of this component as text; false if it has none. */
static bool read_build_id(char* text, size_t bytes) {
  extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden")));
  const char* const base = (const char*)&__ehdr_start;
  const ElfW(Phdr)* const segments = (const ElfW(Phdr)*)(base + __ehdr_start.e_phoff);
  for (int i = 0; i < __ehdr_start.e_phnum; ++i) {
    if (PT_NOTE != segments[i].p_type) continue;
    const char* at = base + segments[i].p_vaddr;
    const char* const end = at + segments[i].p_memsz;
    while (at + sizeof(ElfW(Nhdr)) <= end) {
      const ElfW(Nhdr)* const note = (const ElfW(Nhdr)*)at;
      const char* const id = at + sizeof *note + (note->n_namesz + 3) / 4 * 4;
      if (NT_GNU_BUILD_ID == note->n_type) {
        if (2 * note->n_descsz + 1 > bytes) return false;
        for (unsigned byte = 0; byte < note->n_descsz; ++byte)
          sprintf(text + 2 * byte, "%02x", (unsigned)(unsigned char)id[byte]);
        return true;
      }
      at = id + (note->n_descsz + 3) / 4 * 4;
    }
  }
  return false;
}

static const char* value_of(const char* name) {
  const char* const value = colltune_launch_setting(name);
  return NULL == value ? "" : value;
}

/* Whether nothing is set but a table and a report, so that there is nothing to refuse, and the
   library runs that this was built for. */
static bool is_usual(const char* built_for) {
  static const char* const names[] = {"COLLTUNE_MEMORY", "COLLTUNE_NUMERICS", "COLLTUNE_PATIENCE"};
  for (size_t i = 0; i < sizeof names / sizeof *names; ++i)
    if ('\0' != *value_of(names[i])) return false;
  const char* const report = value_of("COLLTUNE_REPORT");
  if ('\0' != *report && 0 != strcmp(report, "0") && 0 != strcmp(report, "1")) return false;
  /* "Open MPI v4.1.4, package: …" and "Open MPI 4.1". */
  char running[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  static const char name[] = "Open MPI ";
  const size_t name_length = sizeof name - 1;
  if (MPI_SUCCESS != PMPI_Get_library_version(running, &length)) return false;
  const size_t release = strlen(built_for) - name_length;
  return 0 == strncmp(running, name, name_length) && 'v' == running[name_length] &&
         0 == strncmp(running + name_length + 1, built_for + name_length, release) &&
         '.' == running[name_length + 1 + release];
}

bool colltune_open(const char* built_for, int64_t begun) {
  if ('\0' == *value_of("COLLTUNE_TABLE")) return false;
  process.has_failed = false;
  process.built_for = built_for;
  process.begun = begun;
  process.cores = sysconf(_SC_NPROCESSORS_ONLN);
  process.reports = 0 == strcmp(value_of("COLLTUNE_REPORT"), "1");
  char path[4096];
  char id[96];
  if (is_usual(built_for) && find_library(path, sizeof path) && 0 == access(path, R_OK) &&
      read_build_id(id, sizeof id)) {
    snprintf(process.fingerprint, sizeof process.fingerprint, "component %s", id);
    return true;
  }
  process.fingerprint[0] = '\0';
  if (0 != colltune_load()) return true;
  process.reports = false;
  return false;
}

void colltune_close(bool is_first_rank) {
  const struct colltune_functions* const opened = atomic_exchange(&late, NULL);
  if (NULL != opened)
    opened->close(is_first_rank);
  else if (process.reports && is_first_rank)
    fputs("colltune: report of rank 0: " COLLTUNE_NONE_SET_UP "\n", stderr);
}

const char* colltune_fingerprint(void) {
  return '\0' != process.fingerprint[0] ? process.fingerprint : loaded()->fingerprint();
}

struct colltune_look colltune_own_look(int64_t spent, int ranks_here) {
  if (NULL != loaded()) return loaded()->own_look(spent, ranks_here);
  return colltune_look_of(
      spent, colltune_now() - process.begun,
      (struct colltune_looking){.patience = COLLTUNE_DEFAULT_PATIENCE_MS * INT64_C(1000000),
                                .share_cores = ranks_here > process.cores});
}

void colltune_say(const char* why) {
  if (0 != colltune_load()) loaded()->say(why);
}

/* The following are called behind a colltune_load that found the library. */

static inline const struct colltune_functions* of_bridge(void) {
  return atomic_load_explicit(&late, memory_order_relaxed);
}

colltune_executor* colltune_set_up(MPI_Comm comm, void (*progress)(void)) {
  return of_bridge()->set_up(comm, progress);
}
void colltune_tear_down(colltune_executor* executor) { of_bridge()->tear_down(executor); }
bool colltune_is_used(const colltune_executor* executor, enum colltune_collective collective) {
  return of_bridge()->is_used(executor, collective);
}
bool colltune_is_used_unequal(const colltune_executor* executor,
                              enum colltune_collective collective) {
  return of_bridge()->is_used_unequal(executor, collective);
}
