// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <vector>

#include "colltune/kernels/communicator.h"

namespace colltune {

/// One communicator per rank for ranks that live as threads of this process: `result[r]` is used by
/// rank r's thread alone. `node_of_rank` pretends that ranks live on several nodes, which share no
/// memory; empty: one node. `abort_flag` outlives them all.
[[nodiscard]] std::vector<std::unique_ptr<Communicator>> make_thread_world(
    int ranks, AbortFlag& abort_flag, std::vector<int> node_of_rank = {});

}  // namespace colltune
