// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace colltune {

/// A form in which decisions are exported: the command's help and the README are made of this.
struct ExportFormat {
  std::string_view name;      ///< of the command: `export NAME`
  std::string_view what;      ///< one sentence
  std::string_view consumer;  ///< who reads it, in which versions
  std::string_view numbers;  ///< which decisions it is made of; without any, exit 3 with the reason
  std::string_view cannot;   ///< what it cannot express
  std::string_view example;  ///< the command's arguments
  bool is_for_releases = false;    ///< takes --for
  bool is_of_environment = false;  ///< is of one environment: takes --environment
  bool is_binary = false;          ///< not for a terminal: -o is required
};

/// All of them. The only list.
[[nodiscard]] std::span<const ExportFormat> export_formats();

/// The list as a table of Markdown, for the README.
[[nodiscard]] std::string export_formats_table();
/// A format for a person: consumer, numbers, and what it cannot express.
[[nodiscard]] std::string describe(const ExportFormat& format);

}  // namespace colltune
