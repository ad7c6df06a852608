// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "colltune/kernels/operation.h"

namespace colltune {

/// `prepared`, which was prepared for `call`, so that its calls go through what a program's calls
/// go through: `entry` (Communicator::make_entry; may be null), then CallPath. It is bound to other
/// buffers and never rebound.
[[nodiscard]] std::unique_ptr<Operation> call_as_in_programs(std::unique_ptr<Operation> prepared,
                                                             const Call& call,
                                                             std::unique_ptr<Operation> entry);

}  // namespace colltune
