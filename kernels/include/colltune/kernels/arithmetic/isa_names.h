// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace colltune {

/// Names of the instruction sets that both the processor and the operating system support, among
/// those that kernels can dispatch on: "avx2", "avx512f", …
[[nodiscard]] std::vector<std::string> offered_isa_names();

/// The environment variable that lists instruction sets which this process must not use: prefixes
/// of their names, separated by commas ("avx512"). Read at the first call that dispatches, and by
/// detect_capability.
inline constexpr const char* hidden_isas = "COLLTUNE_WITHOUT_ISA";

/// The instruction sets that the process may use: offered and not hidden. Throws
/// Error(invalid_argument) if a word of the variable is not a prefix of any known name.
[[nodiscard]] std::vector<std::string> isa_names();

}  // namespace colltune
