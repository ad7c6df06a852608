// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colltune/vocabulary/collective.h"

namespace colltune::nccl {

/// Whether NCCL has kernels that let NVLink's switch reduce such elements (NVLS, NVLSTree): sums of
/// all but 8-bit types, and minima and maxima of integers and of f16 and bf16. Floating-point
/// averages are sums of shares and integers' are divided afterwards, for which the switch has
/// nothing.
///
/// Source: ncclNvlsSupported() in NCCL's src/include/device.h, the same from 2.19.3 to 2.30.7. Its
/// src/device/generate.py says the same of the kernels that it makes, and asks for CUDA 12.1 and
/// sm_90. NCCL's kernels for symmetric windows have another rule (NCCL's src/sym_kernels.cc).
[[nodiscard]] constexpr bool is_reduced_by_nvls(DataType data_type, ReduceOp reduce_op) {
  const bool is_sum = reduce_op == ReduceOp::sum;
  switch (data_type) {
    case DataType::i32:
    case DataType::u32:
    case DataType::i64:
    case DataType::u64:
    case DataType::f16:
    case DataType::bf16:
      return is_sum || reduce_op == ReduceOp::min || reduce_op == ReduceOp::max;
    case DataType::f32:
    case DataType::f64:
      return is_sum;
    case DataType::i8:
    case DataType::u8:
    case DataType::f8e4m3:
    case DataType::f8e5m2:
      break;
  }
  return false;
}

}  // namespace colltune::nccl
