// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "planned_variant.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace colltune {

using std::chrono::nanoseconds;

nanoseconds call_limit(const Cost& cost) {
  constexpr double slack = 10;
  constexpr double step_ns = 100e3;  // 100 us
  constexpr double byte_ns = 10;     // 100 MB/s
  constexpr double most_ns = 3600e9;
  const double expected =
      cost.steps * step_ns + (cost.bytes_per_rank + cost.reduced_bytes) * byte_ns;
  return nanoseconds(static_cast<std::int64_t>(std::min(most_ns, slack * expected)));
}

PlannedVariant describe_variant(const Implementation& implementation, const TuningKey& key,
                                Variant variant, std::vector<int> supporting_kinds) {
  const Problem& problem = key.problem;
  const Numerics numerics = implementation.numerics(problem, variant);
  const CallTraits traits = implementation.traits(problem, key.topology, variant);
  PlannedVariant planned{
      .family = std::string(implementation.family()),
      .protocol = implementation.protocol(problem, variant),
      .is_baseline = implementation.is_baseline(),
      .is_emulated = traits.is_emulated,
      .rounding = numerics.rounding,
      .numeric_class = numerics.numeric_class,
      .limits = implementation.limits(variant),
      .call_limit = call_limit(implementation.cost(problem, key.topology, variant)),
      .learning_calls = traits.learning_calls,
      .supporting_kinds = std::move(supporting_kinds)};
  planned.variant = std::move(variant);
  return planned;
}

int learning_calls(const Composition& composition, const TuningKey& key,
                   const Implementations& catalogue) {
  int most = 0;
  for (const Part& part : composition.parts)
    if (const auto* const found = find_implementation(catalogue, part.variant.implementation))
      most = std::max(most, found->traits(key.problem, key.topology, part.variant).learning_calls);
  return most;
}

}  // namespace colltune
