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

/// Reads and checks the whole results file. Then adds the environments, sweeps and measurements
/// that the database lacks, and publishes the file's decisions, except if the database has one of a
/// later sweep for the same key and family. Importing a file again changes nothing; an interrupted
/// import is continued. What was done is printed to `out`, what the file lacks to `notes`.
void run_import(const ImportOptions& options, std::ostream& out, std::ostream& notes);

}  // namespace colltune
