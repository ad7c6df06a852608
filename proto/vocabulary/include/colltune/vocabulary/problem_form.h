// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colltune/vocabulary/problem.h"

namespace colltune {

/// Whether a collective has one form instead of two: a broadcast has one buffer on each rank, as
/// MPI_Bcast has, and so is always in place.
[[nodiscard]] bool has_one_buffer(const Problem& problem);

/// The form in which a problem is measured, stored and looked up: itself, but of what has one
/// buffer the form in place.
[[nodiscard]] Problem in_its_form(Problem problem);

}  // namespace colltune
