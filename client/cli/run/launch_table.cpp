// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "launch_table.h"

#include <fmt/format.h>

#include <fstream>
#include <iterator>
#include <utility>

#include "colltune/db/store.h"
#include "colltune/table_file/table_file.h"
#include "colltune/vocabulary/error.h"
#include "commands/export_table_command.h"
#include "known_tables.h"
#include "source/database.h"
#include "source/table.h"

namespace colltune {
namespace {

namespace fs = std::filesystem;

LaunchTable encoded(TableContent content, bool without_sums) {
  add_groups(content);
  LaunchTable table{
      .facts = find_table_facts(content.set, content.environment_digest, without_sums),
      .digest = {},
      .bytes = encode_table(content)};
  table.digest = TableFile(table.bytes, "table").digest();
  return table;
}

/// The table file of a launch before this one; empty where it is damaged or not there.
std::optional<LaunchTable> read_known(const fs::path& folder, const std::string& digest,
                                      bool without_sums) {
  try {
    const TableFile file(table_file_in(folder, digest));
    if (file.digest() != digest) return std::nullopt;
    const KeptFacts kept(folder, digest, without_sums);
    auto facts = kept.read();
    if (!facts) {
      facts = find_table_facts(file.read_decisions(), file.environment_digest(), without_sums);
      kept.write(*facts);
    }
    return LaunchTable{.facts = *std::move(facts), .digest = digest, .bytes = {}};
  } catch (const Error&) {
    return std::nullopt;
  }
}

LaunchTable from_database(const ExportOptions& options, bool without_sums, const fs::path& folder) {
  const Origin& origin = options.origin;
  const fs::path database = origin.database;
  const fs::path snapshot = is_named_as_snapshot(database) ? database : snapshot_path(database);
  // A file of an older version may hold less than can be written now.
  const std::string asked =
      fmt::format("generation {} environment {} version {}", origin.generation.value_or(0),
                  options.environment, table_file::newest_version);
  const auto state = state_of_snapshot(snapshot, asked);
  if (state)
    if (const auto digest = KnownTables(folder).find(*state))
      if (auto table = read_known(folder, *digest, without_sums)) return *std::move(table);
  PublishedTable published = read_published(origin.database, origin.generation);
  // What was left out is said at each launch.
  const bool is_whole = published.left_out.rows == 0;
  TableContent content = table_content_of(std::move(published), options);
  // The name of a launch environment is looked up in the database itself.
  const bool is_of_snapshot = content.environment_digest.starts_with(options.environment);
  LaunchTable table = encoded(std::move(content), without_sums);
  if (is_whole && is_of_snapshot && state == state_of_snapshot(snapshot, asked))
    table.state = state;
  return table;
}

std::string read_whole_file(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

LaunchTable from_table_file(const ExportOptions& options, bool without_sums) {
  DecisionSet set = read_table(options.origin);
  const std::size_t decisions = set.decisions.size();
  TableContent content = table_content_of(std::move(set), options);
  std::string bytes = read_whole_file(options.origin.table);
  const TableFile file(bytes, options.origin.table);
  // What is for a launch in all its parts need not be written anew.
  if (content.set.decisions.size() != decisions || content.set.generation != file.generation())
    return encoded(std::move(content), without_sums);
  return {.facts = find_table_facts(content.set, content.environment_digest, without_sums),
          .digest = file.digest(),
          .bytes = std::move(bytes)};
}

}  // namespace

fs::path table_file_in(const fs::path& folder, const std::string& digest) {
  return folder / (digest + ".ctt");
}

LaunchTable read_launch_table(const Origin& origin, const std::string& environment,
                              bool without_sums, const fs::path& folder) {
  check(origin);
  ExportOptions options;
  options.origin = origin;
  options.environment = environment;
  if (!origin.database.empty()) return from_database(options, without_sums, folder);
  if (!origin.table.empty()) return from_table_file(options, without_sums);
  return encoded(table_content_of(read_decisions(origin), options), without_sums);
}

}  // namespace colltune
