// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "colltune/kernels/communicator.h"

namespace colltune {

/// One communicator per rank for ranks that live as threads of this process: `result[r]` is used by
/// rank r's thread alone. `pretended`: where the ranks live instead of all in one place; those of
/// different nodes share no memory. `devices`: of each rank, where their buffers lie on some;
/// several may have the same one. `abort_flag` and the devices outlive them all.
[[nodiscard]] std::vector<std::unique_ptr<Communicator>> make_thread_world(
    int ranks, AbortFlag& abort_flag, const RankPlaces& pretended = {},
    std::span<Device* const> devices = {});

}  // namespace colltune
