// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/cost.h"
#include "colltune/sweep/plan/sweep_plan.h"

namespace colltune {

/// How long one call may take before it counts as hung: ten times its cost on links far slower than
/// any worth tuning.
[[nodiscard]] std::chrono::nanoseconds call_limit(const Cost& cost);

/// `variant` as a trial for `key`, supported by ranks of `supporting_kinds`.
[[nodiscard]] PlannedVariant describe_variant(const Implementation& implementation,
                                              const TuningKey& key, Variant variant,
                                              std::vector<int> supporting_kinds);

/// The maximum over all parts of `composition`, as if each part ran `key` by itself.
[[nodiscard]] int learning_calls(const Composition& composition, const TuningKey& key,
                                 const Implementations& catalogue);

}  // namespace colltune
