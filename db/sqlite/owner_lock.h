// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

namespace colltune::db {

/// The right to own one database: a lock on `<path>.lock` that the kernel releases when the process
/// ends, however it ends. The file says who holds it, for the message to the second one; it stays
/// behind, empty, when the lock is given back.
class OwnerLock {
 public:
  /// Throws Error(failed_precondition) that says who holds it.
  explicit OwnerLock(const std::filesystem::path& database);
  ~OwnerLock();
  OwnerLock(const OwnerLock&) = delete;
  OwnerLock& operator=(const OwnerLock&) = delete;

 private:
  int file_ = -1;
  bool is_ours_ = false;  ///< the file may be written to
};

}  // namespace colltune::db
