// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace colltune {

/// Throws Error(invalid_argument) if `address` is neither "unix:/path" nor "host:port".
void check_address(const std::string& address);

}  // namespace colltune
