// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// What the C interface's functions share: questions from C's structures, and answers to them.
#pragma once

#include <algorithm>
#include <cstring>
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

/// The caller's structure in the current form: fields that an older caller's structure lacks are
/// 0. No more of it is read than its size says. Refuses one that is shorter than its first version,
/// `smallest`, and one that is larger than ours and sets what we do not know.
template <class Struct>
[[nodiscard]] Struct current_form(const Struct& given, std::size_t smallest, const char* name) {
  std::size_t size = 0;
  std::memcpy(&size, &given, sizeof size);
  if (size < smallest)
    refuse(std::string(name) + ".struct_size is " + std::to_string(size) + "; set it to sizeof(" +
           name + ")");
  Struct own{};
  const auto* const bytes = reinterpret_cast<const unsigned char*>(&given);
  std::memcpy(&own, bytes, std::min(size, sizeof own));
  if (size > sizeof own &&
      std::any_of(bytes + sizeof own, bytes + size, [](unsigned char byte) { return byte != 0; }))
    refuse(std::string(name) +
           " uses a field that this libcolltune_client does not know; update it");
  return own;
}

/// A number that is left open where it is 0. Throws Error(invalid_argument) if it is negative.
[[nodiscard]] std::optional<int> positive_or_open(int value, const char* name);

/// A text that is left open where it is NULL.
[[nodiscard]] std::optional<std::string> text_or_open(const char* value);

/// Throws Error(invalid_argument) if a function is missing; what is wrong with size and rank,
/// open_in_group says.
[[nodiscard]] GroupCalls group_calls_of(const colltune_group_calls* given);

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
