// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "colltune/kernels/communicator.h"

/// A communicator between processes that one program started: they share one file in memory, and
/// need neither MPI nor a network. For programs that show what takes processes of their own; it has
/// neither messages of any length nor peers' buffers.
namespace colltune {

/// Ranks of one launch at most.
inline constexpr int most_processes = 8;

/// The file that the ranks share, to be made before they start and handed to them as an open
/// descriptor, which the caller closes. Throws Error(resource_exhausted).
[[nodiscard]] int make_process_arena();

/// The communicator of `rank` among `ranks` over the file behind `arena`. `abort_flag` and `device`
/// outlive it.
[[nodiscard]] std::unique_ptr<Communicator> join_processes(int arena, int rank, int ranks,
                                                           AbortFlag& abort_flag, Device* device);

}  // namespace colltune
