// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colltune/sweep/control/control_plane.h"
#include "colltune/sweep/plan/sweep_plan.h"

/// What `--share-gpus` is refused for: ranks that share GPUs, each a host of its own to NCCL.
namespace colltune {

/// Throws Error(failed_precondition) where ranks of a planned world have GPUs of their own: as
/// hosts of their own they would meet over the network, and their times stand under a topology that
/// they are not of.
void refuse_pretended_hosts(const SweepPlan& plan);

/// Collective: throws Error(failed_precondition) on all ranks where two have the same NCCL_HOSTID,
/// as the user's environment may give it to all: NCCL refuses a GPU that two ranks of a host share.
void refuse_alike_hosts(ControlPlane& control);

}  // namespace colltune
