// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <map>
#include <string>

namespace colltune {

/// A shared object of this process as the environment records it: its file's name and the beginning
/// of its build id, "libjemalloc.so.2 (5f3a1c…)"; only the name if it has no build id.
[[nodiscard]] std::string describe_object(const std::string& file_name);

/// The objects that the user made the loader load before the program's own libraries (LD_PRELOAD,
/// LD_AUDIT, /etc/ld.so.preload): by the place that named them, in describe_object's form. Empty:
/// there are none.
[[nodiscard]] std::map<std::string, std::string> read_loader_facts(
    const std::string& preload_file = "/etc/ld.so.preload");

}  // namespace colltune
