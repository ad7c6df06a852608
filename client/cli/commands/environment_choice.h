// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "source/origin.h"

namespace colltune {

/// The digest of the environment that `text` means (environment_named), of those that the decisions
/// of `origin` name. Names of launch environments are known where it is a database.
[[nodiscard]] std::string choose_environment(const Origin& origin, const std::string& text);

}  // namespace colltune
