// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "colltune/db/records.h"

namespace colltune {

/// The digest of the environment that a person means by `text`: a digest, the beginning of one, or
/// the name of a launch environment, of those in `digests` (that decisions name). `sweeps` say
/// which environment was launched by which name. Throws Error(not_found) that lists what there is,
/// Error(invalid_argument) where several fit.
[[nodiscard]] std::string environment_named(const std::string& text,
                                            std::span<const std::string> digests,
                                            std::span<const SweepRecord> sweeps);

}  // namespace colltune
