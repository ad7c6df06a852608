/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* Where a rank writes down the calls that it makes, for the others of its node to read (CallLog).
   In C, since a component of an MPI library writes some of them itself. */
#ifndef COLLTUNE_KERNELS_EXECUTION_CALL_LINES_H
#define COLLTUNE_KERNELS_EXECUTION_CALL_LINES_H

#include <stdint.h>

/* A rank may be some calls ahead of another: a broadcast's root waits for nobody. */
#define COLLTUNE_CALL_LINES 16

/* What is written of a call. */
struct colltune_call_entry {
  uint64_t bytes;
  /* Collective, type, operator, from the lowest byte; the root's 32 bits above; counts above that.
   */
  uint64_t kind;
};

/* One call of one rank. Its owner alone writes it. */
struct colltune_call_line {
  uint64_t number; /* of the call, from 1 on; 0 while it is written */
  uint64_t bytes;  /* and `kind`: its entry */
  uint64_t kind;
  uint64_t unused;
};

/* The lines of one rank. */
struct colltune_call_lines {
  struct colltune_call_line* first; /* of COLLTUNE_CALL_LINES */
  uint64_t calls;                   /* made so far */
};

/* The rank makes its next call. Each store is seen after the ones before it. */
static inline void colltune_write_call(struct colltune_call_lines* of,
                                       struct colltune_call_entry entry) {
  struct colltune_call_line* const line = &of->first[++of->calls % COLLTUNE_CALL_LINES];
  __atomic_store_n(&line->number, 0, __ATOMIC_RELEASE);
  __atomic_store_n(&line->bytes, entry.bytes, __ATOMIC_RELEASE);
  __atomic_store_n(&line->kind, entry.kind, __ATOMIC_RELEASE);
  __atomic_store_n(&line->number, of->calls, __ATOMIC_RELEASE);
}

#endif
