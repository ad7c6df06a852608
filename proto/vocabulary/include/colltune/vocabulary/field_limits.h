// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "colltune/vocabulary/composition.h"
#include "colltune/vocabulary/decision.h"
#include "colltune/vocabulary/environment.h"
#include "colltune/vocabulary/fits/variant_fit.h"
#include "colltune/vocabulary/lookup.h"
#include "colltune/vocabulary/measurement.h"
#include "colltune/vocabulary/members.h"
#include "colltune/vocabulary/mesh.h"
#include "colltune/vocabulary/utf8.h"
#include "colltune/vocabulary/world_members.h"

// What the fields of the vocabulary may hold if a value comes from outside: from a peer, a results
// file, or a database that another program wrote. This is the only list; the wire format, `import`,
// the store and its readers use it.

namespace colltune {

/// What a field may hold.
struct FieldLimits {
  std::int64_t least = 0;                                          ///< of a number
  std::uint64_t most = std::numeric_limits<std::uint64_t>::max();  ///< of a number
  std::size_t longest_text = 4096;                                 ///< bytes
  std::size_t most_entries = 65'536;                               ///< of a list
  bool is_utf8 = true;                                             ///< of a text
};

struct NamedLimits {
  std::string_view field;
  FieldLimits limits;
};

/// Ranks of a world, and of a mesh.
inline constexpr std::uint64_t most_ranks = most_mesh_ranks;

/// Those fields of `T` whose limits differ from the usual ones, by their names in visit_fields. An
/// empty name stands for all fields.
template <class T>
inline constexpr std::array<NamedLimits, 0> unusual_limits{};
template <>
inline constexpr std::array<NamedLimits, 2> unusual_limits<MeshReduction>{
    {{"shape", {.most_entries = most_mesh_dimensions}}, {"steps", {.most_entries = 4096}}}};
template <>
inline constexpr std::array<NamedLimits, 1> unusual_limits<MeshStep>{
    {{"groups", {.most_entries = most_ranks}}}};
template <>
inline constexpr std::array<NamedLimits, 1> unusual_limits<ArchitectureCount>{
    {{"ranks", {.least = 1, .most = most_ranks}}}};
template <>
inline constexpr std::array<NamedLimits, 3> unusual_limits<Topology>{
    {{"nodes", {.least = 1, .most = most_ranks}},
     {"ranks_per_node", {.least = 1, .most = most_ranks}},
     {"ranks", {.least = 1, .most = most_ranks}}}};
template <>
inline constexpr std::array<NamedLimits, 2> unusual_limits<Limits>{
    {{"ranks_multiple_of", {.least = 1, .most = most_ranks}}, {"alignment_bytes", {.least = 1}}}};
template <>
inline constexpr std::array<NamedLimits, 1> unusual_limits<MemberKind>{
    {{"features", {.most_entries = 4096}}}};
template <>
inline constexpr std::array<NamedLimits, 2> unusual_limits<Members>{
    {{"kinds", {.most_entries = 4096}}, {"kind_of_rank", {.most_entries = most_ranks}}}};
template <>
inline constexpr std::array<NamedLimits, 1> unusual_limits<Part>{
    {{"kinds", {.most_entries = 4096}}}};
/// Sets of library variables can be long: 45 of UCX's take 4 KiB.
template <>
inline constexpr std::array<NamedLimits, 1> unusual_limits<Environment>{
    {{"", {.longest_text = 65'536}}}};
/// A lookup appends to a decision's reason what it left out, and why.
template <>
inline constexpr std::array<NamedLimits, 1> unusual_limits<Decision>{
    {{"reason", {.longest_text = 65'536}}}};
template <>
inline constexpr std::array<NamedLimits, 2> unusual_limits<LookupQuery>{
    {{"nodes", {.least = 1, .most = most_ranks}},
     {"ranks_per_node", {.least = 1, .most = most_ranks}}}};
template <>
inline constexpr std::array<NamedLimits, 4> unusual_limits<Measurement>{
    {{"detail", {.longest_text = 65'536, .is_utf8 = false}},  // text of a library
     {"samples_ns", {.most_entries = 1U << 24U}},
     {"slowest_ranks", {.most_entries = 1U << 24U}},
     {"marks", {.most_entries = 1U << 24U}}}};
/// A line through two times may begin below 0, and falls where the larger size was faster.
template <>
inline constexpr std::array<NamedLimits, 2> unusual_limits<FitSegment>{
    {{"alpha_ns", {.least = std::numeric_limits<std::int64_t>::min()}},
     {"beta_ns_per_byte", {.least = std::numeric_limits<std::int64_t>::min()}}}};
/// Negative: not observed.
template <>
inline constexpr std::array<NamedLimits, 1> unusual_limits<Conditions>{{{"steal", {.least = -1}}}};

/// The limits of the field that visit_fields calls `field`.
template <class T>
[[nodiscard]] constexpr FieldLimits limits_of_field(std::string_view field) {
  for (const NamedLimits& unusual : unusual_limits<T>)
    if (unusual.field.empty() || unusual.field == field) return unusual.limits;
  return {};
}

/// The path to a field; rendered only for an error.
struct FieldPath {
  enum class Form { dots, slashes };  ///< "query.kinds[1].name", "file:3/kinds/1/name"

  const FieldPath* parent = nullptr;
  std::string_view name;
  int index = -1;
  Form form = Form::dots;  ///< of the first field

  [[nodiscard]] std::string text() const;
};

/// Throw Error(invalid_argument) whose message begins with the path, if a single value violates
/// `limits`.
void check_number(std::int64_t number, const FieldLimits& limits, const FieldPath& path);
void check_number(std::uint64_t number, const FieldLimits& limits, const FieldPath& path);
void check_number(double number, const FieldLimits& limits, const FieldPath& path);
void check_bytes(std::uint64_t bytes, const FieldLimits& limits, const FieldPath& path);
void check_text(std::string_view text, const FieldLimits& limits, const FieldPath& path);
void check_entries(std::size_t entries, const FieldLimits& limits, const FieldPath& path);

/// Throws Error(invalid_argument) whose message begins with the path of the first bad field. A
/// field is bad if its value violates its limits, is not UTF-8 or not a finite number, or
/// contradicts another field: what check() refuses in problems and members, decisions that rank
/// nothing, compositions without parts, fits without sizes in order, variants that do not print as
/// they parse. The work is linear in the size of `value`.
template <class T>
void check_value(const T& value, const FieldPath& path);

}  // namespace colltune
