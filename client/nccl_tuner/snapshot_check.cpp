// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "colltune/nccl/choice.h"
#include "colltune/nccl_tuner/snapshot_layout.h"

namespace colltune::nccl {
namespace {

using Rules = std::span<const SnapshotRule>;

const char* damage_of_header(const SnapshotHeader& header, std::size_t bytes) {
  if (header.magic != snapshot_magic) return "it is no snapshot of NCCL decisions";
  if (header.version != snapshot_version) return "its version is unknown here";
  if (header.header_bytes != sizeof(SnapshotHeader) || header.rule_bytes != sizeof(SnapshotRule) ||
      header.reserved != 0)
    return "its header is damaged";
  if (header.rules > most_snapshot_rules) return "it claims more rules than any table has";
  const std::size_t whole = sizeof(SnapshotHeader) + header.rules * sizeof(SnapshotRule);
  if (bytes < whole) return "it is truncated";
  if (bytes > whole) return "there is more behind its end";
  return nullptr;
}

const char* damage_of(const SnapshotRule& rule) {
  if (rule.min_bytes > rule.max_bytes) return "its range of bytes is empty";
  if (rule.function >= function_count) return "its collective is unknown";
  if (rule.ranks < 1 || rule.nodes < 1 || rule.nodes > rule.ranks)
    return "its ranks and nodes are no world";
  if (rule.pipe_operations < 0) return "its number of pipe operations is negative";
  if (rule.registered > any_registered) return "its kind of buffers is unknown";
  if (rule.algorithm >= algorithm_count) return "its algorithm is unknown";
  if (rule.protocol >= protocol_count) return "its protocol is unknown";
  if (rule.channels < 0 || rule.channels > most_channels)
    return "its channels are not 0 (NCCL decides) to 64";
  if (rule.channels != 0 && takes_channels_on_trust(static_cast<Algorithm>(rule.algorithm)))
    return "it asks CollNet for channels, which NCCL would not check";
  if (!std::isfinite(rule.time_us) || rule.time_us < 0) return "its time is no time";
  return nullptr;
}

/// The rules of one key: those from `begin` to `end`.
struct Group {
  std::size_t begin;
  std::size_t end;
};

Group find_group(Rules rules, const SnapshotKey& key) {
  const auto found = std::ranges::equal_range(rules, key, {}, key_of);
  const auto begin = static_cast<std::size_t>(found.begin() - rules.begin());
  return {begin, begin + found.size()};
}

/// The first rule of `one` whose byte range overlaps that of a rule of `other`, together with that
/// rule; empty if there is none. Both groups are ordered and have no overlaps within themselves.
std::optional<std::pair<std::size_t, std::size_t>> find_meeting(Rules rules, Group one,
                                                                Group other) {
  const Rules others = rules.subspan(other.begin, other.end - other.begin);
  for (std::size_t rule = one.begin; rule < one.end; ++rule) {
    const auto met =
        std::ranges::lower_bound(others, rules[rule].min_bytes, {}, &SnapshotRule::max_bytes);
    if (met != others.end() && met->min_bytes <= rules[rule].max_bytes)
      return std::pair(rule, other.begin + static_cast<std::size_t>(met - others.begin()));
  }
  return std::nullopt;
}

/// Other keys that share calls with `key`. A key for either kind of buffers, or for any number of
/// pipe operations, also applies to calls of more specific keys. A key for any number need not look
/// for those with a number, because they look for it.
std::array<SnapshotKey, 5> keys_beside(const SnapshotKey& key) {
  const auto with = [&](std::uint8_t registered, std::int32_t pipe_operations) {
    SnapshotKey beside = key;
    beside.registered = registered;
    beside.pipe_operations = pipe_operations;
    return beside;
  };
  const std::array<std::uint8_t, 2> kinds =
      key.registered == any_registered
          ? std::array<std::uint8_t, 2>{0, 1}
          : std::array<std::uint8_t, 2>{any_registered, any_registered};
  return {with(key.registered, any_pipe_operations), with(kinds[0], key.pipe_operations),
          with(kinds[1], key.pipe_operations), with(kinds[0], any_pipe_operations),
          with(kinds[1], any_pipe_operations)};
}

/// The first rule that applies to a call of an earlier rule with another key; the number of rules
/// if there is none. The rules must be in order. Takes time n log n in the number of rules.
std::size_t find_ambiguous(Rules rules) {
  std::size_t first = rules.size();
  for (std::size_t begin = 0; begin < rules.size();) {
    const SnapshotKey key = key_of(rules[begin]);
    const Group group = find_group(rules, key);
    for (const SnapshotKey& beside : keys_beside(key)) {
      if (beside == key) continue;
      if (const auto met = find_meeting(rules, group, find_group(rules, beside)))
        first = std::min(first, std::max(met->first, met->second));
    }
    begin = group.end;
  }
  return first;
}

}  // namespace

std::array<unsigned char, 16> digest_of_snapshot(std::span<const std::byte> bytes) noexcept {
  constexpr std::size_t field = offsetof(SnapshotHeader, digest);
  const auto rules = bytes.subspan(sizeof(SnapshotHeader));
  const XXH64_hash_t seed = XXH3_64bits(bytes.data(), field);
  XXH128_canonical_t canonical;
  XXH128_canonicalFromHash(&canonical, XXH3_128bits_withSeed(rules.data(), rules.size(), seed));
  std::array<unsigned char, 16> digest;
  std::memcpy(digest.data(), canonical.digest, digest.size());
  return digest;
}

CheckedSnapshot check_snapshot(std::span<const std::byte> bytes) noexcept {
  CheckedSnapshot found;
  if (bytes.size() < sizeof(SnapshotHeader)) {
    found.damage = bytes.empty() ? "it is empty" : "it is shorter than a header";
    return found;
  }
  std::memcpy(&found.header, bytes.data(), sizeof found.header);
  found.damage = damage_of_header(found.header, bytes.size());
  if (found.damage != nullptr) return found;
  if (digest_of_snapshot(bytes) != found.header.digest) {
    found.damage = "its bytes are not those that its digest is of";
    return found;
  }
  const Rules rules(
      reinterpret_cast<const SnapshotRule*>(bytes.data() + sizeof(SnapshotHeader)),  // NOLINT
      found.header.rules);
  const auto is_damaged = [&](std::size_t rule, const char* damage) {
    found.damage = damage;
    found.rule = rule;
    found.is_about_a_rule = damage != nullptr;
    return damage != nullptr;
  };
  for (std::size_t rule = 0; rule < rules.size(); ++rule) {
    if (is_damaged(rule, damage_of(rules[rule]))) return found;
    if (rule == 0) continue;
    const auto order = key_of(rules[rule - 1]) <=> key_of(rules[rule]);
    if (order > 0 || (order == 0 && rules[rule - 1].min_bytes > rules[rule].min_bytes)) {
      is_damaged(rule, "it is not behind the one before it");
      return found;
    }
    if (order == 0 && rules[rule - 1].max_bytes >= rules[rule].min_bytes) {
      is_damaged(rule, "another rule is for calls of it too");
      return found;
    }
  }
  if (const std::size_t rule = find_ambiguous(rules); rule < rules.size()) {
    is_damaged(rule, "another rule is for calls of it too");
    return found;
  }
  found.rules = rules;
  return found;
}

}  // namespace colltune::nccl
