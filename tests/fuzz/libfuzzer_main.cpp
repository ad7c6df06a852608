// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "fuzz_target.h"

/// Puts the seeds into the corpus, which is the last argument.
extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  const std::filesystem::path corpus = (*argv)[*argc - 1];
  if (*argc < 2 || corpus.native().front() == '-') return 0;
  std::filesystem::create_directories(corpus);
  int number = 0;
  for (const std::string& seed : colltune::fuzz::seeds())
    std::ofstream(corpus / ("seed" + std::to_string(number++)), std::ios::binary) << seed;
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  colltune::fuzz::run({reinterpret_cast<const char*>(data), size});
  return 0;
}
