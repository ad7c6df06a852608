// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "table_rules.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "colltune/nccl/forced_variant.h"

namespace colltune::nccl {
namespace {

constexpr std::string_view family_name = "nccl";

using Groups = std::vector<TableView::Group>;

/// The groups of each collective and kind of buffers.
using GroupsOfCalls = std::array<std::array<Groups, 2>, function_count>;

bool is_of_world(const table_file::WorldRecord& world, std::size_t ranks, std::size_t nodes) {
  return world.ranks > 0 && world.nodes > 0 && static_cast<std::size_t>(world.ranks) == ranks &&
         static_cast<std::size_t>(world.nodes) == nodes &&
         world.placement == static_cast<std::uint32_t>(Placement::dedicated);
}

GroupsOfCalls groups_of(const TableView& table, std::size_t ranks, std::size_t nodes) {
  GroupsOfCalls groups;
  for (std::size_t number = 0; number < table.groups().size(); ++number) {
    const table_file::GroupKeyRecord& key = table.groups()[number].key;
    if (!is_of_world(table.worlds()[key.world], ranks, nodes) ||
        table.family(key.family) != family_name)
      continue;
    const Problem problem = unpack_problem(key.problem);
    const auto function = function_of(problem.collective);
    if (!function || problem.kind != ProblemKind::collective || problem.graph_capture ||
        problem.numeric_class != NumericClass::any || unpack_regime(key.problem) != Regime{})
      continue;
    groups[static_cast<std::size_t>(*function)][problem.registered ? 1 : 0].push_back(
        static_cast<TableView::Group>(number));
  }
  return groups;
}

/// The choice that the variant is; empty if it is not one that a tuner can ask for.
std::optional<Choice> choice_of_variant(const TableView& table, std::uint32_t variant,
                                        Function function) {
  const TableView::VariantText text = table.variant(variant);
  if (text.implementation != forced_name(function)) return std::nullopt;
  try {
    const auto choice = choice_of(parse_variant(text.text));
    if (!choice || (choice->channels != 0 && takes_channels_on_trust(choice->algorithm)))
      return std::nullopt;
    return choice;
  } catch (const Error&) {  // a text that is no variant
    return std::nullopt;
  }
}

/// What all groups answer from `size` on; empty if they differ, or one does not displace NCCL's own
/// choice there.
std::optional<TableAnswer> common_answer(const TableView& table, const Groups& groups, Bytes size) {
  std::optional<TableAnswer> common;
  for (const TableView::Group group : groups) {
    const auto answer = table.find(group, size);
    if (!answer || answer->is_baseline || answer->verdict != Verdict::displaced ||
        answer->source == Source::predicted || (common && common->variant != answer->variant))
      return std::nullopt;
    if (!common || common->time() < answer->time()) common = answer;
  }
  return common;
}

void append_rules(const TableView& table, const Groups& groups, Function function,
                  bool is_registered, std::vector<Rule>& rules) {
  std::vector<std::uint64_t> starts;
  for (const TableView::Group group : groups) {
    const auto own = table.starts_of(group);
    starts.insert(starts.end(), own.begin(), own.end());
  }
  std::ranges::sort(starts);
  const auto repeated = std::ranges::unique(starts);
  starts.erase(repeated.begin(), repeated.end());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto answer = common_answer(table, groups, {starts[i]});
    if (!answer) continue;
    const auto choice = choice_of_variant(table, answer->variant, function);
    if (!choice) continue;
    rules.push_back({.min_bytes = starts[i],
                     .max_bytes = i + 1 < starts.size() ? starts[i + 1] - 1
                                                        : std::numeric_limits<std::uint64_t>::max(),
                     .time_us = static_cast<float>(answer->time().count()) / 1000.0F,
                     .function = static_cast<std::uint8_t>(function),
                     .is_registered = static_cast<std::uint8_t>(is_registered),
                     .algorithm = static_cast<std::uint8_t>(choice->algorithm),
                     .protocol = static_cast<std::uint8_t>(choice->protocol),
                     .channels = static_cast<std::uint8_t>(choice->channels)});
  }
}

}  // namespace

std::vector<Rule> rules_of(const TableView& table, std::size_t ranks, std::size_t nodes) {
  const GroupsOfCalls groups = groups_of(table, ranks, nodes);
  std::vector<Rule> rules;
  for (std::size_t function = 0; function < groups.size(); ++function)
    for (std::size_t registered = 0; registered < groups[function].size(); ++registered)
      append_rules(table, groups[function][registered], static_cast<Function>(function),
                   registered == 1, rules);
  return rules;
}

}  // namespace colltune::nccl
