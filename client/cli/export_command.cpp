// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "export_command.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <ostream>

#include "colltune/export/export_json.h"
#include "database.h"
#include "remote.h"

namespace colltune {
namespace {

DecisionSet read_decisions(const Origin& origin) {
  if (!origin.server.empty()) return fetch_remotely(origin.server, origin.generation);
  PublishedTable published = read_published(origin.database, origin.generation);
  DecisionSet set{.generation = std::move(published.generation),
                  .decisions = std::move(published.decisions),
                  .environments = {},
                  .members = std::move(published.members),
                  .compositions = std::move(published.compositions)};
  for (auto& record : published.environments)
    set.environments.emplace_back(std::move(record.digest), std::move(record.environment));
  return set;
}

/// Readers of `path` see the old file or the new one, never half of it.
void replace_file(const std::filesystem::path& path, const std::string& text) {
  const std::filesystem::path partial = path.string() + ".part" + std::to_string(::getpid());
  std::ofstream file(partial, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(partial, path, error);
  if (file && !error) return;
  const std::string why = error ? error.message() : std::strerror(errno);
  std::filesystem::remove(partial, error);
  throw Error(StatusCode::failed_precondition, path.string() + " cannot be written: " + why);
}

}  // namespace

void run_export_json(const ExportOptions& options, std::ostream& out) {
  check(options.origin);
  const DecisionSet set = read_decisions(options.origin);
  const std::string text = export_json({.generation = set.generation,
                                        .decisions = set.decisions,
                                        .environments = set.environments,
                                        .members = set.members,
                                        .compositions = set.compositions})
                               .dump(1) +
                           '\n';
  if (options.output.empty())
    out << text;
  else
    replace_file(options.output, text);
}

}  // namespace colltune
