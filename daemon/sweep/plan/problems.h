// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "colltune/sweep/spec/sweep_spec.h"
#include "colltune/vocabulary/problem.h"

namespace colltune {

/// A problem that is not measured in some world, and why.
struct SkippedProblem {
  Problem problem;
  std::string reason;
};

struct Problems {
  std::vector<Problem> problems;
  std::vector<SkippedProblem> skipped;
};

/// What a configuration asks of a world of `ranks`: the product of its axes in its own order, with
/// `sizes` rounded to whole elements, each once. Pure.
[[nodiscard]] Problems problems_of(const SweepSpec& spec, const std::vector<Bytes>& sizes,
                                   int ranks);

/// How many keys `worlds` worlds have at the most, before anything is rounded or skipped; and the
/// factors, for a person.
struct Extent {
  std::size_t keys = 0;
  std::string factors;
};
[[nodiscard]] Extent extent_of(const SweepSpec& spec, std::size_t worlds);

}  // namespace colltune
