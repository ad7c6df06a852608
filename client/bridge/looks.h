/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* When the ranks of a communicator look whether to set it up. A look is a collective of its own, so
   a communicator of many short calls must not have many of them. */
#ifndef COLLTUNE_BRIDGE_LOOKS_H
#define COLLTUNE_BRIDGE_LOOKS_H

#include <stdint.h>

/* The first look is at this of a communicator's collectives: many have only one or two. */
#define COLLTUNE_FIRST_LOOK 3

/* The call of the next look, after one at call `calls` that found that the slowest rank had spent
   `longest` ns of `patience` ns: where half of the rest is spent if calls go on as before, but no
   sooner than at twice as many calls and no later than at eight times as many, since they may become
   longer. Of what is equal on all ranks alone. */
static inline uint64_t colltune_next_look(uint64_t calls, int64_t longest, int64_t patience) {
  const uint64_t soonest = 2 * calls;
  const uint64_t latest = 8 * calls;
  if (longest <= 0) return latest;
  const double expected =
      (double)calls * (1 + 0.5 * ((double)patience - (double)longest) / (double)longest);
  if (expected <= (double)soonest) return soonest;
  return expected >= (double)latest ? latest : (uint64_t)expected;
}

#endif
