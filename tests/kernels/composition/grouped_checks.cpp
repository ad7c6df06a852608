// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "grouped_checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>

#include "conformance.h"
#include "stub_implementation.h"
#include "support/full_run.h"
#include "support/sanitizer.h"

namespace colltune::test {
namespace {

/// A grouping as the conformance test takes implementations.
class ByGroups final : public StubImplementation {
 public:
  ByGroups(Collective collective, const Grouping& grouping, const Implementations& catalogue)
      : StubImplementation(collective), grouping_(grouping), catalogue_(catalogue) {}
  Numerics numerics(const Problem& problem, const Variant&) const override {
    return grouped_numerics(problem, grouping_, catalogue_);
  }
  // Its parts are chosen from what takes other buffers; registered ones serve as plain ones.
  CallTraits traits(const Problem&, const Topology&, const Variant&) const override {
    return {.why_not_bound = {}};
  }
  std::unique_ptr<Operation> prepare(Communicator& communicator, const Call& call, const Variant&,
                                     Deadline deadline) const override {
    return prepare_grouped(communicator, call, grouping_, catalogue_, deadline);
  }

 private:
  const Grouping& grouping_;
  const Implementations& catalogue_;
};

/// The one whose turn it is of all that can do a stage on ranks that are alike.
Variant choose_variant(const Problem& stage, const Topology& topology, const Capability& capability,
                       const Implementations& catalogue, ChosenVariants& known, std::size_t turn) {
  std::vector<const Implementation*> all;
  for (const auto& one : catalogue)
    if (one->collective() == stage.collective && one->runs_on_device() == capability.is_on_device())
      all.push_back(one.get());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Implementation& one = *all[(turn + i) % all.size()];
    const std::vector<Variant>& variants = known.of(one, stage, {topology}, capability);
    if (!variants.empty()) return variants[turn / all.size() % variants.size()];
  }
  throw Error(StatusCode::internal, "nothing can do " + describe(stage));
}

std::string print(const Grouping& grouping) {
  std::string text = "groups";
  for (const int group : grouping.group_of_rank) text += ' ' + std::to_string(group);
  for (const GroupVariants& own : grouping.inside) {
    text += ", [" + (own.before ? to_string(*own.before) : "") + "; ";
    text += (own.after ? to_string(*own.after) : "") + "]";
  }
  return text + ", bridge " + to_string(grouping.bridge);
}

bool is_of_library(const std::optional<Variant>& variant) {
  return variant && variant->implementation.starts_with("mpi.");
}

void count(GroupedRuns& runs, const Grouping& grouping) {
  ++runs.calls;
  std::set<std::string> before;
  std::set<std::string> after;
  bool by_library = is_of_library(grouping.bridge);
  for (const GroupVariants& own : grouping.inside) {
    if (own.before) before.insert(own.before->implementation);
    if (own.after) after.insert(own.after->implementation);
    by_library = by_library || is_of_library(own.before) || is_of_library(own.after);
  }
  if (before.size() > 1 || after.size() > 1) ++runs.unlike;
  if (by_library) ++runs.by_library;
}

}  // namespace

Problem problem_of(Collective collective, std::uint64_t bytes) {
  return {.collective = collective,
          .data_type = DataType::i32,
          .reduce_op = shape_of(collective).reduces ? ReduceOp::sum : ReduceOp::none,
          .message_size = {bytes}};
}

GroupedRanks alike(std::size_t ranks) {
  return {.nodes = std::vector<int>(ranks), .capabilities = std::vector<Capability>(ranks)};
}

Grouping crossed_grouping(const Problem& problem) {
  Grouping grouping{.group_of_rank = crossed};
  const GroupedStages stages = grouped_stages(problem, group_sizes(crossed), 0);
  const auto low_latency = [](const Problem& stage) {
    return parse_variant("cpu." + std::string(name_of(stage.collective)) +
                         "_low_latency{format=line,slots=4,stores=cached,taken_back=one_line}");
  };
  GroupVariants inside;
  if (stages.before) inside.before = low_latency(*stages.before);
  if (stages.after) inside.after = low_latency(*stages.after);
  grouping.inside = {inside, inside};
  grouping.bridge = low_latency(stages.bridge);
  return grouping;
}

std::vector<std::vector<int>> groupings_of(int ranks) {
  const std::vector<int> unlike{0, 1, 2, 2, 0, 2, 1, 2};
  std::set<std::vector<int>> all;
  std::vector<int> halves, reversed, in_turn, one_beside, three, each;
  for (int rank = 0; rank < ranks; ++rank) {
    halves.push_back(rank < ranks / 2 ? 0 : 1);
    reversed.push_back(rank < ranks / 2 ? 1 : 0);
    in_turn.push_back(rank % 2);
    one_beside.push_back(rank == 0 ? 0 : 1);
    three.push_back(unlike.at(static_cast<std::size_t>(rank)));
    each.push_back(ranks - 1 - rank);
  }
  for (const auto& groups : {halves, reversed, in_turn, one_beside, three, each})
    if (group_sizes(groups).size() > 1) all.insert(groups);
  return {all.begin(), all.end()};
}

Grouping choose_grouping(const Problem& problem, const std::vector<int>& groups,
                         const GroupedRanks& ranks, const Implementations& catalogue,
                         ChosenVariants& known, std::size_t turn) {
  const std::vector<int> sizes = group_sizes(groups);
  const GroupTopologies topologies = grouped_topologies(ranks.nodes, groups, problem.collective);
  const Capability& capability = ranks.capabilities.front();
  const auto choose = [&](const Problem& stage, const Topology& topology, std::size_t offset) {
    return choose_variant(stage, topology, capability, catalogue, known, turn + offset);
  };
  Grouping grouping{.group_of_rank = groups};
  for (std::size_t group = 0; group < sizes.size(); ++group) {
    const GroupedStages stages = grouped_stages(problem, sizes, static_cast<int>(group));
    GroupVariants& own = grouping.inside.emplace_back();
    if (stages.before) own.before = choose(*stages.before, topologies.inside[group], group);
    if (stages.after) own.after = choose(*stages.after, topologies.inside[group], group + 1);
  }
  grouping.bridge =
      choose(grouped_stages(problem, sizes, 0).bridge, topologies.bridge, 2 + sizes.size());
  return grouping;
}

std::string find_grouped_fault(Communicator& communicator, const ConformanceCase& test,
                               const std::vector<int>& groups, const Implementations& catalogue,
                               ChosenVariants& known) {
  const Capability own =
      communicator.device() == nullptr ? Capability{} : detect_capability(catalogue, communicator);
  const GroupedRanks alike{.nodes = std::vector<int>(groups.size()),
                           .capabilities = std::vector<Capability>(groups.size(), own)};
  const Grouping grouping = choose_grouping(test.problem, groups, alike, catalogue, known, 0);
  return find_fault(communicator, ByGroups(test.problem.collective, grouping, catalogue),
                    grouping.bridge, test);
}

GroupedRuns run_grouped(Communicator& communicator, const Implementations& catalogue,
                        ChosenVariants& known, const std::vector<int>& groups, std::size_t turn) {
  const auto size = static_cast<std::size_t>(communicator.size());
  const GroupedRanks ranks{
      .nodes = {communicator.nodes().begin(), communicator.nodes().end()},
      .capabilities = std::vector<Capability>(size, detect_capability(catalogue, communicator))};
  GroupedRuns runs;
  std::set<std::string> reported;
  // Fewer where ranks share cores and where libraries make communicators for each call.
  const bool is_slow = communicator.size() > 4 || communicator.native_mpi() != nullptr;
  const std::size_t cases_per_run = is_full_run()   ? 1
                                    : has_sanitizer ? (is_slow ? 15 : 7)
                                                    : (is_slow ? 7 : 3);
  for (const auto& named : enum_names(Collective{})) {
    const ByGroups shape(named.value, {}, catalogue);
    for (const ConformanceCase& test : conformance_cases(shape, communicator.size())) {
      // Late ranks: grouped_test.cpp has them, without a clock.
      if (test.has_late_rank || !why_not_grouped(test.problem, group_sizes(groups)).empty())
        continue;
      if (++turn % cases_per_run != 0) continue;
      const Grouping grouping =
          choose_grouping(test.problem, groups, ranks, catalogue, known, turn);
      const Support support = supports_grouped(test.problem, grouping, ranks, catalogue);
      EXPECT_TRUE(support) << support.reason();
      const std::string fault = find_fault(communicator, ByGroups(named.value, grouping, catalogue),
                                           grouping.bridge, test);
      count(runs, grouping);
      if (!fault.empty() && reported.insert(std::string(named.name)).second)
        ADD_FAILURE() << "rank " << communicator.rank() << ", " << print(grouping) << ", "
                      << describe(test.problem) << ", root " << test.root << ": " << fault;
    }
  }
  return runs;
}

}  // namespace colltune::test
