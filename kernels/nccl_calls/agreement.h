// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "colltune/kernels/communicator.h"
#include "colltune/nccl/library_abi.h"

/// What the ranks of a communicator settle with each other before they call NCCL. All calls are
/// collective.
namespace colltune::nccl {

/// How far apart ranks come to their votes that were given one deadline.
inline constexpr std::chrono::seconds vote_time{5};

/// Runs what may fail on some ranks alone; all ranks throw where it threw on one: that rank its own
/// Error, the others that it did, and who. `what` reads on after "rank 3 ".
void act_together(Communicator& communicator, std::string_view what,
                  const std::function<void()>& act, Deadline deadline);

/// Throws Error(failed_precondition) on all ranks where `own` is not the same on all of them.
/// `what` reads on after "the ranks differ in ".
void require_alike(Communicator& communicator, std::string_view what, std::string_view own,
                   Deadline deadline);

/// Rank 0's, on all ranks.
[[nodiscard]] UniqueId share_id(Communicator& communicator, const UniqueId& of_first,
                                Deadline deadline);

/// The first rank for which `holds` is true; -1 where there is none.
[[nodiscard]] int first_rank_where(Communicator& communicator, bool holds, Deadline deadline);

}  // namespace colltune::nccl
