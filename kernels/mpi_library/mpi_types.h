// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include "colltune/vocabulary/collective.h"

namespace colltune {

/// The predefined MPI type of the same size and, if MPI has one, of the same meaning. f16, bf16 and
/// fp8 are sent as unsigned integers.
[[nodiscard]] MPI_Datatype mpi_type_of(DataType type);
/// Whether MPI itself can reduce `type` by `op`.
[[nodiscard]] bool is_native(DataType type, ReduceOp op);

/// The MPI_Op for `op`: MPI's own, or a user-defined one that combines two elements in float and
/// rounds (f16, bf16, fp8). For avg it is the sum, which the caller divides. Owns what it created.
/// Move-only.
class MpiReduction {
 public:
  MpiReduction(DataType type, ReduceOp op);
  MpiReduction(MpiReduction&& other) noexcept;
  MpiReduction& operator=(MpiReduction&& other) noexcept;
  ~MpiReduction();
  [[nodiscard]] MPI_Op get() const { return op_; }

 private:
  MPI_Op op_ = MPI_OP_NULL;
  bool is_own_ = false;
};

}  // namespace colltune
