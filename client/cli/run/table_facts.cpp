// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "table_facts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>

#include "colltune/apply/open_mpi_algorithms.h"
#include "colltune/apply/settings.h"
#include "colltune/export/export_mpi_environment.h"
#include "colltune/export/export_open_mpi.h"
#include "colltune/export/export_open_mpi_han.h"
#include "colltune/json/json.h"
#include "colltune/json/output_file.h"
#include "colltune/vocabulary/collective.h"
#include "colltune/vocabulary/error.h"
#include "known_tables.h"

namespace colltune {
namespace {

bool is_reduction(const Decision& decision) {
  const Problem& problem = decision.key.problem;
  return problem.kind != ProblemKind::collective || shape_of(problem.collective).reduces;
}

/// How many keys have a winner that displaced the default and runs so, in the decisions that
/// were made for `family`.
std::size_t count_winners(const DecisionSet& set, std::string_view family,
                          const std::function<bool(const Decision&)>& runs_so) {
  return static_cast<std::size_t>(std::ranges::count_if(set.decisions, [&](const Decision& one) {
    return one.family == family && one.verdict == Verdict::displaced && !one.ranked.empty() &&
           runs_so(one);
  }));
}

/// Why an export gave no rules. What is damaged ends the launch.
std::string reason_of(const Error& error, std::string_view where_nothing_was_found) {
  if (error.code() == StatusCode::data_loss) throw;
  return error.code() == StatusCode::not_found ? std::string(where_nothing_was_found)
                                               : error.what();
}

/// Rules for coll/tuned.
LaunchRules rules_for_algorithms(const DecisionSet& set, OpenMpiRelease release) {
  try {
    const OpenMpiExport made = export_open_mpi(set, release);
    if (made.changed == 0)
      return {.why_not =
                  made.not_worth_it == 0
                      ? "no algorithm was proven to beat its default"
                      : "what its other algorithms gain is not worth a look at rules in each call"};
    return {.text = print_open_mpi_rules(made.rules, release, made.comment),
            .changed = made.changed,
            .keys = made.keys};
  } catch (const Error& error) {
    return {.why_not = reason_of(error, "nothing was decided for its own algorithms")};
  }
}

/// Rules for coll/han.
LaunchRules rules_for_han(const DecisionSet& set, OpenMpiRelease release) {
  if (release != OpenMpiRelease::v4_1) return {.why_not = "no rules for coll/han of this release"};
  try {
    const OpenMpiHanExport made = export_open_mpi_han(set, release);
    if (made.changed == 0) return {.why_not = "coll/han was not proven to beat the default"};
    return {.text = print_han_rules(made.rules, made.comment),
            .changed = made.changed,
            .keys = made.keys};
  } catch (const Error& error) {
    return {.why_not = reason_of(error, "coll/han was not measured")};
  }
}

constexpr const char* build_name = "build";
constexpr const char* facts_name = "facts";

}  // namespace

TableFacts find_table_facts(const DecisionSet& set, std::string_view environment_digest,
                            bool without_sums) {
  const Environment* environment = nullptr;
  for (const auto& [digest, one] : set.environments)
    if (digest == environment_digest) environment = &one;
  std::set<std::string> worlds;
  for (const Decision& decision : set.decisions) worlds.insert(describe(decision.key.topology));
  TableFacts facts{
      .generation = set.generation.number,
      .worlds = fmt::format("{}", fmt::join(worlds, ", ")),
      .component_keys = count_winners(
          set, any_family,
          [&](const Decision& one) {
            return settings_to_apply(one.ranked.front(), one.key.problem, environment).by ==
                   ApplyBy::component;
          }),
      .nccl_keys = count_winners(
          set, "nccl", [](const Decision& one) { return one.ranked.front().family == "nccl"; })};
  if (environment == nullptr) return facts;
  for (auto& [name, value] : malloc_variables_of(*environment))
    facts.malloc_variables.emplace(std::move(name), std::move(value));
  const auto release = open_mpi_release_of(environment->mpi_library);
  if (!release) return facts;
  facts.has_rules_release = true;
  std::optional<DecisionSet> others;
  if (without_sums) std::erase_if(others.emplace(set).decisions, is_reduction);
  facts.algorithms = rules_for_algorithms(others ? *others : set, *release);
  facts.han = rules_for_han(others ? *others : set, *release);
  return facts;
}

KeptFacts::KeptFacts(const std::filesystem::path& folder, std::string_view digest,
                     bool without_sums)
    : file_(folder / fmt::format("{}-{}.json", digest, without_sums ? "library" : "all")) {}

std::optional<TableFacts> KeptFacts::read() const {
  std::ifstream stream(file_, std::ios::binary);
  if (!stream) return std::nullopt;
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  const auto json = nlohmann::json::parse(text, nullptr, false);
  const auto build = state_of_build();
  if (!build || !json.is_object() || json.size() != 2 || !json.contains(build_name) ||
      !json.contains(facts_name) || json[build_name] != *build)
    return std::nullopt;
  try {
    return from_json_value<TableFacts>(json[facts_name], file_.string() + ": ");
  } catch (const Error&) {
    return std::nullopt;
  }
}

void KeptFacts::write(const TableFacts& facts) const {
  const auto build = state_of_build();
  if (!build) return;
  const nlohmann::json json{{build_name, *build}, {facts_name, to_json_value(facts)}};
  try {
    std::ostringstream nothing;
    write_output(file_, json.dump() + "\n", nothing);
  } catch (const Error&) {  // the next launch finds them again
  }
}

}  // namespace colltune
