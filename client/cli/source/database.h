// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <optional>

#include "colltune/db/store.h"
#include "colltune/table/decision_table.h"

namespace colltune {

/// Opens the database at `path` as it is now. Throws Error(failed_precondition) where no such file
/// is there.
[[nodiscard]] StoreReader open_database(const std::filesystem::path& path);

/// The newest published generation of the database at `path` (from its snapshot, where there is
/// one), or that very one. Throws Error(not_found) where there is none.
[[nodiscard]] PublishedTable read_published(const std::filesystem::path& path,
                                            const std::optional<std::uint64_t>& generation);

/// Says on standard error what readers leave out, if anything.
void say_left_out(const LeftOut& left_out);

}  // namespace colltune
