// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>

namespace colltune {

/// Loads `plugin` in a process of its own. If the plug-in hangs, crashes or ends the process in a
/// constructor or in describe(), only that process is affected. Throws Error(failed_precondition)
/// that says which it was. Other faults of the plug-in are reported when it is loaded here. The
/// program's main calls `run_plugin_probe` first.
void probe_plugin(const std::filesystem::path& plugin, std::chrono::milliseconds limit);

/// The exit code, if this process is such a probe.
[[nodiscard]] std::optional<int> run_plugin_probe(int argc, char** argv);

}  // namespace colltune
