// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "colltune/vocabulary/environment.h"
#include "process_settings.h"

namespace colltune {

/// The environment of this process, determined from the system and, once MPI is initialized, from
/// the MPI library.
[[nodiscard]] Environment detect_environment(const ProcessSettings& settings);

/// What is recorded of this process beside its environment.
[[nodiscard]] Provenance detect_provenance();

/// "6.1" of "6.1.0-18-amd64"; a release of another form as it is.
[[nodiscard]] std::string kernel_version(std::string_view release);

// The parts that read files, for tests: `root` replaces "/".
[[nodiscard]] std::string read_operating_system(const std::string& root);
[[nodiscard]] std::string read_cpu_model(const std::string& root);
[[nodiscard]] std::string read_hypervisor(const std::string& root);
[[nodiscard]] std::string read_frequency_policy(const std::string& root);
/// "huge_pages=madvise ptrace_scope=0 mitigations=1a2b3c4d": kernel settings that the time of calls
/// depends on, as far as they are visible.
[[nodiscard]] std::string read_kernel_settings(const std::string& root);
/// "locked_memory=64KiB": the bytes that the process may lock in memory, if it has network cards
/// with which memory is registered. Empty if it may lock any number, or has no such cards.
[[nodiscard]] std::optional<std::string> read_limits(const std::string& root,
                                                     std::uint64_t locked_memory);
/// "2x ethernet 10000 Mb/s, 1x infiniband 200 Gb/sec (4X HDR)": hardware NICs that are up, by kind
/// and speed.
[[nodiscard]] std::string read_fabric(const std::string& root);

}  // namespace colltune
