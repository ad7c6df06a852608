// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/trials.h"

#include <algorithm>
#include <utility>

namespace colltune {

TrialName name_of_trial(const Measurement& measurement) {
  return {.variant = measurement.variant, .is_twin = measurement.is_twin};
}

std::map<Outcome, std::size_t> count_outcomes(std::span<const Measurement> measurements) {
  std::map<std::pair<TuningKey, TrialName>, const Measurement*> trials;
  for (const Measurement& measurement : measurements) {
    const auto [trial, is_first] =
        trials.try_emplace({measurement.key, name_of_trial(measurement)}, &measurement);
    if (is_first || measurement.outcome == Outcome::ok) continue;
    if (trial->second->outcome == Outcome::ok || measurement.pass < trial->second->pass)
      trial->second = &measurement;
  }
  std::map<Outcome, std::size_t> counts;
  for (const auto& [name, measurement] : trials) ++counts[measurement->outcome];
  return counts;
}

bool has_fault(const std::map<Outcome, std::size_t>& counts) {
  return std::ranges::any_of(
      counts, [](const auto& entry) { return is_fault(entry.first) && entry.second > 0; });
}

}  // namespace colltune
