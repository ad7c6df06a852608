// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace colltune {

/// All of a file below /proc or /sys; empty if it is missing.
inline std::string read_text(const std::filesystem::path& path) {
  std::ostringstream text;
  if (const std::ifstream file(path); file) text << file.rdbuf();
  return std::move(text).str();
}

}  // namespace colltune
