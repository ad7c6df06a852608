// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/communication/bounded_wait.h"

#include <sched.h>

#include <thread>

#include "arithmetic/processor.h"

namespace colltune {
namespace {

// A cache line arrives from another core in about 0.13 us: a wait that short should not pause.
constexpr std::uint32_t steps_before_pausing = 32;
// A pause takes 15 to 45 ns on x86-64, a read of the clock about 25 ns. 4096 pauses are about 0.1
// ms; after that, more spinning gains nothing.
constexpr std::uint32_t steps_before_yielding = 4096;
// A yield takes 0.2 us, or a peer's time slice. After this many yields the awaited rank must be
// stopped or far behind; sleeping frees the core for other work.
constexpr std::uint32_t steps_before_sleeping = steps_before_yielding + 16384;
constexpr auto sleep_between_looks = std::chrono::microseconds(50);
constexpr std::uint32_t steps_between_clock_reads = 64;
// What goes on meanwhile takes about 50 ns at a time. 64 pauses are about 2 us; a yield takes
// longer.
constexpr std::uint32_t pauses_between_turns = 64;
constexpr std::uint32_t yields_between_turns = 4;

}  // namespace

void BoundedWait::step(int rank, std::string_view waiting_for) {
  ++steps_;
  if (abort_flag_.is_raised()) throw RankMissing(rank, std::string(waiting_for), true);
  if (steps_ % steps_between_clock_reads == 0 && std::chrono::steady_clock::now() >= deadline_)
    throw RankMissing(rank, std::string(waiting_for), false);
  WhileWaiting* const besides = abort_flag_.besides();
  const bool yields = yields_at_once_ || steps_ > steps_before_yielding;
  if (besides != nullptr && steps_ > steps_before_pausing &&
      steps_ % (yields ? yields_between_turns : pauses_between_turns) == 0)
    besides->go_on();
  if (steps_ > steps_before_sleeping && besides == nullptr)
    std::this_thread::sleep_for(sleep_between_looks);
  else if (yields)
    ::sched_yield();
  else if (steps_ > steps_before_pausing)
    relax_processor();
}

}  // namespace colltune
