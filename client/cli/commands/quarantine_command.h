// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

namespace colltune {

/// `colltune quarantine release` as typed.
struct ReleaseOptions {
  std::string database;
  std::string variant;
  std::string key_digest;  ///< prefix of the key's digest; empty: all keys
};

/// Releases every matching quarantine in force and prints a line for each. Opens the database as
/// its owner, so it is refused while a sweep uses it. Error(not_found) if none matches.
void run_release(const ReleaseOptions& options, std::ostream& out);

}  // namespace colltune
