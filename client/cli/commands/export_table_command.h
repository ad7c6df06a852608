// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "colltune/table_file/table_content.h"
#include "export_command.h"

namespace colltune {

/// Of the decisions `set` of `options.origin` those of one environment and of the exported regime,
/// and what they refer to, as a table file holds them, but without groups. Throws Error(not_found)
/// if there is none, Error(invalid_argument) if they are of several environments and none is
/// chosen.
[[nodiscard]] TableContent table_content_of(DecisionSet set, const ExportOptions& options);
/// The rest, made of `content.set`.
void add_groups(TableContent& content);

/// Writes a table file, and says on `log` what is in it and what its digest is. Throws
/// Error(not_found) if there is no decision, Error(invalid_argument) if they are of several
/// environments and none is chosen, or if the output is the terminal's.
void run_export_table(const ExportOptions& options, std::ostream& log);

}  // namespace colltune
