// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include <algorithm>

#include "colltune/decide/contenders.h"
#include "colltune/sweep/measure/measure.h"

namespace colltune {

using std::chrono::nanoseconds;

namespace {

// Verified runs of each variant in a first visit: two patterns before the rounds, one after them.
constexpr int verified_runs = 3;

/// The least time of a call: the lower end of its forecast, else its limit divided by 10,000. The
/// limit allows 1 ms a step and 10 MB/s, so this is 100 ns a step and 100 GB/s.
nanoseconds expected_call(const PlannedVariant& planned) {
  if (planned.forecast) return planned.forecast->low;
  constexpr int limit_over_expected = 10'000;
  return planned.call_limit / limit_over_expected;
}

}  // namespace

nanoseconds least_duration(const SweepPlan& plan, const MeasurePolicy& policy) {
  nanoseconds total{};
  for (const Cell& cell : plan.cells) {
    nanoseconds all{};
    nanoseconds warm_up{};  // of all variants: as many runs each as in Rounds::warm_up
    for (const PlannedVariant& planned : cell.variants) {
      all += expected_call(planned);
      warm_up += std::max(policy.warm_up_runs, planned.learning_calls + 1) * expected_call(planned);
    }
    const auto count = static_cast<std::int64_t>(cell.variants.size());
    const auto visit_of = [&](std::int64_t variants) {
      const auto part = [&](nanoseconds of_all) {
        return of_all / std::max<std::int64_t>(1, count) * variants;
      };
      const nanoseconds once = part(all);
      const nanoseconds round =
          once * (1 + takeover_runs(cell.key, plan.input_mode,
                                    once / std::max<std::int64_t>(1, variants)));
      return verified_runs * once + part(warm_up) +
             policy.min_rounds * std::max(policy.round_target, round);
    };
    total += visit_of(count);
    for (int pass = 1; pass < plan.passes && !cell.is_holdout; ++pass)
      total += visit_of(pass < plan.full_passes
                            ? count
                            : std::min(count, static_cast<std::int64_t>(most_contenders(
                                                  static_cast<std::size_t>(pass)))));
  }
  return total;
}

}  // namespace colltune
