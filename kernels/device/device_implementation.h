// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colltune/kernels/implementation.h"
#include "device_code/device_algorithm.h"

namespace colltune {

/// The device algorithms as entries of the catalogue, of family "colltune". They run if the ranks'
/// buffers lie on devices (Communicator::device); several ranks may share a device.
[[nodiscard]] Implementations make_device_implementations();

/// The part of a call of `problem` that is common to all ranks.
[[nodiscard]] device::DeviceCall describe_device_call(const Problem& problem, int ranks, int root);

/// Adds what this rank's device can do and which ranks share it, or why there is none. Collective.
void detect_device(Communicator& communicator, Capability& capability);

}  // namespace colltune
