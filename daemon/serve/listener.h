// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "colltune/serve/listen_address.h"

namespace colltune {

/// What the system calls an errno.
[[nodiscard]] std::string errno_text(int number);

/// A descriptor that closes itself.
class FileDescriptor {
 public:
  explicit FileDescriptor(int descriptor = -1) : descriptor_(descriptor) {}
  ~FileDescriptor() { reset(); }
  FileDescriptor(FileDescriptor&& other) noexcept : descriptor_(other.release()) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this == &other) return *this;
    reset();
    descriptor_ = other.release();
    return *this;
  }
  [[nodiscard]] int get() const { return descriptor_; }
  int release() {
    const int held = descriptor_;
    descriptor_ = -1;
    return held;
  }
  void reset();

 private:
  int descriptor_;
};

/// A locked file, removed at the end while it is locked still: whoever opened it meanwhile sees
/// that it is gone, and makes another.
class LockFile {
 public:
  LockFile() = default;
  LockFile(std::filesystem::path path, FileDescriptor locked)
      : path_(std::move(path)), locked_(std::move(locked)) {}
  ~LockFile();
  LockFile(LockFile&&) noexcept = default;
  LockFile& operator=(LockFile&&) noexcept = default;
  [[nodiscard]] bool is_held() const { return locked_.get() >= 0; }

 private:
  std::filesystem::path path_;
  FileDescriptor locked_;
};

/// The listening sockets of one address. A Unix socket is its own from the bind on: a lock file
/// beside it ("a.sock.lock") keeps every other daemon off while this one lives, and only the very
/// socket that it bound is removed at the end.
class Listener {
 public:
  /// Listens. Throws Error(already_exists) where someone else does, Error(failed_precondition)
  /// where the address cannot be bound for another reason: the path is something else than a
  /// socket, its folder is missing or not writable, the host is not this one.
  explicit Listener(const ListenAddress& address);
  ~Listener();
  Listener(Listener&&) noexcept = default;
  Listener& operator=(Listener&&) = delete;

  /// With the port that the system chose.
  [[nodiscard]] const ListenAddress& address() const { return address_; }
  /// Non-blocking; a host name may stand for several.
  [[nodiscard]] const std::vector<FileDescriptor>& sockets() const { return sockets_; }

 private:
  void listen_unix();
  void listen_tcp();
  void lock();

  ListenAddress address_;
  std::vector<FileDescriptor> sockets_;
  LockFile lock_;
  dev_t device_ = 0;  ///< of the socket's file
  ino_t inode_ = 0;
};

}  // namespace colltune
