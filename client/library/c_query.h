// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What the C interface's functions share: questions from C's structures, and answers to them.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "colltune/client.h"
#include "colltune/client/local_table.h"

struct colltune_answer {
  colltune::LookupAnswer answer;
  std::vector<std::string> variants;      ///< as long as answer.decision.ranked
  std::vector<std::string> compositions;  ///< JSON; one per variant; empty: not composed
  std::vector<std::string> kinds;         ///< digests of the kinds that `kind_of_member` refers to
  std::vector<int> kind_of_member;        ///< copied from the query
  std::vector<colltune::ApplySettings> apply;         ///< one per variant
  std::vector<std::vector<const char*>> variables{};  ///< of `apply`, each with NULL at the end
  colltune::Regime regime{};
  std::string world{};
  std::string guess{};
};

namespace colltune {

[[noreturn]] void refuse(const std::string& what);

/// Throws Error(invalid_argument) that names the field.
[[nodiscard]] LookupQuery query_of(const colltune_query* asked);

/// The content digest of the pinned generation.
[[nodiscard]] std::optional<std::string> pinned_digest_of(const colltune_query* asked);

/// The answer with the texts that its functions point to.
[[nodiscard]] std::unique_ptr<colltune_answer> make_answer(const LookupQuery& question,
                                                           FoundAnswer&& found);

/// The answer of a table, whose generation must have this content.
[[nodiscard]] FoundAnswer look_up(const LocalTable& table, const LookupQuery& query,
                                  const std::optional<std::string>& generation_digest);

}  // namespace colltune

struct colltune_table {
  colltune::LocalTable table;
};
