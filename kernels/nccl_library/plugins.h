// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "colltune/kernels/nccl_library/nccl_environment.h"

namespace colltune::nccl {

// Which plug-ins NCCL opens, by its plugin_open.cc, tuner.cc, profiler.cc and net.cc. A kind is
// "tuner", "profiler" or "net".

/// Whether a variable that names a plug-in says that none is wanted.
[[nodiscard]] bool is_none(const std::string& plugin);
/// The file, as dlopen takes it, of a plug-in that a variable names.
[[nodiscard]] std::string plugin_file(const std::string& kind, const std::string& plugin);

/// The files in which NCCL looks for a tuner or a profiler that no variable names, in turns.
[[nodiscard]] std::vector<std::string> default_plugins(const std::string& kind,
                                                       const NcclVariables& environment);
/// That of `files` which NCCL takes: the first that opens, where it has a tuner or profiler in it
/// and is not colltune's own. Empty: none. It is opened for that, and closed again.
[[nodiscard]] std::string find_foreign_plugin(const std::string& kind,
                                              std::span<const std::string> files);

}  // namespace colltune::nccl
