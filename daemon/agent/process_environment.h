// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "colltune/kernels/nccl_environment.h"
#include "colltune/vocabulary/environment.h"

namespace colltune {

/// Pins malloc's mmap and trim thresholds at glibc's start values, unless the user set them: left
/// to itself glibc moves them with every large free, so that what a process did before decides how
/// fast it is now. Called before anything else. Returns what `Environment::malloc_settings`
/// records.
[[nodiscard]] std::string pin_malloc();

/// Sets variables ("NAME=value") in the environment of this process, over what is there. Called
/// before there are threads and before a library reads them. False where all of them had these
/// values already, here or in a file that NCCL reads. Throws Error(invalid_argument) where one is
/// not set per process (why_not_set_per_process).
[[nodiscard]] bool set_variables(std::span<const std::string> variables);

/// What `Environment::variables` records, set here or in a file that NCCL reads; called before this
/// program sets any for libraries.
[[nodiscard]] std::optional<std::string> read_variables(const NcclFiles& files = find_nccl_files());

/// The environment of this process, found out from the system and, once MPI is initialized, from
/// the MPI library.
[[nodiscard]] Environment detect_environment(std::string malloc_settings,
                                             std::optional<std::string> variables);

// The parts that read files, for tests: `root` replaces "/".
[[nodiscard]] std::string read_operating_system(const std::string& root);
[[nodiscard]] std::string read_cpu_model(const std::string& root);
[[nodiscard]] std::string read_hypervisor(const std::string& root);
[[nodiscard]] std::string read_frequency_policy(const std::string& root);
/// "2x ethernet 10000 Mb/s, 1x infiniband 200 Gb/sec (4X HDR)": hardware NICs that are up, by kind
/// and speed.
[[nodiscard]] std::string read_fabric(const std::string& root);

}  // namespace colltune
