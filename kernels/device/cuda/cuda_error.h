// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "colltune/vocabulary/error.h"

namespace colltune {

/// Throws Error unless `result` is success: resource_exhausted for memory, otherwise internal.
inline void check_cuda(cudaError_t result, const char* what) {
  if (result == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // clears it, so that the next call reports its own
  throw Error(
      result == cudaErrorMemoryAllocation ? StatusCode::resource_exhausted : StatusCode::internal,
      std::string(what) + ": " + cudaGetErrorString(result));
}

}  // namespace colltune
