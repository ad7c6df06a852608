// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colltune/kernels/implementation.h"
#include "device_code/device_algorithm.h"

namespace colltune {

/// The device algorithms as entries of the catalogue: family "colltune". They run where the ranks'
/// buffers lie on devices (Communicator::device), several ranks on one of them too.
[[nodiscard]] Implementations make_device_implementations();

/// What all ranks' calls of `problem` have in common.
[[nodiscard]] device::DeviceCall describe_device_call(const Problem& problem, int ranks, int root);

/// Adds what the device of this rank can do, and who shares it; where there is none, why.
/// Collective.
void detect_device(Communicator& communicator, Capability& capability);

}  // namespace colltune
