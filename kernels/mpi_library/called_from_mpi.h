// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

#include "colltune/kernels/communicator.h"
#include "colltune/kernels/operation.h"

namespace colltune {

/// As Communicator::call_through_library.
[[nodiscard]] std::unique_ptr<Operation> call_from_mpi(const Communicator& communicator,
                                                       std::unique_ptr<Operation>& prepared,
                                                       const Call& call);

}  // namespace colltune
