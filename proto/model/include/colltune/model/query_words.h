// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "colltune/vocabulary/bytes.h"
#include "colltune/vocabulary/lookup.h"

namespace colltune {

/// A question in its caller's words: names as texts. An empty text and a count of 0 leave open what
/// they are for. The fields are those of LookupQuery and Problem, by the same names.
struct QueryWords {
  std::string_view collective;  ///< a Collective, or "mesh_reduce"
  std::string_view data_type;
  Bytes message_size;
  std::string_view reduce_op{};  ///< `sum` if left open and the collective reduces
  std::string_view numeric_class{};
  std::string_view counts{};      ///< `equal` if left open
  std::string_view mesh_shape{};  ///< of a mesh_reduce, as parse_mesh takes it
  std::string_view mesh_steps{};  ///< of a mesh_reduce, as parse_mesh takes it
  std::string_view mesh_form{};   ///< of a mesh_reduce: "measured" (open) or one of its forms
  bool in_place = false;
  bool registered = false;
  bool graph_capture = false;
  int nodes = 0;
  int ranks_per_node = 0;
  std::string_view architecture{};
  std::string_view environment_digest{};
  std::string_view layout_digest{};
  std::string_view interconnect{};
  std::string_view placement{};
  std::string_view family{};
  std::string_view calling{};
  std::string_view input{};
  std::string_view at_least{};
  std::optional<std::uint64_t> generation{};
};

/// What the caller calls a field of QueryWords ("--op" for "reduce_op").
using NameOfField = std::function<std::string(std::string_view field)>;

/// The question. `members` stay open. Throws Error(invalid_argument) that begins with what
/// `name_of_field` says of the field at fault.
[[nodiscard]] LookupQuery read_query(const QueryWords& words, const NameOfField& name_of_field);

}  // namespace colltune
