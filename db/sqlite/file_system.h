// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace colltune::db {

/// The name of the network (or user-space) file system with this statfs() magic number; empty for
/// any other.
[[nodiscard]] std::string_view network_file_system_name(std::uint64_t magic);

/// Throws Error(failed_precondition) that says what to do instead if `magic` belongs to a network
/// file system. `database` appears in the message.
void refuse_network_file_system(std::uint64_t magic, const std::filesystem::path& database);
/// The same for the file system that holds, or will hold, `database`.
void refuse_network_file_system(const std::filesystem::path& database);

/// `database` as an absolute path with symbolic links resolved, so that one file has one name.
[[nodiscard]] std::filesystem::path real_path(const std::filesystem::path& database);

/// Makes the file's content durable.
void sync_file(const std::filesystem::path& file);
/// Renames `from` over `to` in one folder and makes the name durable.
void rename_durably(const std::filesystem::path& from, const std::filesystem::path& to);

}  // namespace colltune::db
