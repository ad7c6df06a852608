/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* libcolltune_mpi.so: stands before the collectives of an MPI library by LD_PRELOAD. It is loaded
   into every process of a launch, shells included, so it needs libc alone; the rest is the front,
   which MPI_Init loads.

   Programs call MPI_X, and tools that stand before MPI call PMPI_X: both names are defined here. A
   tool's MPI_X comes first and calls PMPI_X; so tools see every call, and what they call below is
   ours. Open MPI's Fortran calls PMPI_X, MPICH's MPI_X: neither needs names of its own here. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bridge/first_in_process.h"
#include "calls_of_mpi.h"

#define EXPORTED __attribute__((visibility("default")))
#define FRONT_FILE "libcolltune_mpi_front.so"

/* Set while collectives may be ours: from MPI_Init to MPI_Finalize. */
static _Atomic(const struct colltune_front*) front = NULL;
/* Between the opening of the front and the end of MPI. */
static const struct colltune_front* opened = NULL;

static void say(const char* what, const char* of) { fprintf(stderr, "colltune: %s%s\n", what, of); }

/* The next definition after this one. */
static void* find(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  if (NULL != found) return found;
  /* Of a program that loads MPI itself, as an interpreter does. */
  void* const library = dlopen(COLLTUNE_MPI_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
  if (NULL != library) found = dlsym(library, name);
  if (NULL == found) {
    say(name, " was called, and " COLLTUNE_MPI_LIBRARY " is not there");
    abort();
  }
  return found;
}

/* The two definitions behind a call of ours. */
struct behind {
  const char* mpi;
  const char* pmpi;
  _Atomic(void*) library; /* PMPI_X, once it was looked for */
  _Atomic(void*) tool;    /* MPI_X; the library's if there is no tool */
};

static void* library_of(struct behind* call) {
  void* found = atomic_load_explicit(&call->library, memory_order_relaxed);
  if (NULL == found) {
    found = find(call->pmpi);
    atomic_store_explicit(&call->library, found, memory_order_relaxed);
  }
  return found;
}

/* A tool's definition of MPI_X; null if it is the library's. */
static void* tool_of(struct behind* call) {
  void* const library = library_of(call);
  void* found = atomic_load_explicit(&call->tool, memory_order_relaxed);
  if (NULL == found) {
    found = find(call->mpi);
    Dl_info one;
    Dl_info other;
    if (0 != dladdr(found, &one) && 0 != dladdr(library, &other) &&
        one.dli_fbase == other.dli_fbase)
      found = library;
    atomic_store_explicit(&call->tool, found, memory_order_relaxed);
  }
  return found == library ? NULL : found;
}

#define DEFINE(mpi, own, parameters, arguments)                                                  \
  static struct behind behind_##own = {"MPI_" #mpi, "PMPI_" #mpi, NULL, NULL};                   \
  EXPORTED int PMPI_##mpi parameters {                                                           \
    const struct colltune_front* const now = atomic_load_explicit(&front, memory_order_acquire); \
    if (NULL != now) return now->calls.own arguments;                                            \
    return ((int(*) parameters)library_of(&behind_##own))arguments;                              \
  }                                                                                              \
  EXPORTED int MPI_##mpi parameters {                                                            \
    void* const tool = tool_of(&behind_##own);                                                   \
    return NULL == tool ? PMPI_##mpi arguments : ((int(*) parameters)tool)arguments;             \
  }
COLLTUNE_CALLS(DEFINE)
#undef DEFINE

static bool is_wanted(void) {
  const char* table = getenv("COLLTUNE_TABLE");
  if (NULL == table) table = getenv("OMPI_MCA_coll_colltune_table");
  return NULL != table && '\0' != *table;
}

/* The front lies beside this library. */
static void open_front(void) {
  if (NULL != opened || !is_wanted()) return;
  void* const library = dlopen(COLLTUNE_MPI_LIBRARY, RTLD_LAZY | RTLD_NOLOAD);
  if (NULL == library) {
    say("this program does not run " COLLTUNE_MPI_LIBRARY ", for which colltune was built",
        ": the library's own collectives run");
    return;
  }
  dlclose(library);
  Dl_info own;
  char file[4096];
  if (0 == dladdr((void*)&front, &own) || NULL == own.dli_fname) return;
  const char* const slash = strrchr(own.dli_fname, '/');
  const int folder = NULL == slash ? 0 : (int)(slash + 1 - own.dli_fname);
  if (snprintf(file, sizeof file, "%.*s%s", folder, own.dli_fname, FRONT_FILE) >= (int)sizeof file)
    return;
  void* const loaded = dlopen(file, RTLD_NOW | RTLD_LOCAL);
  if (NULL == loaded) {
    say(dlerror(), ": the library's own collectives run");
    return;
  }
  colltune_front_open_function* const open =
      (colltune_front_open_function*)dlsym(loaded, COLLTUNE_FRONT_OPEN);
  const struct colltune_calls calls = {
#define FIND(mpi, own, parameters, arguments) .own = (int(*) parameters)library_of(&behind_##own),
      COLLTUNE_CALLS(FIND)
#undef FIND
  };
  if (NULL != open) opened = open(&calls);
}

EXPORTED bool colltune_preload_serves(void);
bool colltune_preload_serves(void) { return NULL != opened; }

static int initialized(int result) {
  if (NULL == opened) return result;
  if (MPI_SUCCESS == result && opened->begin()) {
    atomic_store_explicit(&front, opened, memory_order_release);
  } else {
    opened->close();
    opened = NULL;
  }
  return result;
}

#define DEFINE_ONCE(mpi, parameters, arguments, body)                                \
  static struct behind behind_##mpi = {"MPI_" #mpi, "PMPI_" #mpi, NULL, NULL};       \
  EXPORTED int PMPI_##mpi parameters {                                               \
    int(*const library) parameters = (int(*) parameters)library_of(&behind_##mpi);   \
    body                                                                             \
  }                                                                                  \
  EXPORTED int MPI_##mpi parameters {                                                \
    void* const tool = tool_of(&behind_##mpi);                                       \
    return NULL == tool ? PMPI_##mpi arguments : ((int(*) parameters)tool)arguments; \
  }

DEFINE_ONCE(Init, (int* argc, char*** argv), (argc, argv), {
  open_front();
  return initialized(library(argc, argv));
})
DEFINE_ONCE(Init_thread, (int* argc, char*** argv, int required, int* provided),
            (argc, argv, required, provided), {
              open_front();
              return initialized(library(argc, argv, required, provided));
            })
DEFINE_ONCE(Finalize, (void), (), {
  const struct colltune_front* const ending = atomic_exchange(&front, NULL);
  if (NULL != ending) ending->end();
  const int result = library();
  if (NULL != ending) ending->close();
  return result;
})
