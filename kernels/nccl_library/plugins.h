// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>
#include <vector>

#include "colltune/kernels/nccl_library/nccl_environment.h"

namespace colltune::nccl {

// Finds the plug-ins that NCCL opens, after its plugin_open.cc, tuner.cc, profiler.cc and net.cc. A
// kind is "tuner", "profiler" or "net".

/// Whether the value of a plug-in variable asks for no plug-in.
[[nodiscard]] bool is_none(const std::string& plugin);
/// The file, as passed to dlopen, of the plug-in that a variable names.
[[nodiscard]] std::string plugin_file(const std::string& kind, const std::string& plugin);

/// The files in which NCCL looks, in this order, for a tuner or profiler if no variable names one.
[[nodiscard]] std::vector<std::string> default_plugins(const std::string& kind,
                                                       const NcclVariables& environment);
/// The one of `files` that NCCL takes: the first that opens, if it contains a tuner or profiler and
/// is not colltune's own. Empty: none. The file is opened to check, then closed.
[[nodiscard]] std::string find_foreign_plugin(const std::string& kind,
                                              std::span<const std::string> files);

}  // namespace colltune::nccl
