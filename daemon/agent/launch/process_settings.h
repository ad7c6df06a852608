// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>

#include "colltune/kernels/mpi_library/mpi_settings.h"
#include "colltune/kernels/nccl_library/nccl_environment.h"
#include "malloc_regime.h"

namespace colltune {

/// The user's settings for this process: in its environment, in files that libraries read, and in
/// objects that the loader loads first. Each text is what the corresponding field of Environment
/// records.
struct ProcessSettings {
  MallocRegime malloc = MallocRegime::grown;
  std::string malloc_settings;
  std::string mpi_transport = "default";
  std::optional<std::string> variables;
  /// All settings one by one, except those that may differ between ranks that work together.
  std::map<std::string, std::string> of_launch;
};

/// Sets variables ("NAME=value") in the environment of this process, replacing existing values.
/// Called before there are threads and before any library reads them. False if all of them had
/// these values already, here or in a file that NCCL reads. Throws Error(invalid_argument) if one
/// of them cannot be set per process (why_not_set_per_process).
[[nodiscard]] bool set_variables(std::span<const std::string> variables);

/// The settings of this process. Called before this program sets any for libraries, and after
/// prepare_malloc.
[[nodiscard]] ProcessSettings read_process_settings(MallocRegime malloc, const MpiSettings& mpi,
                                                    const NcclFiles& files = find_nccl_files());

}  // namespace colltune
