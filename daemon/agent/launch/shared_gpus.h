// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colltune/sweep/control/control_plane.h"
#include "colltune/sweep/plan/sweep_plan.h"

/// The cases in which `--share-gpus` is refused: it makes each rank a separate host to NCCL.
namespace colltune {

/// Throws Error(failed_precondition) if ranks of a planned world have GPUs of their own. As
/// separate hosts they would communicate over the network, and their times would be filed under a
/// topology that they do not have.
void refuse_pretended_hosts(const SweepPlan& plan);

/// Collective: throws Error(failed_precondition) on all ranks if two have the same NCCL_HOSTID,
/// which the user's environment may set for all. NCCL refuses a GPU that two ranks of one host
/// share.
void refuse_alike_hosts(ControlPlane& control);

}  // namespace colltune
