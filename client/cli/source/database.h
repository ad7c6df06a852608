// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "colltune/db/store.h"
#include "colltune/table/decision_table.h"

namespace colltune {

/// Opens the database at `path` in its current state. Throws Error(failed_precondition) if there is
/// no such file.
[[nodiscard]] StoreReader open_database(const std::filesystem::path& path);

/// The newest published generation of the database at `path` (from its snapshot, if there is one),
/// or the requested one. Throws Error(not_found) if there is none.
[[nodiscard]] PublishedTable read_published(const std::filesystem::path& path,
                                            const std::optional<std::uint64_t>& generation);

/// Reports on standard error what readers left out, if anything.
void say_left_out(const LeftOut& left_out);

}  // namespace colltune
