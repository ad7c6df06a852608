// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
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

struct AskedProblem {
  Problem problem;
  double weight = 1;  ///< Cell::weight
};

struct Problems {
  std::vector<AskedProblem> problems;
  std::vector<SkippedProblem> skipped;
};

/// What is asked of one world.
struct WorldRequest {
  const SweepSpec& spec;
  int ranks = 0;
  std::span<const Bytes> sizes = {};  ///< of the product; none where it is not asked for here
  std::span<const CallSpec> calls = {};
};

/// The problems of a world, with sizes rounded to whole elements, each once: the product of the
/// configuration's axes in their order, each with a weight of 1, then the calls that are not among
/// them. A problem that calls name has the sum of their weights. Pure.
[[nodiscard]] Problems problems_of(const WorldRequest& request);

/// Upper bound on the keys of the calls, and of the product in `worlds` worlds, before anything is
/// rounded or skipped; with the factors, for a person.
struct Extent {
  std::size_t keys = 0;
  std::string factors;
};
[[nodiscard]] Extent extent_of(const SweepSpec& spec, std::size_t worlds);

}  // namespace colltune
