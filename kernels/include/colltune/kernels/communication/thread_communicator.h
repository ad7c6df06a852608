// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "colltune/kernels/communicator.h"

namespace colltune {

/// One communicator per rank, for ranks that are threads of this process; only rank r's thread uses
/// `result[r]`. `pretended`: places of the ranks, instead of one place for all; ranks on different
/// pretended nodes share no memory. `devices`: for each rank the device where its buffers lie, if
/// any; several ranks may have the same one. `abort_flag` and the devices outlive all
/// communicators.
[[nodiscard]] std::vector<std::unique_ptr<Communicator>> make_thread_world(
    int ranks, AbortFlag& abort_flag, const RankPlaces& pretended = {},
    std::span<Device* const> devices = {});

/// The same for a program's threads: rank r waits with its own `abort_flags[r]`. `most_memory`: how
/// much symmetric memory the ranks may have on average, in all allocations together.
[[nodiscard]] std::vector<std::unique_ptr<Communicator>> make_program_threads(
    std::span<AbortFlag* const> abort_flags, Bytes most_memory);

}  // namespace colltune
