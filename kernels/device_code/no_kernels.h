// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kernels.h"

namespace colltune::device {

/// A build without CUDA has no kernels.
template <class Body>
[[nodiscard]] Kernels kernels_of() {
  return {};
}

}  // namespace colltune::device
