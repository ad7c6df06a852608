// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "colltune/db/records.h"

namespace colltune {

/// The digest that a person means by `text`: a digest, the prefix of one, or the name of a launch
/// environment. It must be one of `digests`, those that decisions name. `sweeps` tell which
/// environment was launched under which name. Throws Error(not_found) that lists the available
/// ones, and Error(invalid_argument) if several match.
[[nodiscard]] std::string environment_named(const std::string& text,
                                            std::span<const std::string> digests,
                                            std::span<const SweepRecord> sweeps);

}  // namespace colltune
