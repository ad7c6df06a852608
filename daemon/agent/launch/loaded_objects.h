// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace colltune {

/// A shared object of this process as the environment records it: its file's name and the
/// beginning of its build id, "libjemalloc.so.2 (5f3a1c…)"; without one, of files that have none.
[[nodiscard]] std::string describe_object(const std::string& file_name);

/// What the user let the loader put before the program's own libraries (LD_PRELOAD, LD_AUDIT,
/// /etc/ld.so.preload): by where it was named, the objects as describe_object says them. Empty: he
/// did not.
[[nodiscard]] std::map<std::string, std::string> read_loader_facts(
    const std::string& preload_file = "/etc/ld.so.preload");

}  // namespace colltune
