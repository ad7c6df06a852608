// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "colltune/kernels/implementation.h"
#include "colltune/vocabulary/problem.h"
#include "colltune/vocabulary/variant.h"

namespace colltune {

/// Whether the result depends on the order and the number of roundings: sums and products of
/// floating-point numbers.
[[nodiscard]] inline bool rounds(const Problem& problem) {
  return is_floating(problem.data_type) &&
         (problem.reduce_op == ReduceOp::sum || problem.reduce_op == ReduceOp::prod ||
          problem.reduce_op == ReduceOp::avg);
}

/// If one call of reduce_in_rank_order combines all ranks' values: narrow types are accumulated in
/// float; float and double have no wider accumulator.
[[nodiscard]] inline Rounding rounding_at_once(const Problem& problem) {
  const bool is_wide = problem.data_type == DataType::f32 || problem.data_type == DataType::f64;
  return !rounds(problem) ? Rounding::exact : is_wide ? Rounding::each_step : Rounding::once;
}

/// If partial results are passed on in the element type.
[[nodiscard]] inline Rounding rounding_handed_on(const Problem& problem) {
  return rounds(problem) ? Rounding::each_step : Rounding::exact;
}

/// The worse of the two in each field: of what is made of both.
[[nodiscard]] inline Numerics worse_of(const Numerics& a, const Numerics& b) {
  return {std::max(a.rounding, b.rounding), std::min(a.numeric_class, b.numeric_class)};
}

}  // namespace colltune
