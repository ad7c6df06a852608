// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <iosfwd>

#include "reports/report_command.h"

namespace colltune {

/// How far the times that models predict are from those of a sweep that they did not see, by
/// collective and in all, with what today's interpolation makes of the same sizes; how often the
/// intervals contain them; and what is chosen for a size that was left out.
void run_report_model(const ReportOptions& options, std::ostream& out);

}  // namespace colltune
