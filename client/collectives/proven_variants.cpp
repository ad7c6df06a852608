// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "proven_variants.h"

#include <algorithm>
#include <cmath>

namespace colltune {

// A decision's order is: the winner, the others that are proven to beat the baseline, the baseline,
// the rest.
std::span<const RankedVariant> ProvenVariants::proven_in(const Decision& decision) const {
  if (decision.verdict != Verdict::displaced) return {};
  const auto end = std::ranges::find_if(decision.ranked, [&](const RankedVariant& one) {
    return one.is_baseline ||
           (library_follows_rules_ && one.variant.implementation.starts_with("mpi."));
  });
  if (std::ranges::none_of(decision.ranked, &RankedVariant::is_baseline)) return {};
  return {decision.ranked.begin(), end};
}

std::vector<ProvenVariant> ProvenVariants::at(TableView::Group group,
                                              std::span<const Bytes> sizes) {
  if (!set_) {
    set_ = table_.read_decisions();
    for (const Decision& decision : set_->decisions)
      if (decision.family == any_family)
        if (const auto of = resolve(table_.view(), decision.key, any_family))
          decisions_[*of][decision.key.problem.message_size] = &decision;
  }
  const BySize& by_size = decisions_[group];
  std::vector<ProvenVariant> proven;
  for (const Bytes size : sizes) {
    const auto found = by_size.find(size);
    if (found == by_size.end()) return {};
    const std::span<const RankedVariant> here = proven_in(*found->second);
    if (size == sizes.front())
      for (const RankedVariant& one : here)
        proven.push_back({.variant = one.variant,
                          .smallest = one.limits.min_message,
                          .largest = one.limits.max_message});
    std::erase_if(proven, [&](ProvenVariant& one) {
      const auto ranked = std::ranges::find(here, one.variant, &RankedVariant::variant);
      if (ranked == here.end()) return true;
      one.speedup *=
          std::pow(ranked->speedup_over_baseline, 1.0 / static_cast<double>(sizes.size()));
      one.times[size] = ranked->median;
      return false;
    });
  }
  std::ranges::stable_sort(proven, std::ranges::greater{}, &ProvenVariant::speedup);
  return proven;
}

}  // namespace colltune
