// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

#include "colltune/sweep/clock/global_clock.h"
#include "colltune/sweep/clock/perturbation.h"
#include "colltune/sweep/clock/run_timer.h"
#include "colltune/sweep/clock/start_barrier.h"
#include "colltune/vocabulary/measurement.h"
#include "colltune/vocabulary/problem.h"

namespace colltune {

/// How a run begins and ends.
struct StartPolicy {
  Synchronization synchronization = Synchronization::barrier;
  std::chrono::nanoseconds watch{};  ///< length of spin windows; with window starts, of the last
                                     ///< one
  std::chrono::nanoseconds lead{};   ///< from the last rank's arrival to the common start
  StartBarrier* barrier = nullptr;   ///< null: use the communicator's barrier
  bool ends_together = false;        ///< no rank writes or compares data before all have ended
};

/// Whether runs end together. They do if what a rank does after its own part shows in the time of
/// ranks that are still in theirs: its writing takes long and uses much of a memory that ranks
/// share, or it occupies the core that another rank waits for.
[[nodiscard]] bool ends_together(InputMode input_mode, Bytes message_size, bool shares_cores);

/// A run that has just started on this rank.
struct Start {
  Deadline deadline;  ///< of the run's calls
  /// The common start on this rank's clock (window starts only).
  std::chrono::steady_clock::time_point common;
  /// True if this rank passed the common start by more than late_tolerance, or its clock jumped.
  bool is_late = false;
};

/// The last reading before the common start lies up to one clock read before it, and the timed part
/// begins with another read.
inline constexpr std::chrono::nanoseconds late_tolerance = std::chrono::nanoseconds(250);

/// The steps before the timed part of a run: the owner writes its input and the ranks come
/// together. Collective. With window starts they pass a barrier first: a program's calls come
/// behind others of its library, and behind none the library's own took 3 to 6 % longer in short
/// runs. Then the ranks agree on a point `lead` after the last one's arrival; each waits for that
/// point on its own clock and watches for gaps meanwhile. Throws RankMissing if a rank does not
/// arrive.
[[nodiscard]] Start start_run(Communicator& communicator, const RunInput& input,
                              const RunLimits& limits, const StartPolicy& policy,
                              const ClockOffset& clock, RunWatch& watch);

/// The step after the timed part of a run if ranks end together, before any rank's next input is
/// written or its result is compared. Collective: ranks that took no part in the run call it as
/// well. Throws RankMissing if a rank does not arrive.
void end_run(Communicator& communicator, const RunLimits& limits, const StartPolicy& policy);

inline constexpr std::chrono::nanoseconds shortest_lead = std::chrono::microseconds(2);
inline constexpr std::chrono::nanoseconds longest_lead = std::chrono::microseconds(200);

/// The longest lead that helps on this communicator: a multiple of the time that its ranks take to
/// come together. A rank that is late in spite of it was kept from running, which no lead cures; a
/// longer lead would only leave fewer runs. Collective; the same on all ranks. Throws RankMissing.
[[nodiscard]] std::chrono::nanoseconds find_longest_lead(Communicator& communicator,
                                                         Deadline deadline);

/// The lead after a round in which `late` of `runs` runs were late. It grows (up to `longest`) if
/// late runs were more than rare, and shrinks slowly if there were none. The same on all ranks.
[[nodiscard]] std::chrono::nanoseconds adapt_lead(std::chrono::nanoseconds lead, std::int64_t runs,
                                                  std::int64_t late,
                                                  std::chrono::nanoseconds longest);

}  // namespace colltune
