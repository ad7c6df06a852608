// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "device_algorithm.h"

namespace colltune::device {

/// A kernel that does nothing: what a launch takes by itself, the zero line of device times. No
/// entry of the catalogue.
[[nodiscard]] DeviceAlgorithm make_empty_algorithm();

}  // namespace colltune::device
