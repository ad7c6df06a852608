// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <array>

#include "colltune/flight/flight_recorder.h"

namespace colltune {

/// From now on this process is killed when its parent (mpirun, orted, slurmstepd) dies. `parent` is
/// getppid() from the beginning of main: if that parent has died since, this process ends at once.
/// Only for a process that a launcher started: one started by a shell may outlive the shell.
void end_with_parent(pid_t parent);

/// While this object lives, the rank's recorder notes how the process died, as far as the process
/// can still do so: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, or exit() in the middle. The handlers
/// that were installed before run next (Open MPI's print a stack). At most one per process; create
/// it after MPI_Init.
class CrashMarks {
 public:
  explicit CrashMarks(FlightRecorder& recorder);
  ~CrashMarks();
  CrashMarks(const CrashMarks&) = delete;
  CrashMarks& operator=(const CrashMarks&) = delete;
};

}  // namespace colltune
