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
  std::string key_digest;  ///< how the key's digest begins; empty: all keys
};

/// Releases every quarantine in force that fits and prints a line for each. Opens the database as
/// its owner: refused while a sweep runs on it. Error(not_found) where none fits.
void run_release(const ReleaseOptions& options, std::ostream& out);

}  // namespace colltune
