// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace colltune {

/// protoc's FileDescriptorSet of proto/colltune/v1. Made by description.cmake.
extern const std::string_view wire_description;

}  // namespace colltune
