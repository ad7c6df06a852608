// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "text_table.h"

#include <algorithm>
#include <cassert>
#include <string_view>

#include "colltune/vocabulary/printable.h"

namespace colltune {

TextTable::TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {
  std::vector<std::string> titles;
  for (const auto& column : columns_) titles.push_back(column.title);
  rows_.push_back(std::move(titles));
}

void TextTable::add_row(std::vector<std::string> cells) {
  assert(cells.size() == columns_.size());
  // A cell is part of one line: text from a file must not look like another row.
  for (std::string& cell : cells) cell = printable(cell, LineEnds::escape);
  rows_.push_back(std::move(cells));
}

namespace {

/// `text` in lines of at most `width`, broken after a comma, a blank or a brace if possible.
std::vector<std::string> broken(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  while (text.size() > width) {
    std::size_t end = text.substr(0, width).find_last_of(", {;:");
    end = end == std::string_view::npos || end < width / 3 ? width : end + 1;
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(end);
  }
  lines.emplace_back(text);
  return lines;
}

std::string without_trailing_blanks(std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  return line + '\n';
}

}  // namespace

std::string TextTable::text(std::size_t width) const {
  constexpr std::size_t least_room = 20;  // for the last column next to the others
  constexpr std::size_t indent = 4;       // of a cell that is put on its own line
  std::vector<std::size_t> widths(columns_.size(), 0);
  for (const auto& row : rows_)
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  const std::size_t last = columns_.size() - 1;
  std::size_t before = 0;  // columns before the last one
  for (std::size_t i = 0; i < last; ++i) before += widths[i] + 2;
  const bool is_beside = width == 0 || before + least_room <= width;
  const std::size_t start = is_beside ? before : indent;
  std::string out;
  for (const auto& row : rows_) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      const bool wraps = i == last && width > 0;
      const std::string padding(wraps ? 0 : widths[i] - row[i].size(), ' ');
      if (i > 0) line += "  ";
      if (!wraps) {
        line += columns_[i].align == Align::right ? padding + row[i] : row[i] + padding;
        continue;
      }
      bool is_first = is_beside;
      for (const std::string& part : broken(row[i], width - start)) {
        if (!is_first) {
          out += without_trailing_blanks(std::move(line));
          line = std::string(start, ' ');
        }
        line += part;
        is_first = false;
      }
    }
    out += without_trailing_blanks(std::move(line));
  }
  return out;
}

void HeadedTables::add_row(const std::string& heading, std::vector<std::string> cells) {
  auto found = std::ranges::find(tables_, heading, &std::pair<std::string, TextTable>::first);
  if (found == tables_.end()) found = tables_.emplace(tables_.end(), heading, TextTable(columns_));
  found->second.add_row(std::move(cells));
}

std::string HeadedTables::text(std::size_t width) const {
  std::string out;
  for (const auto& [heading, table] : tables_) {
    if (!out.empty()) out += '\n';
    for (const std::string& line : width == 0 ? std::vector{heading} : broken(heading, width))
      out += without_trailing_blanks(line);
    out += table.text(width);
  }
  return out.empty() ? TextTable(columns_).text(width) : out;
}

}  // namespace colltune
