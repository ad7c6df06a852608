// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "colltune/sweep/control/control_plane.h"

namespace colltune {

/// Runs `step` on rank 0. Collective: if it throws Error, all ranks throw that Error.
void run_on_rank_zero(ControlPlane& control, const std::function<void()>& step);

/// Runs `step` on every rank. Collective: if it throws Error on some ranks, all ranks throw the
/// Error of the lowest of them, with its number before the message.
void run_on_all_ranks(ControlPlane& control, const std::function<void()>& step);

}  // namespace colltune
