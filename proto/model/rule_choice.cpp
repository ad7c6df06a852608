// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/model/rule_choice.h"

#include <algorithm>
#include <cmath>
#include <optional>

namespace colltune {
namespace {

/// By how much `other` takes longer than `name` in these: the mean of the ratios' logarithms;
/// nothing if one of the two was not measured in one of them.
std::optional<double> advantage(std::span<const RuleStanding> standings, const std::string& name,
                                const std::string& other) {
  double sum = 0;
  for (const RuleStanding& one : standings) {
    const auto own = one.regret.find(name);
    const auto others = one.regret.find(other);
    if (own == one.regret.end() || others == one.regret.end()) return {};
    sum += std::log(others->second / own->second);
  }
  return sum / static_cast<double>(standings.size());
}

}  // namespace

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

std::uint64_t border_between_rules(const NamedAtSize& low, const NamedAtSize& high) {
  constexpr double least_gain = 0.02;
  const auto at_low = advantage(low.standings, low.name, high.name);
  const auto at_high = advantage(high.standings, low.name, high.name);
  double share = 0.5;
  if (at_low && !at_high) {
    share = 0;
  } else if (at_high && !at_low) {
    share = 1;
  } else if (at_low && at_high && *at_low > *at_high) {
    const double wanted = high.name.empty() ? least_gain : low.name.empty() ? -least_gain : 0;
    share = std::clamp((*at_low - wanted) / (*at_low - *at_high), 0.0, 1.0);
  }
  const double from = std::log2(static_cast<double>(std::max<std::uint64_t>(1, low.size)));
  const double to = std::log2(static_cast<double>(high.size));
  // Powers of two must come out exactly.
  const auto border =
      static_cast<std::uint64_t>(std::exp2(from + share * (to - from)) * (1 + 1e-12));
  return std::clamp(border, low.size, high.size - 1);
}

}  // namespace colltune
