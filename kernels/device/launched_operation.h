// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <memory>

#include "colltune/kernels/communicator.h"
#include "colltune/kernels/operation.h"
#include "device_operation.h"
#include "joint_launch.h"

namespace colltune {

/// The operation of member `place` of `launch`, which was made for its `call` by `plan`.
[[nodiscard]] std::unique_ptr<Operation> make_launched_operation(
    std::shared_ptr<JointLaunch> launch, std::size_t place, const Communicator& communicator,
    const Call& call, const DevicePlan& plan);

}  // namespace colltune
