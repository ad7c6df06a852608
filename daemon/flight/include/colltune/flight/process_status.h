// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>

namespace colltune {

/// What /proc says about a process.
struct ProcessStatus {
  char state = '?';  ///< as ps shows it: R, S, D, T (stopped), Z (dead, not yet reaped), …
  pid_t parent = 0;
  std::uint64_t start_ticks = 0;  ///< since boot; together with the pid it identifies one process
                                  ///< for good
};

/// Empty if there is no such process. Allocates nothing and takes no lock, so it works while a
/// thread hangs inside the allocator.
[[nodiscard]] std::optional<ProcessStatus> read_process_status(pid_t pid) noexcept;

}  // namespace colltune
