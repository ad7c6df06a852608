// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

/// The layout of a decision snapshot in its file: a header, then rules in the order of
/// `SnapshotKey`, then by bytes. Little-endian. A version never changes; the README of this folder
/// describes them.
namespace colltune::nccl {

static_assert(std::endian::native == std::endian::little, "snapshots are little-endian files");

inline constexpr std::array<char, 8> snapshot_magic{'C', 'T', 'N', 'C', 'C', 'L', 'S', '\n'};
inline constexpr std::uint32_t snapshot_version = 1;
/// More rules than any cluster's table has; a file that claims more is damaged.
inline constexpr std::uint64_t most_snapshot_rules = std::uint64_t{1} << 20;

struct SnapshotHeader {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t header_bytes;
  std::uint32_t rule_bytes;
  std::uint32_t reserved;
  std::uint64_t rules;
  std::uint64_t generation;  ///< of the decisions that it was made from
  /// XXH3-128 (canonical) of the rules, with XXH3-64 of the header before this field as the seed.
  std::array<unsigned char, 16> digest;
};
static_assert(sizeof(SnapshotHeader) == 56 && offsetof(SnapshotHeader, digest) == 40);

/// Value if `SnapshotRule::registered` may be either; for pipe operations the value is 0.
inline constexpr std::uint8_t any_registered = 2;
inline constexpr std::int32_t any_pipe_operations = 0;

/// One answer, for calls of a communicator of `ranks` on `nodes` whose bytes lie in a range.
struct SnapshotRule {
  std::uint64_t min_bytes;
  std::uint64_t max_bytes;  ///< inclusive
  std::int32_t ranks;
  std::int32_t nodes;
  std::int32_t pipe_operations;
  float time_us;
  std::int32_t channels;  ///< 0: NCCL decides
  std::uint8_t function;
  std::uint8_t registered;
  std::uint8_t algorithm;
  std::uint8_t protocol;
};
static_assert(sizeof(SnapshotRule) == 40);

/// The calls that a rule is for, except for their bytes.
struct SnapshotKey {
  std::uint8_t function;
  std::int32_t ranks;
  std::int32_t nodes;
  std::uint8_t registered;
  std::int32_t pipe_operations;

  friend constexpr auto operator<=>(const SnapshotKey&, const SnapshotKey&) = default;
};
constexpr SnapshotKey key_of(const SnapshotRule& rule) {
  return {rule.function, rule.ranks, rule.nodes, rule.registered, rule.pipe_operations};
}

/// The result of `check_snapshot`.
struct CheckedSnapshot {
  const char* damage = nullptr;  ///< null: intact
  std::uint64_t rule = 0;        ///< number of the damaged rule, from 0, if the damage is in a rule
  bool is_about_a_rule = false;
  SnapshotHeader header{};
  std::span<const SnapshotRule> rules{};  ///< point into the checked bytes
};

/// Checks that `bytes`, aligned to 8, are a whole snapshot: size, version, digest, every number,
/// the order, and that no call has two rules. Allocates nothing, throws nothing.
[[nodiscard]] CheckedSnapshot check_snapshot(std::span<const std::byte> bytes) noexcept;

/// The value for the header's digest field. `bytes` must hold at least a header.
[[nodiscard]] std::array<unsigned char, 16> digest_of_snapshot(
    std::span<const std::byte> bytes) noexcept;

}  // namespace colltune::nccl
