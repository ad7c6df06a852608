// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <string>

#include "colltune/machine/descriptor.h"

namespace colltune {

/// Longer than a keeper takes to end a launch whose supervisor was killed (keeper.cpp).
constexpr std::chrono::milliseconds patience_with_earlier_launch{10'000};

/// Held by whoever supervises launches on a database, and by the keeper of each launch until its
/// processes are gone. So the same command, run again behind a kill -9, begins when what was left
/// of the earlier launch has ended, and two supervisors never take turns on one database. The
/// kernel releases it when all its holders have ended, however they ended.
class SupervisionLock {
 public:
  /// The file `<database>.supervise-lock`, which stays. `say` is told whom this waits for. Throws
  /// Error(failed_precondition), which names the holder, where it is held for longer than
  /// `patience`; Error(not_found) where there is no such folder, Error(permission_denied) where the
  /// file cannot be opened, Error(resource_exhausted) on a full disk.
  SupervisionLock(const std::filesystem::path& database, std::chrono::milliseconds patience,
                  const std::function<void(const std::string& text)>& say);

  /// Another hold on the same lock, for a process that is started with it.
  [[nodiscard]] Descriptor hold_for_child() const;

 private:
  Descriptor file_;
};

}  // namespace colltune
