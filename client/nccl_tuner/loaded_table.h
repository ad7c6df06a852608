// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>

#include "colltune/table_file/table_view.h"

namespace colltune::nccl {

/// A table file, read into memory and checked. It is not mapped: if another process writes to
/// the file meanwhile, the bytes read have another digest and are refused, and this process does
/// not crash.
class LoadedTable {
 public:
  explicit LoadedTable(const char* path) noexcept;
  LoadedTable(const LoadedTable&) = delete;
  LoadedTable& operator=(const LoadedTable&) = delete;
  ~LoadedTable() = default;

  /// Empty if the table is intact, else why it cannot be used.
  [[nodiscard]] const char* why_not() const noexcept { return why_not_.data(); }
  [[nodiscard]] const TableView& view() const noexcept { return view_; }
  /// Whether every user of the machine may change the file.
  [[nodiscard]] bool is_writable_by_all() const noexcept { return is_writable_by_all_; }

 private:
  /// Returns 0, or the errno with which reading failed.
  [[nodiscard]] int read_file(const char* path) noexcept;

  std::unique_ptr<std::byte[]> memory_;
  std::span<const std::byte> bytes_;
  bool is_writable_by_all_ = false;
  TableView view_;
  std::array<char, 160> why_not_{};
};

}  // namespace colltune::nccl
