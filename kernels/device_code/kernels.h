// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colltune/vocabulary/collective.h"

namespace colltune::device {

/// The kernels of a body, as the CUDA runtime takes them; null in builds without CUDA, and where
/// the body combines nothing. Each takes LaunchArguments.
struct Kernels {
  const void* any = nullptr;  ///< for every type and operator
  // Faster than `any`: sums, averages too.
  const void* f32_sum = nullptr;
  const void* f16_sum = nullptr;
  const void* bf16_sum = nullptr;
};

/// Which of them is for calls of `type` and `op` alone; null: none.
[[nodiscard]] constexpr const void* Kernels::*typed_kernel(DataType type, ReduceOp op) {
  if (op != ReduceOp::sum && op != ReduceOp::avg) return nullptr;
  if (type == DataType::f32) return &Kernels::f32_sum;
  if (type == DataType::f16) return &Kernels::f16_sum;
  if (type == DataType::bf16) return &Kernels::bf16_sum;
  return nullptr;
}

/// The kernel for calls of `type` and `op`.
[[nodiscard]] inline const void* choose_kernel(const Kernels& kernels, DataType type, ReduceOp op) {
  const auto typed = typed_kernel(type, op);
  return typed != nullptr && kernels.*typed != nullptr ? kernels.*typed : kernels.any;
}

}  // namespace colltune::device
