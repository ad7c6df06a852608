// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

#include "colltune/kernels/implementation.h"

namespace colltune {

/// Every implementation of this build, ordered by name. CMake generates it from the files in
/// `kernels/<device>/`: each `<name>.cpp` there defines `Implementations make_<name>()`.
[[nodiscard]] Implementations make_catalogue();

/// Those of them that need processors alone: neither a device nor a library.
[[nodiscard]] Implementations make_host_catalogue();

/// The implementation called `name`, or null.
[[nodiscard]] const Implementation* find_implementation(const Implementations& catalogue,
                                                        std::string_view name);

/// What this rank can do: its instruction sets, memory and libraries, and what each implementation
/// of the catalogue adds. Collective.
[[nodiscard]] Capability detect_capability(const Implementations& catalogue,
                                           Communicator& communicator);

}  // namespace colltune
