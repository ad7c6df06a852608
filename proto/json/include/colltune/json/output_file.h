// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string_view>

namespace colltune {

/// Names standard output in place of a file.
inline constexpr std::string_view standard_output = "-";

/// Whether `path` exists and is not a file whose content can be replaced: a device, a FIFO, a
/// socket. Such a thing is written to directly.
[[nodiscard]] bool is_written_through(const std::filesystem::path& path);

/// Writes the whole `text` to the place that `path` names. "-" means `out`. A device, FIFO or
/// socket is written to directly. A regular file, even behind symbolic links, is replaced as a
/// whole and keeps its mode; after an error it still has its old content. Throws
/// Error(failed_precondition) that names the path.
void write_output(const std::filesystem::path& path, std::string_view text, std::ostream& out);

}  // namespace colltune
