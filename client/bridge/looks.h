/* SPDX-FileCopyrightText: The colltune authors */
/* SPDX-License-Identifier: Apache-2.0 */
/* When the ranks of a communicator look whether to set it up, and what they find. A look is a
   collective of its own, so a communicator of many short calls must not have many of them. */
#ifndef COLLTUNE_BRIDGE_LOOKS_H
#define COLLTUNE_BRIDGE_LOOKS_H

#include <stdbool.h>
#include <stdint.h>

/* The first look is at this of a communicator's collectives: many have only one or two. */
#define COLLTUNE_FIRST_LOOK 3

/* One rank's part of a look, in ns; added up over the ranks, it is the same on all of them. The
   sum, since a rank that waits for a late one spends time that no algorithm saves. */
struct colltune_look {
  int64_t spent;  /* in the communicator's collectives so far */
  int64_t wanted; /* before it is set up */
};

/* What a rank wants to be spent. Setting up pays once as much is saved as it takes, and winners
   save a third or so. It takes some milliseconds, and several times as long where ranks share
   cores, as is known of this process once it has done it: `latest_set_up`, 0 before. */
static inline int64_t colltune_wanted(int64_t patience, bool share_cores, int64_t latest_set_up) {
  if (patience == 0) return 0;
  const int64_t least = share_cores ? 4 * patience : patience;
  return least > 3 * latest_set_up ? least : 3 * latest_set_up;
}

/* The call of the next look, after one at call `calls` that found that not enough was spent: where
   half of the rest is spent if calls go on as before, but no sooner than at twice as many calls and
   no later than at eight times as many, since they may become longer. */
static inline uint64_t colltune_next_look(uint64_t calls, struct colltune_look found) {
  const uint64_t soonest = 2 * calls;
  const uint64_t latest = 8 * calls;
  if (found.spent <= 0) return latest;
  const double rest = (double)found.wanted - (double)found.spent;
  const double expected = (double)calls * (1 + 0.5 * rest / (double)found.spent);
  if (expected <= (double)soonest) return soonest;
  return expected >= (double)latest ? latest : (uint64_t)expected;
}

#endif
