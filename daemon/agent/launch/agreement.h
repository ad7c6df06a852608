// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

#include "colltune/sweep/control/control_plane.h"

namespace colltune {

/// Runs `step` on rank 0. Collective: where it throws Error, all ranks throw that Error.
void run_on_rank_zero(ControlPlane& control, const std::function<void()>& step);

/// Runs `step` on every rank. Collective: where it throws Error on some, all ranks throw the Error
/// of the lowest such rank, with the rank's number before the message.
void run_on_all_ranks(ControlPlane& control, const std::function<void()>& step);

}  // namespace colltune
