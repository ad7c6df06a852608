// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <string>

#include "colltune/callables.h"

namespace colltune {

/// Runs the request's sweep on the ranks of `comm`; returns its result as JSON. Collective; throws
/// the same Error on all ranks.
[[nodiscard]] std::string sweep_in_program(const colltune_callables_request& request,
                                           MPI_Comm comm);

/// colltune_callables_find.
[[nodiscard]] std::string find_ranked(const char* decisions, const char* database,
                                      const char* query);

}  // namespace colltune
