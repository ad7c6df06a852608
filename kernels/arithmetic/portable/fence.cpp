// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/arithmetic/copy.h"

namespace colltune {

void fence_non_temporal_stores() noexcept {}  // there are no such stores

}  // namespace colltune
