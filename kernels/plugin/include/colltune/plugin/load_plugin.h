// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <string>

#include "colltune/kernels/implementation.h"
#include "colltune/plugin.h"

namespace colltune {

/// The implementations that the plug-in `path` describes (its interface: `colltune/plugin.h`),
/// named `<family>.<name>`. The shared object stays loaded while one of them, or one of their
/// operations, exists. Loading runs the plug-in's code: a crash in it ends the process.
///
/// Throws Error whose message names the file, what was found and what is allowed: not_found (no
/// such file), invalid_argument (not a shared object, not a plug-in, an invalid description),
/// failed_precondition (it cannot be linked, or uses another version of the interface).
[[nodiscard]] Implementations load_plugin(const std::filesystem::path& path);

/// The implementations that `table`, a plug-in of this very process, describes: as if it had been
/// loaded. `table` outlives them and their operations. `where` begins the messages of errors.
/// Throws what load_plugin throws of a table.
[[nodiscard]] Implementations adopt_plugin(const colltune_plugin& table, const std::string& where);

/// Adds the implementations of `path` to `catalogue`, which stays sorted by name. Throws what
/// load_plugin throws, and Error(already_exists) if a name is taken; `catalogue` is then unchanged.
void add_plugin(Implementations& catalogue, const std::filesystem::path& path);

}  // namespace colltune
