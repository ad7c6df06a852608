// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>
#include <vector>

/// What a fuzzer is built of: one file with these two functions, and libfuzzer_main.cpp (clang's
/// libFuzzer) or random_main.cpp (any compiler).
namespace colltune::fuzz {

/// Sound inputs, from which others are made.
[[nodiscard]] std::vector<std::string> seeds();

/// Gives `input` to what is tested. Error is what is expected of bad input; anything else that is
/// thrown, and every fault that a sanitizer sees, ends the process.
void run(std::string_view input);

}  // namespace colltune::fuzz
