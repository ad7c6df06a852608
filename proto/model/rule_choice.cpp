// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/rule_choice.h"

#include <algorithm>

namespace colltune {

RuleStanding standing_of(const Decision& decision, const CanName& can_name) {
  RuleStanding standing;
  double fastest = 0;
  bool before_baseline = true;
  for (const RankedVariant& ranked : decision.ranked) {
    if (!ranked.is_baseline && !can_name(ranked.variant)) continue;
    const auto time = static_cast<double>(std::max<std::int64_t>(1, ranked.median.count()));
    fastest = fastest == 0 ? time : std::min(fastest, time);
    const std::string name = ranked.is_baseline ? std::string() : to_string(ranked.variant);
    standing.regret.emplace(name, time);
    // The ranking has what is proven faster in front of the baseline.
    if (before_baseline) standing.safe.insert(name);
    if (ranked.is_baseline) before_baseline = false;
  }
  for (auto& [name, time] : standing.regret) time /= fastest;
  return standing;
}

std::string least_worst_regret(std::span<const RuleStanding> standings) {
  std::string best;
  double least = 0;
  for (const std::string& name : standings.front().safe) {
    double worst = 0;
    const bool is_safe = std::ranges::all_of(standings, [&](const RuleStanding& one) {
      if (!one.safe.contains(name)) return false;
      worst = std::max(worst, one.regret.at(name));
      return true;
    });
    if (!is_safe) continue;
    if (least == 0 || worst < least) {
      best = name;
      least = worst;
    }
  }
  return best;
}

}  // namespace colltune
