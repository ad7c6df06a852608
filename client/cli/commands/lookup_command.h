// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>

#include "colltune/vocabulary/lookup.h"
#include "source/origin.h"
#include "source/remote.h"

namespace colltune {

/// `colltune lookup` as typed; empty fields were not given.
struct LookupOptions {
  Origin origin;
  std::string collective;
  std::string bytes;
  std::string data_type = "f32";
  std::string reduce_op;
  std::string numeric_class;
  std::string counts;
  std::string mesh;    ///< shape, for a mesh_reduce
  std::string reduce;  ///< what is reduced over it
  std::string policy;
  bool in_place = false;
  bool registered = false;
  bool graph_capture = false;
  std::optional<int> nodes;
  std::optional<int> ranks_per_node;
  std::string architecture;
  std::string environment_digest;
  std::string placement;
  std::string layout_digest;
  std::string interconnect;
  std::string family;
  std::string calling;
  std::string input;
  std::string match;
  std::string members;  ///< path of a file
  bool json = false;
  bool is_wide = false;  ///< tables may take more than 80 columns
};

/// The query that the options describe. Throws Error(invalid_argument) that names the option.
[[nodiscard]] LookupQuery query_of(const LookupOptions& options);

/// The same query with its environment resolved by environment_named() among those of the
/// decisions; no other environment is substituted.
[[nodiscard]] LookupQuery resolved_query(const LookupOptions& options);

/// The answer from the database, table file or server that `origin` names. If the query names no
/// environment and several fit, one is guessed, as `Client::lookup_once` does, and standard error
/// says so.
[[nodiscard]] FoundAnswer find_answer(const Origin& origin, const LookupQuery& query);
/// The answer to `query` for a person: the winner, the evidence for it, the ranking, and what each
/// kind of the asking ranks runs if they do not all run one variant. `width` is the width of the
/// ranking; 0: as wide as needed.
[[nodiscard]] std::string answer_text(const FoundAnswer& found, const LookupQuery& query,
                                      std::size_t width);

/// Looks up the decision and prints it.
void run_lookup(const LookupOptions& options, std::ostream& out);

}  // namespace colltune
