// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

namespace colltune {

/// Names of the instruction sets that this processor and operating system offer, of those that
/// kernels may dispatch on: "avx2", "avx512f", …
[[nodiscard]] std::vector<std::string> offered_isa_names();

/// The environment variable that names instruction sets which this process is to do without, by the
/// beginnings of their names, separated by commas ("avx512"). It counts from the first call that
/// dispatches on, and for detect_capability.
inline constexpr const char* hidden_isas = "COLLTUNE_WITHOUT_ISA";

/// What the process may use: offered and not hidden. Throws Error(invalid_argument) where a word of
/// the variable begins no name that is known.
[[nodiscard]] std::vector<std::string> isa_names();

}  // namespace colltune
