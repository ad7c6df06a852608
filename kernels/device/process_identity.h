// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>

namespace colltune {

/// A process of this node. Its pid alone is not unique: each container has its own pid namespace.
struct ProcessIdentity {
  std::int64_t number = 0;
  std::uint64_t number_space = 0;

  friend bool operator==(const ProcessIdentity&, const ProcessIdentity&) = default;
};

[[nodiscard]] inline ProcessIdentity own_process() {
  ProcessIdentity own{.number = ::getpid()};
  struct ::stat space {};
  if (::stat("/proc/self/ns/pid", &space) == 0) own.number_space = space.st_ino;
  return own;
}

}  // namespace colltune
