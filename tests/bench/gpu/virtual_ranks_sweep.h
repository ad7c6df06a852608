// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <vector>

#include "colltune/db/store.h"
#include "colltune/kernels/device.h"
#include "colltune/sweep/passes/sweep.h"

namespace colltune {

/// What a sweep came to, and what was published of it.
struct VirtualRanksSweep {
  SweepOutcome outcome;
  std::vector<Decision> decisions;
  Generation generation;
};

/// One sweep of `spec` by `ranks` threads of this process that share `device`, stored in `database`
/// and published, under placement shared_device. Throws the first rank's Error.
[[nodiscard]] VirtualRanksSweep sweep_virtual_ranks(Device& device, int ranks,
                                                    const SweepSpec& spec,
                                                    const std::filesystem::path& database);

}  // namespace colltune
