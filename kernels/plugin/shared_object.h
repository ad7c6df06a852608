// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

namespace colltune {

/// A loaded shared object, unloaded with this object. Immutable and thread-safe.
class SharedObject {
 public:
  /// Loads `path` with all its symbols resolved, and makes none of them visible to other objects.
  /// Throws Error that names the file: not_found, invalid_argument (not a shared object),
  /// failed_precondition (the loader's reason).
  explicit SharedObject(const std::filesystem::path& path);

  /// The address of an exported symbol, or null.
  [[nodiscard]] void* find(const char* symbol) const noexcept;

 private:
  struct Closer {
    void operator()(void* handle) const noexcept;
  };
  std::unique_ptr<void, Closer> handle_;
};

}  // namespace colltune
