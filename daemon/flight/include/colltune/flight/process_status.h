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
  std::uint64_t start_ticks = 0;  ///< since boot: with the pid it names one process for good
};

/// Empty where there is no such process. Allocates nothing and takes no lock, so that it works
/// beside a thread that hangs inside the allocator.
[[nodiscard]] std::optional<ProcessStatus> read_process_status(pid_t pid) noexcept;

}  // namespace colltune
