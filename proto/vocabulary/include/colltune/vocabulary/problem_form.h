// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colltune/vocabulary/problem.h"

namespace colltune {

/// Whether a collective has one form instead of two. A broadcast has one buffer on each rank, as in
/// MPI_Bcast, so it is always in place.
[[nodiscard]] bool has_one_buffer(const Problem& problem);

/// The form in which a problem is measured, stored and looked up: the problem itself, but in place
/// if it has one buffer.
[[nodiscard]] Problem in_its_form(Problem problem);

}  // namespace colltune
