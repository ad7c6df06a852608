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

/// What the ranks of a communicator agree on before they call NCCL. All functions are collective.
namespace colltune::nccl {

/// Ranks with one common deadline come to their votes at most this far apart.
inline constexpr std::chrono::seconds vote_time{5};

/// Runs an action that may fail on some ranks only. If it threw on one rank, all throw: that rank
/// its own Error, the others an error that names it. `what` completes a message that begins with
/// "rank 3 ".
void act_together(Communicator& communicator, std::string_view what,
                  const std::function<void()>& act, Deadline deadline);

/// Throws Error(failed_precondition) on all ranks unless `own` is the same on all of them. `what`
/// completes "the ranks differ in ".
void require_alike(Communicator& communicator, std::string_view what, std::string_view own,
                   Deadline deadline);

/// Returns rank 0's id on all ranks.
[[nodiscard]] UniqueId share_id(Communicator& communicator, const UniqueId& of_first,
                                Deadline deadline);

/// The first rank for which `holds` is true; -1: none.
[[nodiscard]] int first_rank_where(Communicator& communicator, bool holds, Deadline deadline);

}  // namespace colltune::nccl
