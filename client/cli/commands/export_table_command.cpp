// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "export_table_command.h"

#include <fmt/format.h>

#include <ostream>
#include <set>
#include <utility>

#include "colltune/json/output_file.h"
#include "colltune/table/decision_table.h"
#include "colltune/table_file/table_file.h"
#include "colltune/vocabulary/canonical.h"
#include "environment_choice.h"
#include "source/table.h"

namespace colltune {
namespace {

/// The environment that is exported: the one asked for, or the only one.
std::string environment_of(const ExportOptions& options, const DecisionSet& set) {
  if (!options.environment.empty()) return choose_environment(options.origin, options.environment);
  std::set<std::string> digests;
  for (const Decision& decision : set.decisions) digests.insert(decision.key.environment_digest);
  if (digests.empty())
    throw Error(StatusCode::not_found, "no decision was published that a table could hold");
  if (digests.size() == 1) return *digests.begin();
  std::string all;
  for (const std::string& digest : digests) all += "\n  " + digest;
  throw Error(StatusCode::invalid_argument,
              "the decisions are of several environments, and a table is for one; choose with "
              "--environment, or a part of its digest:" +
                  all);
}

/// Leaves the decisions of one environment and what they refer to.
void keep_environment(const std::string& digest, DecisionSet& set) {
  std::erase_if(set.decisions, [&](const Decision& decision) {
    return decision.key.environment_digest != digest;
  });
  std::erase_if(set.fits,
                [&](const VariantFit& fit) { return fit.key.environment_digest != digest; });
  std::erase_if(set.environments, [&](const auto& known) { return known.first != digest; });
  std::set<std::pair<std::string, std::string>> worlds;
  std::set<std::string, std::less<>> parts;
  for (const Decision& decision : set.decisions) {
    worlds.emplace(decision.sweep_uuid, digest_of_value(decision.key.topology));
    for (const RankedVariant& ranked : decision.ranked)
      parts.emplace(parts_named_by(ranked.variant));
  }
  std::erase_if(set.members, [&](const WorldMembers& world) {
    return !worlds.contains({world.sweep_uuid, world.topology_digest});
  });
  std::erase_if(set.compositions, [&](const Composition& composition) {
    return !parts.contains(parts_name(composition));
  });
}

}  // namespace

TableContent table_content_of(DecisionSet set, const ExportOptions& options) {
  TableContent content{
      .set = keep_regime(std::move(set), options.regime), .environment_digest = {}, .groups = {}};
  content.environment_digest = environment_of(options, content.set);
  keep_environment(content.environment_digest, content.set);
  if (content.set.decisions.empty())
    throw Error(StatusCode::not_found, "no decision is of environment " +
                                           content.environment_digest +
                                           " and of the regime that is exported");
  return content;
}

void add_groups(TableContent& content) {
  content.groups = DecisionTable(content.set).answer_groups();
}

void run_export_table(const ExportOptions& options, std::ostream& log) {
  if (options.output == standard_output)
    throw Error(StatusCode::invalid_argument,
                "-o: a table is no text for standard output; name a file, or /dev/stdout");
  check(options.origin);
  TableContent content = table_content_of(read_decisions(options.origin), options);
  add_groups(content);
  const std::string bytes = encode_table(content);
  write_output(options.output, bytes, log);
  const Generation& generation = content.set.generation;
  log << fmt::format("{} decisions of generation {} in environment {}\ndigest {}\n",
                     content.set.decisions.size(), generation.number, content.environment_digest,
                     TableFile(bytes, options.output).digest());
}

}  // namespace colltune
