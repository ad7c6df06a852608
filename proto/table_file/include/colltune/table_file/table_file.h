// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "colltune/table_file/table_view.h"
#include "colltune/vocabulary/decision_set.h"

namespace colltune {

/// A table file, mapped into this process. Thread-safe. The file may be replaced by a rename
/// meanwhile, which is how `colltune export table` writes it; this object keeps the old content.
class TableFile {
 public:
  /// Throws Error(failed_precondition) that names the path if the file cannot be read, is no table
  /// file or of another version, and Error(data_loss) if it is damaged (the message says where).
  explicit TableFile(const std::filesystem::path& path);
  /// The same for bytes in memory, which it copies; `name` stands in errors.
  TableFile(std::string_view bytes, std::string name);
  ~TableFile();
  TableFile(TableFile&&) noexcept;
  TableFile& operator=(TableFile&&) noexcept;

  /// Valid as long as this object.
  [[nodiscard]] const TableView& view() const noexcept;
  [[nodiscard]] Generation generation() const;
  [[nodiscard]] std::string environment_digest() const;
  /// Of the whole content: 32 hexadecimal digits.
  [[nodiscard]] std::string digest() const;
  /// All decisions with their evidence and what they refer to, as they were written. Throws
  /// Error(data_loss) if this part of the file is damaged.
  [[nodiscard]] DecisionSet read_decisions() const;

 private:
  class Mapping;
  std::string name_;
  std::unique_ptr<const Mapping> mapping_;
  TableView view_;
};

/// TableFile::read_decisions() of a view. The errors name no file.
[[nodiscard]] DecisionSet read_decisions(const TableView& view);

/// The key of a problem (of any size) in the world `world` of a table.
[[nodiscard]] std::optional<TableView::Group> resolve(const TableView& view, const TuningKey& key,
                                                      std::string_view family);

}  // namespace colltune
