// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "members_choice.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

namespace colltune {
namespace {

/// A feature may be 4096 bytes long, but a reason must fit into a string of the wire format.
constexpr std::size_t shown_lack_at_most = 300;

std::string shortened(std::string text) {
  if (text.size() <= shown_lack_at_most) return text;
  std::size_t end = shown_lack_at_most;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;
  return text.substr(0, end) + " ...";
}

bool can_do_all_of(const Members& own, const Members& others) {
  return why_less(own, others).empty();
}

/// Ordered by the key of the first decision, which is the same in every process that has these
/// decisions.
std::vector<const Curve*> in_order_of_keys(std::vector<const Curve*> curves) {
  std::ranges::sort(curves, {}, [](const Curve* curve) -> const TuningKey& {
    return curve->decisions.front()->key;
  });
  return curves;
}

std::size_t ranks_that_lack(const Members& asking, const Members& measured) {
  std::map<std::pair<int, int>, bool> seen;
  std::size_t lacking = 0;
  for (std::size_t rank = 0; rank < asking.kind_of_rank.size(); ++rank) {
    const std::pair kinds(asking.kind_of_rank[rank], measured.kind_of_rank[rank]);
    const auto [entry, is_new] = seen.emplace(kinds, false);
    if (is_new)
      entry->second = !why_less(asking.kinds[static_cast<std::size_t>(kinds.first)],
                                measured.kinds[static_cast<std::size_t>(kinds.second)])
                           .empty();
    if (entry->second) ++lacking;
  }
  return lacking;
}

std::string note_on(const Members& measured, const Members& asking) {
  const std::string lack = why_less(measured, asking);
  if (lack.empty()) return "measured with members of other kinds that can do as much";
  return "measured with members that can do less: there " + shortened(lack);
}

}  // namespace

MembersChoice choose_by_members(const std::vector<const Curve*>& fitting, const Members& asking) {
  MembersChoice choice;
  std::ranges::copy_if(fitting, std::back_inserter(choice.curves), [&](const Curve* curve) {
    return curve->members != nullptr && *curve->members == asking;
  });
  if (!choice.curves.empty()) {
    choice.match = MembersMatch::same;
    return choice;
  }
  const Curve* best = nullptr;
  for (const Curve* curve : in_order_of_keys(fitting)) {
    if (curve->members == nullptr || !can_do_all_of(asking, *curve->members)) continue;
    if (best == nullptr || (can_do_all_of(*curve->members, *best->members) &&
                            !can_do_all_of(*best->members, *curve->members)))
      best = curve;
  }
  if (best == nullptr) return choice;
  return {.curves = {best}, .match = MembersMatch::less, .note = note_on(*best->members, asking)};
}

const Curve& closest_by_members(const std::vector<const Curve*>& fitting, const Members& asking) {
  const auto distance = [&](const Curve* curve) {
    return curve->members == nullptr ? asking.kind_of_rank.size() + 1
                                     : ranks_that_lack(asking, *curve->members);
  };
  const auto curves = in_order_of_keys(fitting);
  return **std::ranges::min_element(curves, {}, distance);
}

std::string why_not_for(const Curve& curve, const Members& asking) {
  if (curve.members == nullptr)
    return "what the members of " + describe(*curve.topology) + " could do is not stored";
  return "beside those that were measured on " + describe(*curve.topology) + ", " +
         shortened(why_less(asking, *curve.members));
}

}  // namespace colltune
