// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "mpi_types.h"

#include <array>
#include <cstddef>
#include <utility>

#include "colltune/kernels/arithmetic/reduction.h"
#include "colltune/vocabulary/error.h"
#include "mpi_handles.h"

namespace colltune {
namespace {

/// MPI passes no context to a user-defined function, so there is one function per type and op.
template <DataType type, ReduceOp op>
void combine(void* in, void* in_out, int* count, MPI_Datatype*) {
  const std::array<const std::byte*, 2> sources{static_cast<const std::byte*>(in),
                                                static_cast<const std::byte*>(in_out)};
  reduce_in_rank_order(sources, static_cast<std::byte*>(in_out), static_cast<std::size_t>(*count),
                       {.type = type, .op = op, .ranks = 1});
}

template <DataType type>
MPI_User_function* function_for(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg:
      return combine<type, ReduceOp::sum>;
    case ReduceOp::prod:
      return combine<type, ReduceOp::prod>;
    case ReduceOp::min:
      return combine<type, ReduceOp::min>;
    case ReduceOp::max:
      return combine<type, ReduceOp::max>;
    case ReduceOp::none:
      break;
  }
  return nullptr;
}

bool lacks_arithmetic(DataType type) { return is_floating(type) && size_of(type) <= 2; }

MPI_User_function* user_function(DataType type, ReduceOp op) {
  if (type == DataType::f16) return function_for<DataType::f16>(op);
  if (type == DataType::bf16) return function_for<DataType::bf16>(op);
  if (type == DataType::f8e4m3) return function_for<DataType::f8e4m3>(op);
  return function_for<DataType::f8e5m2>(op);
}

MPI_Op library_op(ReduceOp op) {
  switch (op) {
    case ReduceOp::sum:
    case ReduceOp::avg:
      return MPI_SUM;
    case ReduceOp::prod:
      return MPI_PROD;
    case ReduceOp::min:
      return MPI_MIN;
    case ReduceOp::max:
      return MPI_MAX;
    case ReduceOp::none:
      break;
  }
  return MPI_OP_NULL;
}

}  // namespace

MPI_Datatype mpi_type_of(DataType type) {
  switch (type) {
    case DataType::i8:
      return MPI_INT8_T;
    case DataType::u8:
      return MPI_UINT8_T;
    case DataType::i32:
      return MPI_INT32_T;
    case DataType::u32:
      return MPI_UINT32_T;
    case DataType::i64:
      return MPI_INT64_T;
    case DataType::u64:
      return MPI_UINT64_T;
    case DataType::f16:
    case DataType::bf16:
      return MPI_UINT16_T;
    case DataType::f32:
      return MPI_FLOAT;
    case DataType::f64:
      return MPI_DOUBLE;
    case DataType::f8e4m3:
    case DataType::f8e5m2:
      return MPI_UINT8_T;
  }
  return MPI_DATATYPE_NULL;
}

bool is_native(DataType type, ReduceOp op) {
  return op == ReduceOp::none || (op != ReduceOp::avg && !lacks_arithmetic(type));
}

MpiReduction::MpiReduction(DataType type, ReduceOp op) : op_(library_op(op)) {
  if (op == ReduceOp::none || !lacks_arithmetic(type)) return;
  check_mpi(PMPI_Op_create(user_function(type, op), 1, &op_), "MPI_Op_create");
  is_own_ = true;
}

MpiReduction::MpiReduction(MpiReduction&& other) noexcept
    : op_(std::exchange(other.op_, MPI_OP_NULL)), is_own_(std::exchange(other.is_own_, false)) {}

MpiReduction& MpiReduction::operator=(MpiReduction&& other) noexcept {
  std::swap(op_, other.op_);
  std::swap(is_own_, other.is_own_);
  return *this;
}

MpiReduction::~MpiReduction() {
  int finalized = 0;
  PMPI_Finalized(&finalized);
  if (is_own_ && finalized == 0) PMPI_Op_free(&op_);
}

}  // namespace colltune
