// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace colltune {

/// Width of tables without `--wide`: an ordinary terminal.
inline constexpr std::size_t narrow_table = 80;

/// A table for people: columns as wide as their widest cell, numbers aligned to the right.
class TextTable {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit TextTable(std::vector<Column> columns);
  /// Takes as many cells as there are columns.
  void add_row(std::vector<std::string> cells);
  /// The titles and the rows, each with its line end. No line is longer than `width`; 0: no limit.
  /// If the last column does not fit, it continues on the next line, broken after commas and
  /// blanks.
  [[nodiscard]] std::string text(std::size_t width = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Tables with the same columns, each under a heading that states what its rows have in common.
class HeadedTables {
 public:
  explicit HeadedTables(std::vector<TextTable::Column> columns) : columns_(std::move(columns)) {}
  void add_row(const std::string& heading, std::vector<std::string> cells);
  /// Headings are in the order of their first appearance.
  [[nodiscard]] std::string text(std::size_t width) const;

 private:
  std::vector<TextTable::Column> columns_;
  std::vector<std::pair<std::string, TextTable>> tables_;
};

/// The maximum length of a line of a table.
[[nodiscard]] constexpr std::size_t table_width(bool is_wide) { return is_wide ? 0 : narrow_table; }

}  // namespace colltune
