// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "colltune/machine/descriptor.h"

namespace colltune {

/// Longer than a keeper takes to end a launch after its supervisor was killed (keeper.cpp).
constexpr std::chrono::milliseconds patience_with_earlier_launch{10'000};

/// Held by the supervisor of launches on a database, and by the keeper of each launch until the
/// launch's processes are gone. So if the same command is run again after a kill -9, it begins once
/// the rest of the earlier launch has ended, and two supervisors never alternate on one database.
/// The kernel releases the lock when all its holders have ended, however they ended.
class SupervisionLock {
 public:
  /// Locks the file `<database>.supervise-lock`, which is never removed. `say` is told which
  /// process this waits for. Throws Error(failed_precondition), which names the holder, if the lock
  /// is held for longer than `patience`; Error(not_found) if the folder does not exist;
  /// Error(permission_denied) if the file cannot be opened; Error(resource_exhausted) on a full
  /// disk.
  SupervisionLock(const std::filesystem::path& database, std::chrono::milliseconds patience,
                  const std::function<void(const std::string& text)>& say);

  /// Another descriptor of the same lock, for a child process.
  [[nodiscard]] Descriptor hold_for_child() const;

 private:
  Descriptor file_;
};

}  // namespace colltune
