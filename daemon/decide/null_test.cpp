// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/decide/null_test.h"

#include <fmt/format.h>

#include "colltune/decide/duel.h"
#include "ranked_candidate.h"

namespace colltune {

NullTest null_test(std::span<const Measurement> measurements, const DecisionPolicy& policy) {
  constexpr double confidence_of_bound = 0.95;
  NullTest test;
  for (const bool is_holdout : {false, true})
    for (const auto& [key, contest] : contests_of(measurements, is_holdout, policy.confidence)) {
      const double risk = risk_of_duel(policy, contest.rivals());
      for (const RankedCandidate& twin : contest.twins)
        for (const RankedCandidate& baseline : contest.candidates) {
          if (!baseline.measurement->is_baseline ||
              baseline.measurement->variant != twin.measurement->variant)
            continue;
          const auto wins = [&](const RankedCandidate& rival, const RankedCandidate& reference) {
            return judge(contest.duel(reference, rival, risk, policy), policy) == Standing::proven;
          };
          ++test.keys;
          test.wins += wins(twin, baseline) ? 1 : 0;
          test.losses += wins(baseline, twin) ? 1 : 0;
        }
    }
  test.upper_bound = rate_upper_bound(test.wins, test.keys, confidence_of_bound);
  return test;
}

std::string describe(const NullTest& test) {
  if (test.keys == 0) return "no key had a twin";
  return fmt::format(
      "the twin won in {} of {} keys (at most {:.1f} % by the upper 95 % bound) and "
      "lost in {}",
      test.wins, test.keys, 100 * test.upper_bound, test.losses);
}

}  // namespace colltune
