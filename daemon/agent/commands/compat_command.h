// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colltune/sweep/measure/compat.h"
#include "launch/launch_facts.h"
#include "sweep_command.h"

namespace colltune {

/// `colltune-agent sweep --compat`: times what the configuration names as `tool` would, and prints
/// the tool's table. Nothing is stored. Collective; throws the same Error on all ranks. Returns the
/// exit code: 0, or 1 where some variant failed.
[[nodiscard]] int run_compat_command(CompatTool tool, const SweepOptions& options,
                                     const AgentProcess& process);

}  // namespace colltune
