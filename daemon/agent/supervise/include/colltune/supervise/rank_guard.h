// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <array>

#include "colltune/flight/flight_recorder.h"

namespace colltune {

/// From now on this process is killed when its parent (mpirun, orted, slurmstepd) dies. `parent` is
/// getppid() as it was at the beginning of main: a parent that died since then ends the process at
/// once. Only for a process that a launcher started: one that a shell started may outlive it.
void end_with_parent(pid_t parent);

/// While it lives, the rank's recorder says how the process died where the process can still say
/// it: SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, or exit() in the middle. Then the handlers that
/// were there before (Open MPI's print a stack) have their turn. At most one per process; installed
/// after MPI_Init.
class CrashMarks {
 public:
  explicit CrashMarks(FlightRecorder& recorder);
  ~CrashMarks();
  CrashMarks(const CrashMarks&) = delete;
  CrashMarks& operator=(const CrashMarks&) = delete;
};

}  // namespace colltune
