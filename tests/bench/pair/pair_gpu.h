// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>

#include "colltune/kernels/device.h"

/// The one GPU that both processes use: CUDA's, or, in tests, one that is pretended.
namespace colltune {

/// Why there is none, for a person; empty: there is one.
[[nodiscard]] std::string why_no_pair_gpu();
/// Throws Error(failed_precondition) where it cannot be used.
[[nodiscard]] std::unique_ptr<Device> open_pair_gpu();

}  // namespace colltune
