// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colltune/kernels/capability.h"
#include "colltune/kernels/communicator.h"

namespace colltune {

/// What this rank can do with processors and memory alone, found out in a few milliseconds:
/// instruction sets, cores, and whether the ranks of a node may read each other's memory. Part of
/// detect_capability(). Collective.
[[nodiscard]] Capability detect_host_capability(Communicator& communicator, Deadline deadline);

}  // namespace colltune
