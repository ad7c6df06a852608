// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <cstring>

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

/// The end of the rules that begin at `begin` and are alike by `of`.
template <class Of>
std::size_t end_of_like(Rules rules, std::size_t begin, Of of) {
  std::size_t end = begin;
  while (end < rules.size() && of(rules[end]) == of(rules[begin])) ++end;
  return end;
}

/// Whether some call is of both keys, which differ in their buffers and pipe operations alone.
bool can_meet(const SnapshotKey& one, const SnapshotKey& other) {
  return (one.registered == other.registered || one.registered == any_registered ||
          other.registered == any_registered) &&
         (one.pipe_operations == other.pipe_operations ||
          one.pipe_operations == any_pipe_operations ||
          other.pipe_operations == any_pipe_operations);
}

/// Looks for a rule of `later` whose bytes meet those of one of `earlier`, both ordered and each
/// free of such among its own; the place in `later`, or its size.
std::size_t find_meeting(Rules earlier, Rules later) {
  std::size_t at = 0;
  for (std::size_t place = 0; place < later.size(); ++place) {
    while (at < earlier.size() && earlier[at].max_bytes < later[place].min_bytes) ++at;
    if (at < earlier.size() && earlier[at].min_bytes <= later[place].max_bytes) return place;
  }
  return later.size();
}

struct World {
  std::uint8_t function;
  std::int32_t ranks;
  std::int32_t nodes;
  friend constexpr bool operator==(const World&, const World&) = default;
};
World world_of(const SnapshotRule& rule) { return {rule.function, rule.ranks, rule.nodes}; }

/// The first rule that is for a call of another one; the number of rules where there is none. The
/// rules are in order.
std::size_t find_ambiguous(Rules rules) {
  for (std::size_t world = 0; world < rules.size();) {
    const std::size_t end = end_of_like(rules, world, world_of);
    for (std::size_t later = world; later < end;) {
      const std::size_t later_end = end_of_like(rules.first(end), later, key_of);
      for (std::size_t earlier = world; earlier < later;) {
        const std::size_t earlier_end = end_of_like(rules.first(end), earlier, key_of);
        if (can_meet(key_of(rules[earlier]), key_of(rules[later]))) {
          const std::size_t place = find_meeting(rules.subspan(earlier, earlier_end - earlier),
                                                 rules.subspan(later, later_end - later));
          if (later + place < later_end) return later + place;
        }
        earlier = earlier_end;
      }
      later = later_end;
    }
    world = end;
  }
  return rules.size();
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
