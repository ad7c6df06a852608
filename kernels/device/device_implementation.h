// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "colltune/kernels/implementation.h"
#include "device_code/device_algorithm.h"

namespace colltune {

/// The device algorithms as entries of the catalogue, of family "colltune". They run if the ranks'
/// buffers lie on devices (Communicator::device); several ranks may share a device.
[[nodiscard]] Implementations make_device_implementations();

/// The part of a call of `problem` that is common to all ranks.
[[nodiscard]] device::DeviceCall describe_device_call(const Problem& problem, int ranks, int root);

/// Whether a body that combines has a kernel for such a problem alone. NVLink's switches add up no
/// other ones.
[[nodiscard]] bool has_typed_kernel(const Problem& problem);
inline constexpr std::string_view why_not_summed = "the switches add up f32, f16 and bf16 alone";

/// Adds what this rank's device can do and which ranks share it, or why there is none. Collective.
void detect_device(Communicator& communicator, Capability& capability);

}  // namespace colltune
