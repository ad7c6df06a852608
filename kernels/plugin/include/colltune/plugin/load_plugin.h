// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>

#include "colltune/kernels/implementation.h"

namespace colltune {

/// The implementations that the plug-in `path` describes (its interface: `colltune/plugin.h`),
/// called `<family>.<name>`. The shared object stays loaded as long as one of them, or an operation
/// of theirs, lives. Loading runs the plug-in's code: a crash in it ends the process.
///
/// Throws Error, whose message names the file, what was found and what is allowed: not_found
/// (no such file), invalid_argument (no shared object, no plug-in, a description that is not as it
/// must be), failed_precondition (it cannot be linked, or speaks another version of the interface).
[[nodiscard]] Implementations load_plugin(const std::filesystem::path& path);

/// Adds the implementations of `path` to `catalogue`, which stays in the order of names. Throws
/// what load_plugin throws, and Error(already_exists) where a name is taken; `catalogue` is then
/// unchanged.
void add_plugin(Implementations& catalogue, const std::filesystem::path& path);

}  // namespace colltune
