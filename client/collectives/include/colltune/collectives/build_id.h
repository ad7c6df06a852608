// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace colltune {

/// Names the code of the shared object or program that this is linked into: equal exactly for the
/// same link. Throws Error(failed_precondition) if it has no build id.
[[nodiscard]] std::string own_build_id();

}  // namespace colltune
