// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>
#include <string>

#include "source/origin.h"
#include "text/regime_choice.h"

namespace colltune {

/// `colltune export json` as typed.
struct ExportOptions {
  Origin origin;
  RegimeOptions regime;  ///< empty: the default regime
  std::string output;  ///< `-o FILE`; empty: stdout
};

/// Writes the export document to the file, which is replaced as a whole by a rename, or to `out`.
void run_export_json(const ExportOptions& options, std::ostream& out);

}  // namespace colltune
