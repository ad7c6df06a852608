// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace colltune {

/// The program that runs, as it is now: 32 hexadecimal digits. Another build may make another table
/// of the same decisions, and find other facts in it.
[[nodiscard]] std::optional<std::string> state_of_build();

/// A snapshot of a database as it is now, with what a launch asks of it: 32 hexadecimal digits.
/// A snapshot is never changed, only replaced, so this changes whenever its content does. Empty if
/// the file is not there, or so new that another one could take its place unseen.
[[nodiscard]] std::optional<std::string> state_of_snapshot(const std::filesystem::path& snapshot,
                                                           const std::string& asked);

/// Which table file in a folder was made of which state of a snapshot: reading a database, checking
/// all of it and making a table takes longer than starting a program. One small file for the last
/// 64; what it says is checked by the table's own digest, and where it is damaged or not there, the
/// table is made anew.
class KnownTables {
 public:
  explicit KnownTables(const std::filesystem::path& folder) : file_(folder / "known-tables") {}

  /// The digest of the table of `state`; empty if it is not known.
  [[nodiscard]] std::optional<std::string> find(const std::string& state) const;
  /// Where the folder takes no file, nothing is remembered, which is no error.
  void remember(const std::string& state, const std::string& digest) const;

 private:
  std::filesystem::path file_;
};

}  // namespace colltune
