// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/supervise/rank_guard.h"

#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

constexpr std::array faults{SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

// A signal handler takes no argument of ours, so it reaches these two as globals.
std::atomic<FlightRecorder*> marked_recorder{nullptr};
std::array<struct sigaction, faults.size()> previous_actions;

void mark_fault(int signal, siginfo_t* info, void* /*context*/) {
  if (FlightRecorder* recorder = marked_recorder.load(std::memory_order_acquire))
    recorder->mark(Fate::signalled, signal);
  for (std::size_t i = 0; i < faults.size(); ++i)
    if (faults[i] == signal) sigaction(signal, &previous_actions[i], nullptr);
  // A faulting instruction faults again on return; a signal that was sent must be sent again.
  if (info->si_code <= 0) raise(signal);
}

void mark_exit() {
  if (FlightRecorder* recorder = marked_recorder.load(std::memory_order_acquire))
    recorder->mark(Fate::exited);
}

}  // namespace

void end_with_parent(pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  if (getppid() != parent) raise(SIGKILL);
}

CrashMarks::CrashMarks(FlightRecorder& recorder) {
  FlightRecorder* none = nullptr;
  if (!marked_recorder.compare_exchange_strong(none, &recorder))
    throw Error(StatusCode::failed_precondition, "crash marks are installed already");
  static const int registered = std::atexit(mark_exit);
  if (registered != 0)
    throw Error(StatusCode::resource_exhausted, "atexit takes no further function");
  struct sigaction action {};
  action.sa_sigaction = mark_fault;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  for (std::size_t i = 0; i < faults.size(); ++i)
    sigaction(faults[i], &action, &previous_actions[i]);
}

CrashMarks::~CrashMarks() {
  for (std::size_t i = 0; i < faults.size(); ++i) {
    struct sigaction current {};
    sigaction(faults[i], nullptr, &current);
    // A handler that was installed later is left in place.
    if (current.sa_sigaction == mark_fault) sigaction(faults[i], &previous_actions[i], nullptr);
  }
  marked_recorder.store(nullptr, std::memory_order_release);
}

}  // namespace colltune
