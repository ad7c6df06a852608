// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
//
// Preloaded into all programs of a host (its /etc/ld.so.preload), it sets that host's wall clock off by the seconds that
// /etc/clock-offset says. Its monotonic clock goes on as it is.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static long offset;
static int (*next_clock_gettime)(clockid_t, struct timespec*);

__attribute__((constructor)) static void begin(void) {
  next_clock_gettime = (int (*)(clockid_t, struct timespec*))dlsym(RTLD_NEXT, "clock_gettime");
  FILE* const file = fopen("/etc/clock-offset", "re");
  if (file == NULL) return;
  if (fscanf(file, "%ld", &offset) != 1) offset = 0;
  fclose(file);
}

int clock_gettime(clockid_t clock, struct timespec* now) {
  const int code = next_clock_gettime != NULL ? next_clock_gettime(clock, now)
                                              : (int)syscall(SYS_clock_gettime, clock, now);
  if (code == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
    now->tv_sec += offset;
  return code;
}

int gettimeofday(struct timeval* restrict now, void* restrict zone) {
  (void)zone;
  struct timespec exact;
  const int code = clock_gettime(CLOCK_REALTIME, &exact);
  now->tv_sec = exact.tv_sec;
  now->tv_usec = exact.tv_nsec / 1000;
  return code;
}

time_t time(time_t* seconds) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (seconds != NULL) *seconds = now.tv_sec;
  return now.tv_sec;
}
