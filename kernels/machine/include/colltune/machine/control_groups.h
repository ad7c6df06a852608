// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "colltune/vocabulary/bytes.h"

namespace colltune {

/// The folders of the control group that `membership` (a `/proc/self/cgroup`) names for
/// `controller` ("memory", "cpu"), and of its ancestors, innermost first. Version 2 hierarchies are
/// mounted at `root` itself, version 1 hierarchies in a folder per controller. In a container the
/// paths may be the host's, so the list may contain folders that do not exist.
[[nodiscard]] std::vector<std::filesystem::path> control_groups(std::string_view membership,
                                                                const std::filesystem::path& root,
                                                                std::string_view controller);

/// The memory that the processes of a control group may use together.
struct MemoryLimit {
  Bytes limit;
  Bytes used;                   ///< without what the kernel could reclaim (pages of files)
  std::filesystem::path group;  ///< the folder

  [[nodiscard]] Bytes free() const {
    return {limit.value - (used.value < limit.value ? used.value : limit.value)};
  }
};

/// Of the limits of the process's group and its ancestors, in both versions, the one that leaves
/// the least memory. Empty if there is none.
[[nodiscard]] std::optional<MemoryLimit> find_memory_limit(std::string_view membership,
                                                           const std::filesystem::path& root);
/// The same for this process.
[[nodiscard]] std::optional<MemoryLimit> own_memory_limit();

/// The memory that this process can still get: limited by the system and by its control groups.
[[nodiscard]] Bytes available_memory();

/// How many processes of the control group the kernel has killed for lack of memory since the group
/// was made. Empty if the group does not count them.
[[nodiscard]] std::optional<std::uint64_t> count_memory_kills(std::string_view membership,
                                                              const std::filesystem::path& root);
/// For this process's group; if that does not count them, for the whole system; else empty.
[[nodiscard]] std::optional<std::uint64_t> own_memory_kills();

}  // namespace colltune
