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

/// How a run begins, and ends.
struct StartPolicy {
  Synchronization synchronization = Synchronization::barrier;
  std::chrono::nanoseconds watch{};  ///< length of the spin windows; with windows, of the last one
  std::chrono::nanoseconds lead{};   ///< from the last rank's arrival to the common start
  StartBarrier* barrier = nullptr;   ///< null: the communicator's
  bool ends_together = false;        ///< nobody writes or compares data before all have ended
};

/// Whether runs end together: where what a rank does behind its part shows in the time of those
/// that are still in theirs. It writes a message that takes long, and much of a memory that ranks
/// share, or it has the core that another one waits for.
[[nodiscard]] bool ends_together(InputMode input_mode, Bytes message_size, bool shares_cores);

/// A run that has just begun on this rank.
struct Start {
  Deadline deadline;  ///< of its calls
  /// The common start on this rank's clock (window starts alone).
  std::chrono::steady_clock::time_point common;
  /// This rank passed the common start by more than late_tolerance (or its clock jumped).
  bool is_late = false;
};

/// The last reading before the common start lies up to one clock read before it, the timed part
/// begins with another one.
inline constexpr std::chrono::nanoseconds late_tolerance = std::chrono::nanoseconds(250);

/// What precedes the timed part of a run: the owner writes its input, the ranks come together.
/// Collective. With windows, the ranks agree on a point `lead` after the last one's arrival, and
/// each waits for it on its own clock, which it watches meanwhile. Throws RankMissing where a rank
/// does not come.
[[nodiscard]] Start start_run(Communicator& communicator, const RunInput& input,
                              const RunLimits& limits, const StartPolicy& policy,
                              const ClockOffset& clock, RunWatch& watch);

/// What follows the timed part of a run where ranks end together, before anybody's next input is
/// written or his results are compared. Collective: who had no part in the run comes as well.
/// Throws RankMissing where a rank does not come.
void end_run(Communicator& communicator, const RunLimits& limits, const StartPolicy& policy);

inline constexpr std::chrono::nanoseconds shortest_lead = std::chrono::microseconds(2);
inline constexpr std::chrono::nanoseconds longest_lead = std::chrono::microseconds(200);

/// The longest lead that helps on this communicator: some times what coming together takes there.
/// Who is late in spite of it was kept from running, which no lead cures; a long one would only
/// leave fewer runs. Collective, the same on all ranks. Throws RankMissing.
[[nodiscard]] std::chrono::nanoseconds find_longest_lead(Communicator& communicator,
                                                         Deadline deadline);

/// The next lead after a round with `late` of `runs` late runs: longer (up to `longest`) where they
/// are more than rare, slowly shorter where none was. The same on all ranks.
[[nodiscard]] std::chrono::nanoseconds adapt_lead(std::chrono::nanoseconds lead, std::int64_t runs,
                                                  std::int64_t late,
                                                  std::chrono::nanoseconds longest);

}  // namespace colltune
