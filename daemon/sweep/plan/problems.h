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

/// The problems that a configuration asks of a world of `ranks`: the product of its axes in their
/// order, with `sizes` rounded to whole elements, each once. Pure.
[[nodiscard]] Problems problems_of(const SweepSpec& spec, const std::vector<Bytes>& sizes,
                                   int ranks);

/// Upper bound on the keys of `worlds` worlds, before anything is rounded or skipped; with the
/// factors, for a person.
struct Extent {
  std::size_t keys = 0;
  std::string factors;
};
[[nodiscard]] Extent extent_of(const SweepSpec& spec, std::size_t worlds);

}  // namespace colltune
