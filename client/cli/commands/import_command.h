// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

namespace colltune {

/// `colltune import` as typed.
struct ImportOptions {
  std::string results;
  std::string database;
};

/// Reads and checks the whole results file, then adds what the database lacks: environments,
/// sweeps, measurements; and publishes its decisions, except where the database holds one of a
/// later sweep for the same key and family. A second import of a file changes nothing, one that was
/// interrupted is taken up. What was done goes to `out`, what the file lacks to `notes`.
void run_import(const ImportOptions& options, std::ostream& out, std::ostream& notes);

}  // namespace colltune
