// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "colltune/vocabulary/decision_set.h"

namespace colltune {

/// The environment of the decisions as lines of a POSIX shell. `export` lines set the variables
/// that were recorded as set, for malloc, transport and other libraries; comments say what else was
/// recorded. Nothing is set that was not recorded. Throws Error(not_found) if nothing was measured
/// with MPI, Error(invalid_argument) if several environments were, Error(data_loss) if a recorded
/// fact cannot be read.
[[nodiscard]] std::string export_mpi_environment(const DecisionSet& set);

/// The variables of malloc that were recorded as set in `environment`, with their values. Throws
/// Error(data_loss) if the recorded fact cannot be read.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> malloc_variables_of(
    const Environment& environment);

}  // namespace colltune
