// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "sqlite/connection.h"

namespace colltune::db {

/// Opens a live database or a snapshot for reading and checks it (prepare_read). A snapshot is
/// opened as immutable, and so is a live file without a write-ahead log in a folder that is not
/// writable.
[[nodiscard]] std::unique_ptr<Connection> open_for_reading(const std::filesystem::path& path);

}  // namespace colltune::db
