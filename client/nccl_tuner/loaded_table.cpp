// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "loaded_table.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>

namespace colltune::nccl {
namespace {

/// More than the table of any cluster.
constexpr std::size_t most_bytes = std::size_t{1} << 34;

const char* describe(int error) noexcept {
  switch (error) {
    case ENOENT:
      return "there is no such file";
    case EACCES:
      return "permission denied";
    case EINVAL:
      return "it is no regular file";
    case EFBIG:
      return "it is larger than any table";
    case ENOMEM:
      return "there is no memory for it";
    default:
      return "the system refuses";
  }
}

/// Reads until `into` is full or the file ends. Returns the number of bytes read, or -1 with errno
/// if reading failed.
ssize_t read_all(int file, std::span<std::byte> into) noexcept {
  std::size_t size = 0;
  while (size < into.size()) {
    const ssize_t more = read(file, into.data() + size, into.size() - size);
    if (more < 0 && errno == EINTR) continue;
    if (more < 0) return -1;
    if (more == 0) break;
    size += static_cast<std::size_t>(more);
  }
  return static_cast<ssize_t>(size);
}

}  // namespace

int LoadedTable::read_file(const char* path) noexcept {
  // O_NONBLOCK, because a path to a pipe instead of a file must not block the process.
  const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (file < 0) return errno;
  const auto read_open = [&]() noexcept -> int {
    struct stat status {};
    if (fstat(file, &status) != 0) return errno;
    if (!S_ISREG(status.st_mode)) return EINVAL;
    is_writable_by_all_ = (status.st_mode & S_IWOTH) != 0;
    const auto size = static_cast<std::size_t>(status.st_size);
    if (size == 0) return 0;
    if (size > most_bytes) return EFBIG;
    memory_.reset(new (std::nothrow) std::byte[size]);
    if (!memory_) return ENOMEM;
    const ssize_t found = read_all(file, {memory_.get(), size});
    if (found < 0) return errno;
    bytes_ = {memory_.get(), static_cast<std::size_t>(found)};
    return 0;
  };
  const int error = read_open();
  close(file);
  return error;
}

LoadedTable::LoadedTable(const char* path) noexcept {
  if (const int error = read_file(path); error != 0) {
    std::snprintf(why_not_.data(), why_not_.size(), "it cannot be read: %s (error %d)",
                  describe(error), error);
    return;
  }
  const TableDamage damage = TableView::read(bytes_, view_);
  if (damage.what == nullptr) return;
  if (damage.is_other_version)
    std::snprintf(why_not_.data(), why_not_.size(),
                  "it is of version %u, and versions %u to %u are read", damage.version,
                  table_file::first_version, table_file::newest_version);
  else
    std::snprintf(why_not_.data(), why_not_.size(), "%s, record %llu: %s", damage.section,
                  static_cast<unsigned long long>(damage.record), damage.what);
}

}  // namespace colltune::nccl
