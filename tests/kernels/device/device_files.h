// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "device_code/device_algorithm.h"

namespace colltune::test {

/// Those that kernels/cuda/`file`.cu has; none where there is no such file.
[[nodiscard]] DeviceAlgorithms algorithms_of_file(std::string_view file);

}  // namespace colltune::test
