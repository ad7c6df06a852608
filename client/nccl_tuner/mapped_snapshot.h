// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <span>

#include "colltune/nccl_tuner/snapshot_layout.h"

namespace colltune::nccl {

/// A snapshot's file in memory, checked. Who publishes one renames it into place and never writes
/// into it: a file that is cut short while it is mapped kills the process.
class MappedSnapshot {
 public:
  explicit MappedSnapshot(const char* path) noexcept;
  MappedSnapshot(const MappedSnapshot&) = delete;
  MappedSnapshot& operator=(const MappedSnapshot&) = delete;
  ~MappedSnapshot();

  /// Empty where the snapshot is whole, else why it cannot be used.
  [[nodiscard]] const char* why_not() const noexcept { return why_not_.data(); }
  [[nodiscard]] const CheckedSnapshot& content() const noexcept { return content_; }

 private:
  std::span<const std::byte> bytes_;
  CheckedSnapshot content_;
  std::array<char, 160> why_not_{};
};

}  // namespace colltune::nccl
