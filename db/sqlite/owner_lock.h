// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace colltune::db {

/// The right to own one database: a lock on `<path>.lock`, which the kernel releases whenever and
/// however the process ends. The file says who holds it, for the message to a second owner. It
/// remains, empty, after the lock is released.
class OwnerLock {
 public:
  /// Throws Error(failed_precondition) that names the holder.
  explicit OwnerLock(const std::filesystem::path& database);
  ~OwnerLock();
  OwnerLock(const OwnerLock&) = delete;
  OwnerLock& operator=(const OwnerLock&) = delete;

 private:
  int file_ = -1;
  bool is_ours_ = false;  ///< whether the file may be written to
};

}  // namespace colltune::db
