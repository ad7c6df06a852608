// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

#include "colltune/export/formats.h"
#include "colltune/vocabulary/decision_set.h"
#include "source/origin.h"
#include "text/regime_choice.h"

namespace colltune {

/// `colltune export FORMAT` as typed.
struct ExportOptions {
  Origin origin;
  RegimeOptions regime;     ///< empty: the default regime
  std::string release;      ///< `--for`, of formats that take it
  std::string environment;  ///< `--environment`; empty: the only one
  std::string output;       ///< `-o FILE`; empty: stdout
};

/// `colltune check-export` as typed.
struct CheckExportOptions {
  std::string file;
  std::string release;
  bool json = false;
};

/// The decisions of the regime that is exported, by default the ordinary one.
[[nodiscard]] DecisionSet read_regime(const Origin& origin, const RegimeOptions& regime);
/// The same of decisions that were read.
[[nodiscard]] DecisionSet keep_regime(DecisionSet set, const RegimeOptions& regime);

/// Writes the decisions in `format` to the file, which is replaced as a whole by a rename, or to
/// `out`, and says on `log` what is in it and what is not. Throws Error(not_found) with the reason
/// if nothing that was measured serves the format's consumer.
void run_export(const ExportFormat& format, const ExportOptions& options, std::ostream& out,
                std::ostream& log);

/// Prints what Open MPI does with a file of rules. Throws Error(invalid_argument) if it drops the
/// file or if calls fail by it.
void run_check_open_mpi(const CheckExportOptions& options, std::ostream& out);

/// Prints what Open MPI does with a file of rules for coll/han. Throws Error(invalid_argument) if
/// it drops the file, if programs end by it, or if colltune does not know the release's files.
void run_check_open_mpi_han(const CheckExportOptions& options, std::ostream& out);

/// Prints what NCCL does with a file of NVIDIA's example tuner plug-in. Throws
/// Error(invalid_argument) if lines do not mean what they say.
void run_check_nccl(const CheckExportOptions& options, std::ostream& out);

}  // namespace colltune
