// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "file_system.h"

#include <fcntl.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "colltune/vocabulary/error.h"

namespace colltune::db {
namespace {

struct KnownFileSystem {
  std::uint64_t magic;
  std::string_view name;
};
/// From linux/magic.h, statfs(2), and the sources of file systems outside the kernel. Their locks
/// or their shared memory do not work as on one host, which SQLite's WAL depends on.
constexpr std::array<KnownFileSystem, 20> network_file_systems{{
    {0x6969, "NFS"},          {0x517b, "SMB"},        {0xff534d42, "CIFS"},
    {0xfe534d42, "SMB2"},     {0x5346414f, "AFS"},    {0x6b414653, "AFS"},
    {0x73757245, "Coda"},     {0x564c, "NCP"},        {0x0bd00bd0, "Lustre"},
    {0x47504653, "GPFS"},     {0x00c36400, "Ceph"},   {0x01021997, "9p"},
    {0x65735546, "FUSE"},     {0x19830326, "BeeGFS"}, {0xaad7aaea, "PanFS"},
    {0x20030528, "OrangeFS"}, {0x7461636f, "OCFS2"},  {0x01161970, "GFS2"},
    {0x786f4256, "vboxsf"},   {0xbacbacbc, "vmhgfs"},
}};

[[noreturn]] void fail(const std::filesystem::path& path, std::string_view what) {
  const int error = errno;
  throw Error(error == ENOSPC || error == EDQUOT    ? StatusCode::resource_exhausted
              : error == ENOENT || error == ENOTDIR ? StatusCode::failed_precondition
              : error == EACCES || error == EPERM || error == EROFS ? StatusCode::permission_denied
                                                                    : StatusCode::unavailable,
              path.string() + ": " + std::string(what) + ": " + std::strerror(error));
}

void sync(const std::filesystem::path& path, int flags) {
  const int file = open(path.c_str(), flags | O_CLOEXEC);
  if (file < 0) fail(path, "cannot open to make it durable");
  const int result = fsync(file);
  const int error = errno;
  close(file);
  errno = error;
  if (result != 0) fail(path, "cannot make it durable");
}

}  // namespace

std::string_view network_file_system_name(std::uint64_t magic) {
  for (const auto& known : network_file_systems)
    if (known.magic == magic) return known.name;
  return {};
}

void refuse_network_file_system(std::uint64_t magic, const std::filesystem::path& database) {
  const std::string_view name = network_file_system_name(magic);
  if (name.empty()) return;
  throw Error(StatusCode::failed_precondition,
              database.string() + " lies on " + std::string(name) +
                  ", a network file system, where SQLite would sooner or later damage it; use a "
                  "local disk, or sweep with '--json results.jsonl' and then, on a local disk, "
                  "'colltune import results.jsonl --db FILE'");
}

void refuse_network_file_system(const std::filesystem::path& database) {
  const auto folder = real_path(database).parent_path();
  struct statfs found {};
  if (statfs(folder.c_str(), &found) != 0) fail(folder, "cannot look at the folder");
  // f_type is signed on some architectures; the magic numbers have 32 bits.
  refuse_network_file_system(static_cast<std::uint64_t>(found.f_type) & 0xffffffffU, database);
}

std::filesystem::path real_path(const std::filesystem::path& database) {
  if (database.empty())
    throw Error(StatusCode::invalid_argument, "the name of the database is empty");
  std::error_code error;
  auto path = std::filesystem::weakly_canonical(std::filesystem::absolute(database), error);
  return error ? std::filesystem::absolute(database) : path;
}

void sync_file(const std::filesystem::path& file) { sync(file, O_RDONLY); }

void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (std::rename(from.c_str(), to.c_str()) != 0) fail(to, "cannot rename");
  sync(to.parent_path(), O_RDONLY | O_DIRECTORY);
}

}  // namespace colltune::db
