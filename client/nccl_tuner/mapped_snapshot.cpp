// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "mapped_snapshot.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

namespace colltune::nccl {
namespace {

/// The file's bytes; empty, with the reason in errno, where it cannot be mapped. An empty file has
/// no bytes and errno 0.
std::span<const std::byte> map(const char* path) noexcept {
  // O_NONBLOCK: a path that is no file but a pipe must not hold the process up.
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return {};
  struct stat status {};
  std::span<const std::byte> bytes;
  int error = 0;
  if (fstat(file, &status) != 0) {
    error = errno;
  } else if (!S_ISREG(status.st_mode)) {
    error = EINVAL;
  } else if (status.st_size > 0) {
    const auto size = static_cast<std::size_t>(status.st_size);
    void* const memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
    if (memory == MAP_FAILED)
      error = errno;
    else
      bytes = {static_cast<const std::byte*>(memory), size};
  }
  close(file);
  errno = error;
  return bytes;
}

}  // namespace

MappedSnapshot::MappedSnapshot(const char* path) noexcept {
  errno = 0;
  bytes_ = map(path);
  if (bytes_.empty() && errno != 0) {
    const char* const known = errno == ENOENT   ? "there is no such file"
                              : errno == EACCES ? "permission denied"
                              : errno == EINVAL ? "it is no regular file"
                                                : "the system refuses";
    std::snprintf(why_not_.data(), why_not_.size(), "it cannot be read: %s (error %d)", known,
                  errno);
    return;
  }
  content_ = check_snapshot(bytes_);
  if (content_.damage == nullptr) return;
  if (content_.is_about_a_rule)
    std::snprintf(why_not_.data(), why_not_.size(), "rule %llu: %s",
                  static_cast<unsigned long long>(content_.rule), content_.damage);
  else
    std::snprintf(why_not_.data(), why_not_.size(), "%s", content_.damage);
}

MappedSnapshot::~MappedSnapshot() {
  if (!bytes_.empty()) munmap(const_cast<std::byte*>(bytes_.data()), bytes_.size());  // NOLINT
}

}  // namespace colltune::nccl
