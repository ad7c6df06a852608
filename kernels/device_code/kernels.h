// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colltune/vocabulary/collective.h"

namespace colltune::device {

/// The kernels of a body, as the CUDA runtime takes them. Null in builds without CUDA; the typed
/// ones are also null if the body combines nothing. Each takes LaunchArguments.
struct Kernels {
  const void* any = nullptr;  ///< for every type and operator
  // Faster than `any`; they serve averages as well as sums.
  const void* f32_sum = nullptr;
  const void* f16_sum = nullptr;
  const void* bf16_sum = nullptr;
};

/// The kernel made for `type` and `op` alone; null: there is none.
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
