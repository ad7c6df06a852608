// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "program_types.h"

#include <array>
#include <utility>

namespace colltune {
namespace {

template <DataType four, DataType eight>
std::optional<DataType> by_size(std::size_t size) {
  if (size == 4) return four;
  if (size == 8) return eight;
  return {};
}

std::optional<DataType> whole(std::size_t size) {
  return by_size<DataType::i32, DataType::i64>(size);
}
std::optional<DataType> natural(std::size_t size) {
  return by_size<DataType::u32, DataType::u64>(size);
}

/// A type of Fortran, whose size its compiler chose.
std::size_t size_in(MPI_Datatype type) {
  int size = 0;
  return type != MPI_DATATYPE_NULL && PMPI_Type_size(type, &size) == MPI_SUCCESS
             ? static_cast<std::size_t>(size)
             : 0;
}

}  // namespace

std::optional<DataType> data_type_of(MPI_Datatype type) noexcept {
  using Pair = std::pair<MPI_Datatype, std::optional<DataType>>;
  constexpr auto real = by_size<DataType::f32, DataType::f64>;
  // The most frequent ones first.
  static const std::array all{Pair{MPI_DOUBLE, DataType::f64},
                              Pair{MPI_FLOAT, DataType::f32},
                              Pair{MPI_INT, whole(sizeof(int))},
                              Pair{MPI_LONG, whole(sizeof(long))},
                              Pair{MPI_DOUBLE_PRECISION, real(size_in(MPI_DOUBLE_PRECISION))},
                              Pair{MPI_REAL, real(size_in(MPI_REAL))},
                              Pair{MPI_INTEGER, whole(size_in(MPI_INTEGER))},
                              Pair{MPI_INT64_T, DataType::i64},
                              Pair{MPI_INT32_T, DataType::i32},
                              Pair{MPI_UNSIGNED, natural(sizeof(unsigned))},
                              Pair{MPI_UNSIGNED_LONG, natural(sizeof(unsigned long))},
                              Pair{MPI_UINT64_T, DataType::u64},
                              Pair{MPI_UINT32_T, DataType::u32},
                              Pair{MPI_LONG_LONG, whole(sizeof(long long))},
                              Pair{MPI_UNSIGNED_LONG_LONG, natural(sizeof(unsigned long long))},
                              Pair{MPI_SIGNED_CHAR, DataType::i8},
                              Pair{MPI_UNSIGNED_CHAR, DataType::u8},
                              Pair{MPI_INT8_T, DataType::i8},
                              Pair{MPI_UINT8_T, DataType::u8},
                              Pair{MPI_AINT, whole(sizeof(MPI_Aint))},
                              Pair{MPI_OFFSET, whole(sizeof(MPI_Offset))},
                              Pair{MPI_COUNT, whole(sizeof(MPI_Count))},
                              Pair{MPI_REAL8, real(size_in(MPI_REAL8))},
                              Pair{MPI_REAL4, real(size_in(MPI_REAL4))},
                              Pair{MPI_INTEGER8, whole(size_in(MPI_INTEGER8))},
                              Pair{MPI_INTEGER4, whole(size_in(MPI_INTEGER4))}};
  for (const auto& [handle, found] : all)
    if (handle == type) return found;
  return {};
}

std::optional<ReduceOp> reduce_op_of(MPI_Op op) noexcept {
  if (op == MPI_SUM) return ReduceOp::sum;
  if (op == MPI_MAX) return ReduceOp::max;
  if (op == MPI_MIN) return ReduceOp::min;
  if (op == MPI_PROD) return ReduceOp::prod;
  return {};
}

}  // namespace colltune
