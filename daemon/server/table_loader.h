// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "colltune/table/decision_table.h"

namespace colltune {

/// Reads the newest generation of a database whenever its snapshot was replaced. Not thread-safe.
class TableLoader {
 public:
  using Clock = std::chrono::steady_clock;

  /// After a failure: the first wait, doubled up to the longest.
  static constexpr std::chrono::milliseconds first_wait{250};
  static constexpr std::chrono::milliseconds longest_wait{30'000};

  /// Throws Error(failed_precondition) where neither the database nor a snapshot of it exists.
  explicit TableLoader(std::filesystem::path database);

  /// The newest generation's table if the file was replaced or written since the last call; null
  /// where it was not, or holds no generation yet. Throws what StoreReader throws for a file that
  /// cannot be read. Such a file is tried again when it has changed, and at growing intervals all
  /// the same: what was in the way (no descriptors, a mode) may be gone.
  [[nodiscard]] std::shared_ptr<const DecisionTable> load_if_changed(Clock::time_point now);

  /// Reads the file at the next call whether it has changed or not.
  void forget();

  /// Since the last success; 0: the file as it is was read.
  [[nodiscard]] int failures() const { return failures_; }
  /// Until the next attempt after a failure.
  [[nodiscard]] std::chrono::milliseconds wait() const { return wait_; }
  /// What the last table read leaves out because no reader can use it; empty: nothing.
  [[nodiscard]] const std::string& left_out() const { return left_out_; }

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
  std::shared_ptr<const DecisionTable> load(const std::filesystem::path& path);

  std::filesystem::path database_;
  std::optional<Identity> seen_;
  int failures_ = 0;
  std::chrono::milliseconds wait_{0};
  Clock::time_point next_attempt_;
  std::string left_out_;
};

}  // namespace colltune
