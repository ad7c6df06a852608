// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels.h"

namespace colltune::device {

/// Of a build without CUDA: none.
template <class Body>
[[nodiscard]] Kernels kernels_of() {
  return {};
}

}  // namespace colltune::device
