// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colltune/sweep/measure/compat.h"
#include "launch/launch_facts.h"
#include "sweep_command.h"

namespace colltune {

/// `colltune-agent sweep --compat`: times what the configuration names in the way `tool` does, and
/// prints the tool's table. Stores nothing. Collective; throws the same Error on all ranks. Returns
/// the exit code: 0, or 1 if some variant failed.
[[nodiscard]] int run_compat_command(CompatTool tool, const SweepOptions& options,
                                     const AgentProcess& process);

}  // namespace colltune
