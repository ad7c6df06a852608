// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "cuda_context.cuh"
#include "cuda_numbers.cuh"
#include "kernels.h"
#include "reducer.h"

namespace colltune::device {

template <class Body, class Reducer>
[[nodiscard]] const void* address_of_kernel() {
  void (*const kernel)(LaunchArguments) = run_ranks<Body, Reducer>;
  return reinterpret_cast<const void*>(kernel);
}

/// Whether `Body` leaves sums to the switches between the devices, which support few types.
template <class Body>
constexpr bool sums_in_the_network = [] {
  if constexpr (requires { Body::sums_in_the_network; }) return Body::sums_in_the_network;
  return false;
}();

/// The kernels of `Body`. The pairs of type and operator where training and inference spend their
/// time have kernels of their own. All others share one, to limit what is compiled.
template <class Body>
[[nodiscard]] Kernels kernels_of() {
  Kernels kernels;
  if constexpr (!sums_in_the_network<Body>)
    kernels.any = address_of_kernel<Body, BasicAnyReducer<CudaNumbers>>();
  if constexpr (Body::reduces) {
    kernels.f32_sum = address_of_kernel<Body, TypedReducer<float, Sum, CudaNumbers>>();
    kernels.f16_sum = address_of_kernel<Body, TypedReducer<Float16, Sum, CudaNumbers>>();
    kernels.bf16_sum = address_of_kernel<Body, TypedReducer<BFloat16, Sum, CudaNumbers>>();
  }
  return kernels;
}

}  // namespace colltune::device
