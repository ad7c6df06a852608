// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/supervise/supervision_lock.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <thread>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Only a wait without a bound would be notified when a lock becomes free, so this one is polled.
constexpr auto lock_poll_interval = 20ms;

StatusCode code_of_failed_open(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return StatusCode::resource_exhausted;
    case ENOENT:
    case ENOTDIR:
      return StatusCode::failed_precondition;
    default:
      return StatusCode::permission_denied;
  }
}

/// The process that took the lock; its launch may hold the lock for longer.
std::string read_holder(const Descriptor& file) {
  std::array<char, 64> text{};
  const ssize_t length = pread(file.get(), text.data(), text.size(), 0);
  return length > 0 ? std::string(text.data(), static_cast<std::size_t>(length))
                    : std::string("a process that has not yet said its name");
}

}  // namespace

SupervisionLock::SupervisionLock(const std::filesystem::path& database,
                                 std::chrono::milliseconds patience,
                                 const std::function<void(const std::string& text)>& say) {
  const std::string path = database.string() + ".supervise-lock";
  file_ = Descriptor(open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0644));
  if (!file_) {
    const int error = errno;
    throw Error(
        code_of_failed_open(error),
        fmt::format("{}: cannot open the supervisor's lock file: {}", path, std::strerror(error)));
  }
  const auto give_up_at = Clock::now() + patience;
  bool has_said = false;
  while (flock(file_.get(), LOCK_EX | LOCK_NB) != 0) {
    const int error = errno;
    if (error == EINTR) continue;
    if (error != EWOULDBLOCK)
      throw Error(StatusCode::failed_precondition,
                  fmt::format("{}: cannot lock: {}", path, std::strerror(error)));
    if (Clock::now() >= give_up_at)
      throw Error(StatusCode::failed_precondition,
                  fmt::format("launches on {} are supervised by {}, or its launch has not ended; "
                              "wait until it ends, or use another database",
                              database.string(), read_holder(file_)));
    if (!has_said)
      say(fmt::format("waiting for the launch of {} on {} to end", read_holder(file_),
                      database.string()));
    has_said = true;
    std::this_thread::sleep_for(lock_poll_interval);
  }
  // Written only for the message to the next holder, so it does not matter if a full disk refuses
  // it. A file of another user, or one with a second name, is locked but not written.
  struct stat facts {};
  const bool is_ours = fstat(file_.get(), &facts) == 0 && S_ISREG(facts.st_mode) &&
                       facts.st_nlink == 1 && facts.st_uid == geteuid();
  const std::string text = fmt::format("process {}", getpid());
  if (is_ours && ftruncate(file_.get(), 0) == 0 &&
      pwrite(file_.get(), text.data(), text.size(), 0) < 0)
    errno = 0;
}

Descriptor SupervisionLock::hold_for_child() const {
  Descriptor hold(dup(file_.get()));  // without FD_CLOEXEC, and on the same lock
  if (!hold)
    throw Error(
        StatusCode::resource_exhausted,
        fmt::format("cannot hold the supervisor's lock for a launch: {}", std::strerror(errno)));
  return hold;
}

}  // namespace colltune
