// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "table_rules.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <map>
#include <optional>
#include <utility>

#include "colltune/model/rule_choice.h"
#include "colltune/nccl/forced_variant.h"
#include "colltune/nccl/library_abi.h"
#include "colltune/table_file/table_file.h"

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
        problem.numeric_class != NumericClass::any || problem.counts != Counts::equal ||
        unpack_regime(key.problem) != Regime{})
      continue;
    groups[static_cast<std::size_t>(*function)][problem.registered ? 1 : 0].push_back(
        static_cast<TableView::Group>(number));
  }
  return groups;
}

/// What a rule is for, besides sizes and buffers.
struct Wanted {
  Function function;
  bool is_without_channels;  ///< NCCL would not take the number that was measured
};

/// The choice that the variant is; empty if it is not one that a tuner can ask for.
std::optional<Choice> choice_for(const Variant& variant, const Wanted& wanted) {
  if (variant.implementation != forced_name(wanted.function)) return std::nullopt;
  const auto choice = choice_of(variant);
  if (!choice || (choice->channels != 0 &&
                  (wanted.is_without_channels || takes_channels_on_trust(choice->algorithm))))
    return std::nullopt;
  return choice;
}

std::optional<Choice> choice_for(const TableView& table, std::uint32_t variant,
                                 const Wanted& wanted) {
  try {
    return choice_for(parse_variant(table.variant(variant).text), wanted);
  } catch (const Error&) {  // a text that is no variant
    return std::nullopt;
  }
}

/// The decisions that the table's answers for one world were made of, read on first use.
class Evidence {
 public:
  Evidence(const TableView& table, std::size_t ranks, std::size_t nodes)
      : table_(table), ranks_(ranks), nodes_(nodes) {}

  /// The decision for calls of `group` at a measured size; null if there is none.
  const Decision* find(TableView::Group group, std::uint64_t size) {
    if (!is_read_) read();
    const auto found = decisions_.find({group, size});
    return found == decisions_.end() ? nullptr : found->second;
  }

 private:
  void read() {
    set_ = read_decisions(table_);
    for (const Decision& decision : set_.decisions) {
      const Topology& topology = decision.key.topology;
      if (decision.family != family_name || topology.ranks < 0 || topology.nodes < 0 ||
          static_cast<std::size_t>(topology.ranks) != ranks_ ||
          static_cast<std::size_t>(topology.nodes) != nodes_)
        continue;
      if (const auto group = resolve(table_, decision.key, decision.family))
        decisions_.emplace(std::pair(*group, decision.key.problem.message_size.value), &decision);
    }
    is_read_ = true;
  }

  const TableView& table_;
  std::size_t ranks_;
  std::size_t nodes_;
  bool is_read_ = false;
  DecisionSet set_;
  std::map<std::pair<TableView::Group, std::uint64_t>, const Decision*> decisions_;
};

struct TimedChoice {
  Choice choice;
  std::chrono::nanoseconds time{};  ///< the longest of all that it is for
};

/// Whether the answer's variant was shown to be faster than NCCL's own choice.
bool is_shown(const TableAnswer& answer) {
  return answer.verdict == Verdict::displaced && !answer.is_baseline &&
         answer.fit_choice() != FitChoice::expected;
}

/// What each of `groups` answers from `size` on; empty if nothing can be shown to be faster than
/// NCCL's own choice there in one of them.
std::vector<TableAnswer> answers_at(const TableView& table, const Groups& groups, Bytes size) {
  std::vector<TableAnswer> answers;
  for (const TableView::Group group : groups) {
    const auto answer = table.find(group, size);
    if (!answer || answer->source == Source::predicted) return {};
    // Where fits choose, another variant may be proven.
    if (!is_shown(*answer) && answer->fit_choice() == FitChoice::none) return {};
    answers.push_back(*answer);
  }
  return answers;
}

/// The choice of the least worst regret over the decisions that `answers`, those of `groups`, are
/// based on; empty if there is none that is proven to beat NCCL's own choice in each.
std::optional<TimedChoice> choose_by_regret(const Groups& groups,
                                            const std::vector<TableAnswer>& answers,
                                            const Wanted& wanted, Evidence& evidence) {
  std::vector<const Decision*> decisions;
  std::vector<RuleStanding> standings;
  for (std::size_t member = 0; member < groups.size(); ++member)
    for (const std::uint64_t size : {answers[member].range->from, answers[member].range->to}) {
      const Decision* const decision = evidence.find(groups[member], size);
      if (decision == nullptr || decision->verdict != Verdict::displaced) return std::nullopt;
      decisions.push_back(decision);
      standings.push_back(standing_of(*decision, [&](const Variant& variant) {
        return choice_for(variant, wanted).has_value();
      }));
    }
  const std::string name = least_worst_regret(standings);
  if (name.empty()) return std::nullopt;
  TimedChoice chosen{.choice = *choice_for(parse_variant(name), wanted)};
  for (const Decision* const decision : decisions)
    for (const RankedVariant& ranked : decision->ranked)
      if (to_string(ranked.variant) == name) chosen.time = std::max(chosen.time, ranked.median);
  return chosen;
}

/// What calls of all `groups` are to use from `size` on; empty: NCCL's own choice.
std::optional<TimedChoice> common_choice(const TableView& table, const Groups& groups, Bytes size,
                                         const Wanted& wanted, Evidence& evidence) {
  const std::vector<TableAnswer> answers = answers_at(table, groups, size);
  if (answers.empty()) return std::nullopt;
  // What leads everywhere has no regret.
  if (std::ranges::all_of(answers, [&](const TableAnswer& answer) {
        return is_shown(answer) && answer.variant == answers.front().variant;
      }))
    if (const auto choice = choice_for(table, answers.front().variant, wanted)) {
      TimedChoice chosen{.choice = *choice};
      for (const TableAnswer& answer : answers) chosen.time = std::max(chosen.time, answer.time());
      return chosen;
    }
  return choose_by_regret(groups, answers, wanted, evidence);
}

void append_rules(const TableView& table, const Groups& groups, const Wanted& wanted,
                  bool is_registered, Evidence& evidence, std::vector<Rule>& rules) {
  std::vector<std::uint64_t> starts;
  for (const TableView::Group group : groups) {
    const auto own = table.starts_of(group);
    starts.insert(starts.end(), own.begin(), own.end());
  }
  std::ranges::sort(starts);
  const auto repeated = std::ranges::unique(starts);
  starts.erase(repeated.begin(), repeated.end());
  for (std::size_t i = 0; i < starts.size(); ++i) {
    const auto chosen = common_choice(table, groups, {starts[i]}, wanted, evidence);
    if (!chosen) continue;
    const Choice& choice = chosen->choice;
    rules.push_back({.min_bytes = starts[i],
                     .max_bytes = i + 1 < starts.size() ? starts[i + 1] - 1
                                                        : std::numeric_limits<std::uint64_t>::max(),
                     .time_us = static_cast<float>(chosen->time.count()) / 1000.0F,
                     .function = static_cast<std::uint8_t>(wanted.function),
                     .is_registered = static_cast<std::uint8_t>(is_registered),
                     .algorithm = static_cast<std::uint8_t>(choice.algorithm),
                     .protocol = static_cast<std::uint8_t>(choice.protocol),
                     .channels = static_cast<std::uint8_t>(choice.channels)});
  }
}

}  // namespace

std::string_view measured_nccl(const TableView& table) noexcept {
  for (const table_file::FactRecord& fact : table.facts())
    if (table.string(fact.name) == "nccl_version") return table.string(fact.value);
  return {};
}

bool leaves_out_channels(const TableView& table, int nccl_version) noexcept {
  // A table of an unknown version was perhaps measured where NCCL took as many as it was asked for.
  return takes_channels_as_limit(nccl_version) &&
         version_code_of(measured_nccl(table)) < first_channels_as_limit;
}

std::vector<Rule> rules_of(const TableView& table, std::size_t ranks, std::size_t nodes,
                           int nccl_version) {
  const GroupsOfCalls groups = groups_of(table, ranks, nodes);
  const bool is_without_channels = leaves_out_channels(table, nccl_version);
  Evidence evidence(table, ranks, nodes);
  std::vector<Rule> rules;
  for (std::size_t function = 0; function < groups.size(); ++function)
    for (std::size_t registered = 0; registered < groups[function].size(); ++registered)
      append_rules(table, groups[function][registered],
                   {static_cast<Function>(function), is_without_channels}, registered == 1,
                   evidence, rules);
  return rules;
}

}  // namespace colltune::nccl
