// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <memory>

#include "sqlite/connection.h"

namespace colltune::db {

/// Opens a live database or a snapshot for reading, checked (prepare_read). A snapshot, or a live
/// file without a write-ahead log in a folder that cannot be written, is opened as immutable.
[[nodiscard]] std::unique_ptr<Connection> open_for_reading(const std::filesystem::path& path);

}  // namespace colltune::db
