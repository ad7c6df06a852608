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

/// What the user set for this process: in its environment, in files that libraries read, by what he
/// had the loader put before them. The text of each is what the field of Environment records.
struct ProcessSettings {
  MallocRegime malloc = MallocRegime::grown;
  std::string malloc_settings;
  std::string mpi_transport = "default";
  std::optional<std::string> variables;
  /// All of it one by one, but what may differ between ranks that work together.
  std::map<std::string, std::string> of_launch;
};

/// Sets variables ("NAME=value") in the environment of this process, over what is there. Called
/// before there are threads and before a library reads them. False where all of them had these
/// values already, here or in a file that NCCL reads. Throws Error(invalid_argument) where one is
/// not set per process (why_not_set_per_process).
[[nodiscard]] bool set_variables(std::span<const std::string> variables);

/// The settings of this process. Called before this program sets any for libraries, and after
/// prepare_malloc.
[[nodiscard]] ProcessSettings read_process_settings(MallocRegime malloc, const MpiSettings& mpi,
                                                    const NcclFiles& files = find_nccl_files());

}  // namespace colltune
