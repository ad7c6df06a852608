// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "colltune/db/records.h"
#include "colltune/vocabulary/measurement.h"

namespace colltune {

/// One sweep as its results file tells it.
struct SweepResults {
  SweepRecord sweep;  ///< as it ended; `running` where the file has no end
  std::string where;  ///< the line that begins it, for messages
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
  std::string cut_off;  ///< what a killed writer left at the end; empty where nothing
};

/// Reads a results file (proto/json/README.md). `name` is its name for messages. Throws
/// Error(data_loss) for damage, Error(invalid_argument) for what is not such a file; messages begin
/// with file name and line number.
[[nodiscard]] ResultsFile read_results(std::istream& in, const std::string& name);

}  // namespace colltune
