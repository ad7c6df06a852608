// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "owner_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <ctime>

#include "colltune/vocabulary/error.h"

namespace colltune::db {
namespace {

std::string describe_this_process() {
  std::array<char, 256> host{};
  if (gethostname(host.data(), host.size() - 1) != 0) host = {};
  const std::time_t now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  std::tm utc{};
  gmtime_r(&now, &utc);
  std::array<char, 32> since{};
  std::strftime(since.data(), since.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return "process " + std::to_string(getpid()) + " on host " + host.data() + " since " +
         since.data();
}

std::string read_holder(int file) {
  std::array<char, 512> text{};
  const ssize_t length = pread(file, text.data(), text.size(), 0);
  return length > 0 ? std::string(text.data(), static_cast<std::size_t>(length))
                    : "a process that has not yet said its name";
}

/// Whether the file was made for this purpose. Another user's file, or one with a second name, is
/// locked but not written to.
bool is_own_file(int file) {
  struct stat facts {};
  return fstat(file, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_nlink == 1 &&
         facts.st_uid == geteuid();
}

}  // namespace

OwnerLock::OwnerLock(const std::filesystem::path& database) {
  const std::string path = database.string() + ".lock";
  file_ = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644);
  if (file_ < 0) {
    const int error = errno;
    throw Error(error == ENOSPC || error == EDQUOT    ? StatusCode::resource_exhausted
                : error == ENOENT || error == ENOTDIR ? StatusCode::failed_precondition
                                                      : StatusCode::permission_denied,
                path + ": cannot open the owner's lock file: " +
                    (error == ELOOP ? "it is a symbolic link, which is not followed"
                                    : std::strerror(error)));
  }
  if (flock(file_, LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    const std::string holder = read_holder(file_);
    close(file_);
    if (error != EWOULDBLOCK)
      throw Error(StatusCode::failed_precondition, path + ": cannot lock: " + std::strerror(error));
    throw Error(StatusCode::failed_precondition,
                database.string() + " is owned by " + holder +
                    "; wait until it ends, or use another database");
  }
  // The content is only for the message; if it does not fit on a full disk, the lock still holds.
  is_ours_ = is_own_file(file_);
  if (!is_ours_) return;
  const std::string text = describe_this_process();
  if (ftruncate(file_, 0) == 0 && pwrite(file_, text.data(), text.size(), 0) < 0) errno = 0;
}

OwnerLock::~OwnerLock() {
  if (is_ours_ && ftruncate(file_, 0) != 0) errno = 0;
  close(file_);
}

}  // namespace colltune::db
