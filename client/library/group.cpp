// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// How the ranks of a group open one table: rank 0 says which, each rank says what it opened, and
// all judge the same list.

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <vector>

#include "colltune/client/local_table.h"

namespace colltune {
namespace {

/// What a rank opened, or why it did not. The same size on all ranks.
struct Vote {
  std::int32_t code = 0;   ///< of the error; 0: it opened a table
  char digest[36] = {};    ///< of the table
  char message[472] = {};  ///< of the error, cut

  void set(const Error& error) {
    code = static_cast<std::int32_t>(error.code());
    std::strncpy(message, error.what(), sizeof message - 1);
  }
  void set(const LocalTable& table) { table.digest().copy(digest, sizeof digest - 1); }
};

/// Generation, environment and digest as lines; empty: rank 0 opened none.
std::string to_lines(const TableIdentity& identity) {
  return identity.generation.store_uuid + '\n' + std::to_string(identity.generation.number) + '\n' +
         identity.generation.content_digest + '\n' + identity.environment_digest + '\n' +
         identity.digest;
}

TableIdentity from_lines(const std::string& text) {
  std::vector<std::string> lines(1);
  for (const char letter : text) {
    if (letter == '\n')
      lines.emplace_back();
    else
      lines.back() += letter;
  }
  if (lines.size() != 5)
    throw Error(StatusCode::internal,
                "the group's broadcast did not bring rank 0's table, but '" + text + "'");
  return {.generation = {lines[0], std::strtoull(lines[1].c_str(), nullptr, 10), lines[2]},
          .environment_digest = lines[3],
          .digest = lines[4]};
}

/// Rank 0's text on all ranks.
std::string broadcast(const GroupCalls& group, std::string text) {
  std::uint64_t size = text.size();
  group.broadcast(&size, sizeof size);
  constexpr std::uint64_t most = 1 << 16;  // an identity has some hundred bytes
  if (size > most)
    throw Error(StatusCode::internal, "the group's broadcast brought a length of " +
                                          std::to_string(size) + " bytes; is it rank 0's?");
  text.resize(size);
  if (size > 0) group.broadcast(text.data(), size);
  return text;
}

/// "ranks 3, 5 and 7 more", at most 8 of them.
std::string list(const std::vector<int>& ranks) {
  constexpr std::size_t most = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < std::min(ranks.size(), most); ++i)
    text += (i == 0 ? "" : ", ") + std::to_string(ranks[i]);
  if (ranks.size() > most) text += " and " + std::to_string(ranks.size() - most) + " more";
  return text;
}

/// Throws on all ranks the same error where not all opened rank 0's table.
void judge(const std::vector<Vote>& votes, const std::string& wanted) {
  std::vector<int> unlike;
  for (std::size_t rank = 0; rank < votes.size(); ++rank)
    if (votes[rank].code != 0 || std::strcmp(votes[rank].digest, votes[0].digest) != 0)
      unlike.push_back(static_cast<int>(rank));
  if (unlike.empty()) return;
  const Vote& first = votes[static_cast<std::size_t>(unlike.front())];
  const std::string of = " of " + std::to_string(votes.size());
  if (votes[0].code != 0)
    throw Error(static_cast<StatusCode>(votes[0].code),
                "rank 0" + of + " opened no table: " + votes[0].message);
  const std::string why = first.code != 0 ? std::string(first.message)
                                          : std::string("its table has digest ") + first.digest;
  throw Error(
      first.code != 0 ? static_cast<StatusCode>(first.code) : StatusCode::failed_precondition,
      list(unlike) + of + " did not open the table of rank 0 (digest " + wanted + "); rank " +
          std::to_string(unlike.front()) + ": " + why);
}

}  // namespace

LocalTable open_in_group(
    const GroupCalls& group,
    const std::function<LocalTable(const std::optional<TableIdentity>& wanted)>& open) {
  if (group.size < 1 || group.rank < 0 || group.rank >= group.size || !group.broadcast ||
      !group.all_gather)
    throw Error(StatusCode::invalid_argument,
                "a group needs a size of at least 1, a rank below it, and both of its functions");
  std::optional<LocalTable> table;
  Vote own;
  const auto try_to_open = [&](const auto& wanted) {
    try {
      table = open(wanted());
      own.set(*table);
    } catch (const Error& error) {
      own.set(error);
    } catch (const std::exception& error) {
      own.set(Error(StatusCode::internal, error.what()));
    }
  };
  if (group.rank == 0) try_to_open([] { return std::optional<TableIdentity>(); });
  const std::string said = broadcast(group, table ? to_lines(table->identity()) : std::string());
  if (group.rank != 0 && !said.empty())
    try_to_open([&] { return std::optional(from_lines(said)); });
  std::vector<Vote> votes(static_cast<std::size_t>(group.size));
  group.all_gather(&own, votes.data(), sizeof own);
  judge(votes, votes[0].digest);
  return *std::move(table);
}

}  // namespace colltune
