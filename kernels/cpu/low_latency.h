// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colltune/kernels/implementation.h"

namespace colltune::cpu {

/// Short messages that are their own signals, for each collective. Compositions use them inside a
/// node.
[[nodiscard]] Implementations make_low_latency();

}  // namespace colltune::cpu
