// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device_algorithm.h"

namespace colltune::device {

/// A kernel that does nothing. It measures a bare kernel launch, the zero line of device times. Not
/// in the catalogue.
[[nodiscard]] DeviceAlgorithm make_empty_algorithm();

}  // namespace colltune::device
