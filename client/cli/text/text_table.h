// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace colltune {

/// How wide tables are where `--wide` does not say otherwise: an ordinary terminal.
inline constexpr std::size_t narrow_table = 80;

/// A table for people: columns as wide as their widest cell, numbers to the right.
class TextTable {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit TextTable(std::vector<Column> columns);
  /// As many cells as there are columns.
  void add_row(std::vector<std::string> cells);
  /// The titles and the rows, each with its line end. `width` is the most that a line takes; 0: no
  /// limit. What does not fit of the last column goes on below, broken behind commas and blanks.
  [[nodiscard]] std::string text(std::size_t width = 0) const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

/// Tables of the same columns, each under a line that says what its rows have in common.
class HeadedTables {
 public:
  explicit HeadedTables(std::vector<TextTable::Column> columns) : columns_(std::move(columns)) {}
  void add_row(const std::string& heading, std::vector<std::string> cells);
  /// Headings in the order in which they came first.
  [[nodiscard]] std::string text(std::size_t width) const;

 private:
  std::vector<TextTable::Column> columns_;
  std::vector<std::pair<std::string, TextTable>> tables_;
};

/// The most that a line of a table takes.
[[nodiscard]] constexpr std::size_t table_width(bool is_wide) { return is_wide ? 0 : narrow_table; }

}  // namespace colltune
