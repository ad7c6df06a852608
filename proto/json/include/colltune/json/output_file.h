// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string_view>

namespace colltune {

/// What names standard output where a file is asked for.
inline constexpr std::string_view standard_output = "-";

/// Whether `path` is there and no file whose content can be replaced: a device, a FIFO, a socket.
/// Such a thing is written through.
[[nodiscard]] bool is_written_through(const std::filesystem::path& path);

/// Writes the whole `text` to where `path` names: "-" is `out`; a device, FIFO or socket gets it;
/// a regular file, also behind symbolic links, has it afterwards or, after an error, its old
/// content, never half of it, and keeps its mode. Throws Error(failed_precondition) that names the
/// path.
void write_output(const std::filesystem::path& path, std::string_view text, std::ostream& out);

}  // namespace colltune
