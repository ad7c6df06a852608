// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/members.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <set>
#include <string_view>

#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

constexpr std::string_view quantity = "memory.bytes";
constexpr std::string_view masked_prefix = "without.";
constexpr std::string_view unavailable_suffix = ".unavailable";

/// A mask may contain a pattern of parameters ("without.cpu.*{chunk=0}"), so the whole of it is the
/// name.
std::string_view name_of_feature(std::string_view feature) {
  return feature.starts_with(masked_prefix) ? feature : feature.substr(0, feature.find('='));
}

/// A feature that records an absence does not make a rank less capable.
bool is_lack(std::string_view name) {
  return name.starts_with(masked_prefix) || name.ends_with(unavailable_suffix);
}

const std::string* find_feature(const MemberKind& kind, std::string_view name) {
  const auto found = std::ranges::lower_bound(kind.features, name, {}, name_of_feature);
  return found != kind.features.end() && name_of_feature(*found) == name ? &*found : nullptr;
}

std::uint64_t amount_of(std::string_view feature) {
  const std::string_view value = feature.substr(std::min(feature.size(), quantity.size() + 1));
  std::uint64_t amount = 0;
  std::from_chars(value.data(), value.data() + value.size(), amount);
  return amount;
}

bool fits_architecture(std::string_view own, std::string_view other) {
  if (own == other) return true;
  const auto family = own.substr(0, own.find('-'));
  const bool is_processor = family == "x86_64" || family == "aarch64";
  return is_processor && family == other.substr(0, other.find('-'));
}

[[noreturn]] void refuse_members(const std::string& what) {
  throw Error(StatusCode::invalid_argument, "members: " + what);
}

}  // namespace

void check(const Members& members) {
  if (members.kind_of_rank.empty()) refuse_members("there is no rank");
  for (const MemberKind& kind : members.kinds)
    for (std::size_t i = 1; i < kind.features.size(); ++i)
      if (name_of_feature(kind.features[i - 1]) >= name_of_feature(kind.features[i]))
        refuse_members("the feature '" + kind.features[i] + "' stands behind '" +
                       kind.features[i - 1] +
                       "'; features stand in the order of their names, each once");
  for (std::size_t i = 1; i < members.kinds.size(); ++i)
    if (members.kinds[i - 1] >= members.kinds[i])
      refuse_members("kind " + std::to_string(i) +
                     " is not behind the one before it in their order");
  std::vector<bool> seen(members.kinds.size(), false);
  std::size_t kinds_seen = 0;
  for (std::size_t rank = 0; rank < members.kind_of_rank.size(); ++rank) {
    const int kind = members.kind_of_rank[rank];
    if (kind < 0 || static_cast<std::size_t>(kind) >= members.kinds.size())
      refuse_members("rank " + std::to_string(rank) + " is of kind " + std::to_string(kind) +
                     "; there are " + std::to_string(members.kinds.size()));
    if (!seen[static_cast<std::size_t>(kind)]) ++kinds_seen;
    seen[static_cast<std::size_t>(kind)] = true;
  }
  if (kinds_seen != members.kinds.size()) refuse_members("some kind is no rank's");
}

std::string why_less(const MemberKind& own, const MemberKind& other) {
  if (!fits_architecture(own.architecture, other.architecture))
    return "is " + own.architecture + ", not " + other.architecture;
  for (const std::string& feature : other.features) {
    const std::string_view name = name_of_feature(feature);
    if (is_lack(name)) continue;
    const std::string* const found = find_feature(own, name);
    if (found == nullptr) return "lacks " + feature;
    const bool is_enough =
        name == quantity ? amount_of(*found) >= amount_of(feature) : *found == feature;
    if (!is_enough) return "has " + *found + ", not " + feature;
  }
  for (const std::string& feature : own.features)
    if (feature.starts_with(masked_prefix) &&
        std::ranges::find(other.features, feature) == other.features.end())
      return "is to do " + feature;
  return {};
}

std::string why_less(const Members& own, const Members& others) {
  if (own.kind_of_rank.size() != others.kind_of_rank.size())
    return std::to_string(own.kind_of_rank.size()) + " ranks, not " +
           std::to_string(others.kind_of_rank.size());
  std::set<std::pair<int, int>> seen;
  for (std::size_t rank = 0; rank < own.kind_of_rank.size(); ++rank) {
    const std::pair kinds(own.kind_of_rank[rank], others.kind_of_rank[rank]);
    if (!seen.insert(kinds).second) continue;
    std::string why = why_less(own.kinds[static_cast<std::size_t>(kinds.first)],
                               others.kinds[static_cast<std::size_t>(kinds.second)]);
    if (!why.empty()) return "rank " + std::to_string(rank) + " " + why;
  }
  return {};
}

}  // namespace colltune
