// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

#include "colltune/vocabulary/decision_set.h"
#include "source/origin.h"
#include "text/regime_choice.h"

namespace colltune {

/// `colltune export json` as typed.
struct ExportOptions {
  Origin origin;
  RegimeOptions regime;  ///< empty: the default regime
  std::string output;  ///< `-o FILE`; empty: stdout
};

/// `colltune export openmpi` as typed.
struct OpenMpiExportOptions {
  Origin origin;
  RegimeOptions regime;
  std::string release;      ///< `--for`
  std::string environment;  ///< `--environment`; empty: the only one
  std::string output;
};

/// `colltune check-export openmpi` as typed.
struct CheckOpenMpiOptions {
  std::string file;
  std::string release;
  bool json = false;
};

/// The decisions of the regime that is exported, by default the ordinary one.
[[nodiscard]] DecisionSet read_regime(const Origin& origin, const RegimeOptions& regime);

/// Writes a file of rules, and says on `log` what is in it and what is not.
void run_export_open_mpi(const OpenMpiExportOptions& options, std::ostream& out, std::ostream& log);

/// Prints what Open MPI does with a file of rules. Throws Error(invalid_argument) if it drops the
/// file or if calls fail by it.
void run_check_open_mpi(const CheckOpenMpiOptions& options, std::ostream& out);

/// Writes the export document to the file, which is replaced as a whole by a rename, or to `out`.
void run_export_json(const ExportOptions& options, std::ostream& out);

}  // namespace colltune
