// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "colltune/vocabulary/collective.h"

namespace colltune::device {

/// The kernels of a body, as the CUDA runtime takes them; null in builds without CUDA, and where
/// the body combines nothing. Each takes `const DeviceCall* calls, int blocks_of_each`.
struct Kernels {
  const void* any = nullptr;  ///< for every type and operator
  // Faster than `any`: sums, averages too.
  const void* f32_sum = nullptr;
  const void* f16_sum = nullptr;
  const void* bf16_sum = nullptr;
};

/// The kernel for calls of `type` and `op`.
[[nodiscard]] inline const void* choose_kernel(const Kernels& kernels, DataType type, ReduceOp op) {
  const bool sums = op == ReduceOp::sum || op == ReduceOp::avg;
  const void* const typed = !sums                    ? nullptr
                            : type == DataType::f32  ? kernels.f32_sum
                            : type == DataType::f16  ? kernels.f16_sum
                            : type == DataType::bf16 ? kernels.bf16_sum
                                                     : nullptr;
  return typed != nullptr ? typed : kernels.any;
}

}  // namespace colltune::device
