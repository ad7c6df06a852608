// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "colltune/db/records.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// One sweep as recorded in its results file.
struct SweepResults {
  SweepRecord sweep;  ///< its final record; `running` if the file has no end
  std::string where;  ///< the line where it begins, for messages
  bool has_ended = false;
  std::vector<Measurement> measurements;
  std::vector<Decision> decisions;
  std::vector<WorldMembers> members;
};

/// A results file, read and checked as a whole.
struct ResultsFile {
  std::vector<EnvironmentRecord> environments;
  std::vector<SweepResults> sweeps;
  std::vector<Composition> compositions;
  std::string cut_off;  ///< an incomplete line at the end, left by a killed writer; empty: none
};

/// Reads a results file (proto/json/README.md). `name` is used in messages. Throws Error(data_loss)
/// for damage and Error(invalid_argument) for anything else than a results file; messages begin
/// with file name and line number.
[[nodiscard]] ResultsFile read_results(std::istream& in, const std::string& name);

}  // namespace colltune
