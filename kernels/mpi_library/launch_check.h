// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <string>

namespace colltune {

/// Reads one environment variable; null if it is not set.
using EnvironmentReader = std::function<const char*(const char*)>;

/// If a launcher meant `world_size` == 1 rank to be one of several (n separate worlds of 1 instead
/// of one world of n): what happened and what to do, for a person. Empty if all is well.
[[nodiscard]] std::string why_separate_worlds(int world_size, const EnvironmentReader& environment);

}  // namespace colltune
