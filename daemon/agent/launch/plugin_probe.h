// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

namespace colltune {

/// Loads `plugin` in a process of its own, so that one that hangs, crashes or ends its process in a
/// constructor or in describe() takes nobody with it. Throws Error(failed_precondition) that says
/// which it did; whatever else is wrong with it, loading it here will say. The program's main calls
/// `run_plugin_probe` first.
void probe_plugin(const std::filesystem::path& plugin, std::chrono::milliseconds limit);

/// The exit code where this process is such a process.
[[nodiscard]] std::optional<int> run_plugin_probe(int argc, char** argv);

}  // namespace colltune
