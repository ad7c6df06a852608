/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
#ifndef COLLTUNE_BRIDGE_CLOCK_H
#define COLLTUNE_BRIDGE_CLOCK_H

#include <stdint.h>
#include <time.h>

/* Nanoseconds since some time in the past. */
static inline int64_t colltune_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000000 + (int64_t)time.tv_nsec;
}

/* The time that calls took, from some of them. Two readings of the clock take 50 ns, a tenth of a
   short call: of many calls one of a prime number is timed, so that no period of a program meets
   them. */
struct colltune_spending {
  int64_t spent;  /* ns */
  int64_t begun;  /* the latest call that is timed */
  int64_t weight; /* how many calls it stands for; 0: the latest one is not timed */
};

/* A call begins, the `number`th, from 1 on. */
static inline void colltune_call_begins(struct colltune_spending* of, uint64_t number) {
  of->weight = number <= 64 ? 1 : number % 17 == 0 ? 17 : 0;
  if (of->weight != 0) of->begun = colltune_now();
}
static inline void colltune_call_ends(struct colltune_spending* of) {
  if (of->weight != 0) of->spent += of->weight * (colltune_now() - of->begun);
}

#endif
