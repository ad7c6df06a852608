// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <optional>

#include "colltune/vocabulary/collective.h"

namespace colltune {

/// The element type of a predefined MPI type on whose numbers MPI's operators work, C's and
/// Fortran's; nothing for others.
[[nodiscard]] std::optional<DataType> data_type_of(MPI_Datatype type) noexcept;
/// Nothing for operators that the kernels lack: logical and bitwise ones, MINLOC and MAXLOC, users'
/// own.
[[nodiscard]] std::optional<ReduceOp> reduce_op_of(MPI_Op op) noexcept;

}  // namespace colltune
