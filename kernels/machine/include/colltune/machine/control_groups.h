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
/// `controller` ("memory", "cpu"), and of those around it, innermost first: of version 2 where
/// hierarchies are mounted at `root` alone, of version 1 in a folder of the controller's. In a
/// container the paths may be the host's: folders that are not there are listed all the same.
[[nodiscard]] std::vector<std::filesystem::path> control_groups(std::string_view membership,
                                                                const std::filesystem::path& root,
                                                                std::string_view controller);

/// The memory that a control group allows its processes together.
struct MemoryLimit {
  Bytes limit;
  Bytes used;                   ///< without what the kernel would give back (files' pages)
  std::filesystem::path group;  ///< the folder

  [[nodiscard]] Bytes free() const {
    return {limit.value - (used.value < limit.value ? used.value : limit.value)};
  }
};

/// The limit that leaves the least, of the process's group and those around it, in both versions.
/// Empty where there is none.
[[nodiscard]] std::optional<MemoryLimit> find_memory_limit(std::string_view membership,
                                                           const std::filesystem::path& root);
/// Of this process.
[[nodiscard]] std::optional<MemoryLimit> own_memory_limit();

/// What this process can still get: what the system has, and what its control groups leave.
[[nodiscard]] Bytes available_memory();

/// How many processes of the control group were killed since it was made because memory ran out.
/// Empty where it does not count them.
[[nodiscard]] std::optional<std::uint64_t> count_memory_kills(std::string_view membership,
                                                              const std::filesystem::path& root);
/// Of this process's group; where that does not count them, of the whole system; else empty.
[[nodiscard]] std::optional<std::uint64_t> own_memory_kills();

}  // namespace colltune
