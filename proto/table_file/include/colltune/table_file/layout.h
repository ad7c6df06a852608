// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

/// The layout of a table file; the README of this folder describes it. Little-endian. A version
/// never changes. A file is written in the oldest version that can hold it.
namespace colltune::table_file {

static_assert(std::endian::native == std::endian::little, "table files are little-endian");

inline constexpr std::array<char, 8> magic{'C', 'T', 'T', 'A', 'B', 'L', 'E', '\n'};
/// The oldest version that is read.
inline constexpr std::uint32_t first_version = 1;
/// In addition, counts in calls and in the evidence.
inline constexpr std::uint32_t version_with_counts = 2;
[[nodiscard]] constexpr bool has_counts(std::uint32_t version) {
  return version >= version_with_counts;
}
/// In addition, what fits say between and beyond measured sizes, and the fits in the evidence.
inline constexpr std::uint32_t version_with_fits = 3;
[[nodiscard]] constexpr bool has_fits(std::uint32_t version) {
  return version >= version_with_fits;
}
inline constexpr std::uint32_t newest_version = version_with_fits;
/// In place of the number of a string, variant, mesh or group: there is none.
inline constexpr std::uint32_t none = 0xffffffff;

using Digest = std::array<unsigned char, 16>;  ///< XXH3-128 in its canonical (big-endian) form

struct Header {
  std::array<char, 8> magic;
  std::uint32_t version;
  std::uint32_t header_bytes;
  /// XXH3-128 of the bytes from behind this field to the evidence, seeded with XXH3-64 of the bytes
  /// before it.
  Digest digest;
  std::uint64_t file_bytes;
  std::uint64_t generation;
  std::uint64_t decisions;
  std::uint32_t store_uuid;          ///< strings, as the next two
  std::uint32_t content_digest;      ///< of the generation
  std::uint32_t environment_digest;  ///< of every decision's key
  std::uint32_t predictions;         ///< records of the last section below; 0 before version 3
  // Records in each section. Sections follow each other in this order; each begins at a multiple of
  // 8 behind the one before, and bytes between them are 0.
  std::uint64_t text_bytes;
  std::uint64_t strings;
  std::uint64_t facts;
  std::uint64_t variants;
  std::uint64_t families;
  std::uint64_t meshes;
  std::uint64_t worlds;
  std::uint64_t groups;
  std::uint64_t slots;
  std::uint64_t ranges;
  std::uint64_t evidence_bytes;
  Digest evidence_digest;  ///< XXH3-128 of the evidence, which ends the file
};
static_assert(sizeof(Header) == 176 && offsetof(Header, digest) == 16);

struct StringRecord {
  std::uint32_t offset;  ///< into the text
  std::uint32_t length;
};

/// A fact of the environment, for a person.
struct FactRecord {
  std::uint32_t name;
  std::uint32_t value;
};

struct VariantRecord {
  std::uint32_t implementation;
  std::uint32_t text;  ///< "name{a=1,b=ring}"
};

/// Ascending by digest.
struct WorldRecord {
  Digest digest;  ///< of the topology's canonical text
  std::int32_t nodes;
  std::int32_t ranks_per_node;
  std::int32_t ranks;
  std::uint32_t placement;
  std::uint32_t architecture;  ///< strings, as the next two; architecture_name()
  std::uint32_t layout_digest;
  std::uint32_t interconnect;
  std::uint32_t reserved;
};
static_assert(sizeof(WorldRecord) == 48);

/// Calls that differ only in message size. `problem` is packed by pack_call() (view.h).
struct GroupKeyRecord {
  std::uint64_t problem;
  std::uint32_t world;
  std::uint32_t family;  ///< number in the section of families
  std::uint32_t mesh;    ///< number in the section of meshes, or none
  std::uint32_t reserved;

  friend constexpr auto operator<=>(const GroupKeyRecord&, const GroupKeyRecord&) = default;
};

/// Ascending by key. Groups with equal answers share their ranges.
struct GroupRecord {
  GroupKeyRecord key;
  std::uint64_t unit;         ///< sizes are rounded down to multiples of it
  std::uint64_t first_range;  ///< number of the first of its ranges
  std::uint64_t ranges;       ///< at least 1
};
static_assert(sizeof(GroupRecord) == 48);

// A slot of the directory is the number of a group, or none. There is a power of two of them, at
// least twice as many as groups. A group is in the first free slot from XXH3-64 of its key on.

// The first size of a range stands in an array of its own (8 bytes each), in front of the records:
// ascending within a group from 0 on, multiples of the group's unit. A range ends before the next.
struct RangeRecord {
  std::uint64_t from;  ///< the measured sizes that the answer is based on: one, twice, or two
  std::uint64_t to;
  std::int64_t time_from;  ///< of the variant at these sizes, in ns
  std::int64_t time_to;
  std::int64_t baseline_from;  ///< of the baseline; 0 if there is none
  std::int64_t baseline_to;
  std::uint32_t variant;   ///< none: no measured variant can run these sizes
  std::uint32_t baseline;  ///< none: it is not ranked
  std::uint8_t source;
  std::uint8_t verdict;
  std::uint8_t status;
  std::uint8_t is_baseline;
  std::uint32_t prediction;  ///< 1 + number of the record, or 0: none

  friend bool operator==(const RangeRecord&, const RangeRecord&) = default;
};
static_assert(sizeof(RangeRecord) == 64);

/// What fits say of a range of sizes. A time that has a line is, in ns,
/// (alpha + beta * size) * exp(growth * position), where the position is that of the size between
/// the range's `from` (0) and `to` (1) by position_between(); of a baseline the growth is 0.
struct PredictionRecord {
  double alpha;  ///< in ns; 0 as the next two if the variant has no line
  double beta;   ///< in ns per byte
  double growth;
  double baseline_alpha;
  double baseline_beta;
  double low;  ///< bounds of the variant's measured time / this one; 0 if no model has an interval
  double high;
  std::uint32_t model;  ///< string, or none: no interval
  std::uint8_t has_line;
  std::uint8_t has_baseline_line;
  std::uint8_t choice;  ///< FitChoice
  std::uint8_t reserved;

  friend bool operator==(const PredictionRecord&, const PredictionRecord&) = default;
};
static_assert(sizeof(PredictionRecord) == 64);

}  // namespace colltune::table_file
