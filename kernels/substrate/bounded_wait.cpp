// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/bounded_wait.h"

#include <sched.h>

#include "machine.h"

namespace colltune {
namespace {

// A pause is 15 to 45 ns on x86-64, a read of the clock about 25 ns (facts: a signal from another
// core arrives in 0.13 us): 4096 pauses are some 0.1 ms, after which nobody gains by spinning on.
constexpr std::uint32_t steps_before_yielding = 4096;
constexpr std::uint32_t steps_between_clock_reads = 64;

}  // namespace

void BoundedWait::step(int rank, std::string_view waiting_for) {
  ++steps_;
  if (abort_flag_.is_raised()) throw RankMissing(rank, std::string(waiting_for), true);
  if (steps_ % steps_between_clock_reads == 0 && std::chrono::steady_clock::now() >= deadline_)
    throw RankMissing(rank, std::string(waiting_for), false);
  if (yields_at_once_ || steps_ > steps_before_yielding)
    ::sched_yield();
  else
    relax_processor();
}

}  // namespace colltune
