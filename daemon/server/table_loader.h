// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>

#include "colltune/table/decision_table.h"

namespace colltune {

/// Reads the newest generation of a database whenever its snapshot was replaced. Not thread-safe.
class TableLoader {
 public:
  /// Throws Error(failed_precondition) where neither the database nor a snapshot of it exists.
  explicit TableLoader(std::filesystem::path database);

  /// The newest generation's table if the file was replaced or written since the last call; null
  /// where it was not, or holds no generation yet. Throws what StoreReader throws for a file that
  /// cannot be read; such a file is tried again only when it has changed.
  [[nodiscard]] std::shared_ptr<const DecisionTable> load_if_changed();

  /// The file that is read: the snapshot, or the database itself where there is none (it may be a
  /// snapshot under another name).
  [[nodiscard]] std::filesystem::path file() const;

 private:
  /// What a rename or a write changes.
  struct Identity {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t modified_ns = 0;
    std::uint64_t size = 0;
    friend bool operator==(const Identity&, const Identity&) = default;
  };
  static std::optional<Identity> identify(const std::filesystem::path& file);

  std::filesystem::path database_;
  std::optional<Identity> seen_;
};

}  // namespace colltune
