// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/json/output_file.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <optional>
#include <ostream>
#include <string>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

[[noreturn]] void fail(const std::filesystem::path& path, const std::string& why) {
  throw Error(StatusCode::failed_precondition, path.string() + " cannot be written: " + why);
}

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  [[nodiscard]] int get() const { return number_; }
  /// Returns the value of errno; some file systems report a full disk only at this point.
  int close() {
    const int result = ::close(number_);
    number_ = -1;
    return result == 0 ? 0 : errno;
  }

 private:
  int number_;
};

/// Returns the value of errno.
int write_all(int descriptor, std::string_view text, bool is_socket) {
  while (!text.empty()) {
    // A reader that closed the connection is an error here and must not end the process.
    const ssize_t written = is_socket ? ::send(descriptor, text.data(), text.size(), MSG_NOSIGNAL)
                                      : ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

std::optional<struct stat> status_of(const std::filesystem::path& path) {
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return std::nullopt;
  return status;
}

void write_to_socket(const std::filesystem::path& path, std::string_view text) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const std::string name = path.string();
  if (name.size() >= sizeof address.sun_path) fail(path, "the path of the socket is too long");
  std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
  const Descriptor descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (descriptor.get() < 0 ||
      ::connect(descriptor.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    fail(path, std::strerror(errno));
  if (const int error = write_all(descriptor.get(), text, true); error != 0)
    fail(path, std::strerror(error));
}

void write_through(const std::filesystem::path& path, std::string_view text) {
  Descriptor descriptor(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NOCTTY));
  if (descriptor.get() < 0) fail(path, std::strerror(errno));
  int error = write_all(descriptor.get(), text, false);
  if (error == 0) error = descriptor.close();
  if (error != 0) fail(path, std::strerror(error));
}

/// The target of a chain of symbolic links, which need not exist yet.
std::filesystem::path target_of(const std::filesystem::path& path) {
  constexpr int most_links = 40;  // the kernel's limit
  std::filesystem::path target = path;
  for (int i = 0; i < most_links; ++i) {
    std::error_code error;
    if (!std::filesystem::is_symlink(target, error)) return target;
    const auto next = std::filesystem::read_symlink(target, error);
    if (error) fail(path, error.message());
    target = next.is_absolute() ? next : target.parent_path() / next;
  }
  fail(path, "too many symbolic links");
}

/// Readers see the old file or the new one.
void replace_file(const std::filesystem::path& path, const std::filesystem::path& target,
                  std::string_view text, const std::optional<struct stat>& old) {
  const std::filesystem::path partial = target.string() + ".part" + std::to_string(::getpid());
  Descriptor descriptor(
      ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, old ? 0600 : 0666));
  if (descriptor.get() < 0) fail(path, std::strerror(errno));
  int error = write_all(descriptor.get(), text, false);
  if (error == 0 && old) {
    // Keeps the owner as far as this process may set it. The mode is set last, because that call
    // clears it.
    if (::fchown(descriptor.get(), old->st_uid, old->st_gid) != 0) errno = 0;
    if (::fchmod(descriptor.get(), old->st_mode & 07777) != 0) error = errno;
  }
  if (error == 0 && ::fsync(descriptor.get()) != 0 && errno != EINVAL) error = errno;
  if (const int at_end = descriptor.close(); error == 0) error = at_end;
  if (error == 0 && ::rename(partial.c_str(), target.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(partial.c_str());
  fail(path, std::strerror(error));
}

}  // namespace

bool is_written_through(const std::filesystem::path& path) {
  const auto status = status_of(path);
  return status && !S_ISREG(status->st_mode) && !S_ISDIR(status->st_mode);
}

void write_output(const std::filesystem::path& path, std::string_view text, std::ostream& out) {
  if (path == standard_output) {
    out << text;
    return;
  }
  const auto status = status_of(path);
  if (status && S_ISDIR(status->st_mode)) fail(path, "it is a folder");
  if (status && S_ISSOCK(status->st_mode)) return write_to_socket(path, text);
  if (status && !S_ISREG(status->st_mode)) return write_through(path, text);
  replace_file(path, target_of(path), text, status);
}

}  // namespace colltune
