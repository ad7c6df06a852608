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
  int64_t spent;        /* in the communicator's collectives so far */
  int64_t spent_wanted; /* before it is set up */
  int64_t run;          /* by the process so far */
  int64_t run_wanted;
};
/* Of int64_t, in a look. */
#define COLLTUNE_LOOK_WORDS ((int)(sizeof(struct colltune_look) / sizeof(int64_t)))

/* What a process knows when it looks, in ns. */
struct colltune_looking {
  int64_t patience;
  bool share_cores;
  int64_t latest_set_up; /* what it took; 0: there was none */
  int64_t all_set_ups;
};

/* What a rank wants before a set-up; nothing without patience.
   Setting up pays once as much is saved as it takes, and winners save a third or so of what is
   spent in collectives. And nobody shall notice it in a program that ends soon: at a patience of 10
   ms all set-ups take at most a hundredth of the time that the process has run. It takes some
   milliseconds, and several times as long where ranks share cores, as is known of this process once
   it has done it. */
static inline struct colltune_look colltune_look_of(int64_t spent, int64_t run,
                                                    struct colltune_looking by) {
  const int64_t guess = by.share_cores ? 20000000 : 5000000;
  const int64_t least = by.share_cores ? 4 * by.patience : by.patience;
  const int64_t next = by.latest_set_up > 0 ? by.latest_set_up : guess;
  const double longest = 1e14; /* the sum of many ranks is no more than an int64_t, either */
  const double wanted = (double)(by.all_set_ups + next) * ((double)by.patience / 1e5);
  struct colltune_look look = {spent, 0, run, 0};
  if (by.patience == 0) return look;
  look.spent_wanted = least > 3 * by.latest_set_up ? least : 3 * by.latest_set_up;
  look.run_wanted = wanted < longest ? (int64_t)wanted : (int64_t)longest;
  return look;
}

static inline bool colltune_is_enough(struct colltune_look found) {
  return found.spent >= found.spent_wanted && found.run >= found.run_wanted;
}

/* At how many calls half of the rest is there, if they go on as before. */
static inline double colltune_calls_to_half(uint64_t calls, int64_t there, int64_t wanted) {
  if (there >= wanted) return 0;
  if (there <= 0) return 1e300;
  return (double)calls * (1 + 0.5 * ((double)wanted - (double)there) / (double)there);
}

/* The call of the next look, after one at call `calls` that did not find enough: where half of what
   is missing is there, but no sooner than at twice as many calls and no later than at eight times
   as many, since they may become longer. */
static inline uint64_t colltune_next_look(uint64_t calls, struct colltune_look found) {
  const uint64_t soonest = 2 * calls;
  const uint64_t latest = 8 * calls;
  const double by_spent = colltune_calls_to_half(calls, found.spent, found.spent_wanted);
  const double by_run = colltune_calls_to_half(calls, found.run, found.run_wanted);
  const double expected = by_spent > by_run ? by_spent : by_run;
  if (expected <= (double)soonest) return soonest;
  return expected >= (double)latest ? latest : (uint64_t)expected;
}

#endif
