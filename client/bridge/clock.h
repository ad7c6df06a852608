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

#endif
