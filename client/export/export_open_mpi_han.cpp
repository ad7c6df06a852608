// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/export_open_mpi_han.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "colltune/export/export_scope.h"
#include "colltune/model/rule_choice.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

/// Leaves a call to the component before coll/han.
constexpr HanComponent leave_it = HanComponent::self;

const HanCollective* collective_of(const Problem& problem) {
  return find_han_collective("mpi." + std::string(name_of(problem.collective)) + "_han");
}

bool has_measured_han(const Decision& decision) {
  return std::ranges::any_of(decision.ranked, [](const RankedVariant& one) {
    return find_han_collective(one.variant.implementation) != nullptr;
  });
}

/// Why no rule can say what `decision` says; empty if one can.
std::string why_han_leaves_out(const Decision& decision) {
  const Problem& problem = decision.key.problem;
  if (problem.mesh) return "no library has a call for mesh reductions";
  if (problem.counts != Counts::equal) return "coll/han has no rules for calls of unequal counts";
  if (problem.graph_capture) return "no device graph holds a call of MPI";
  if (decision.key.calling != Calling::each)
    return "what was measured with calls that were prepared once is no answer for ordinary ones";
  if (problem.numeric_class != NumericClass::any)
    return "MPI does not promise " + std::string(name_of(problem.numeric_class));
  if (collective_of(problem) == nullptr)
    return "coll/han has nothing for " + std::string(name_of(problem.collective));
  if (decision.key.topology.nodes < 2)
    return "coll/han does not serve ranks that all are on one host";
  return {};
}

/// The decisions that a rule is for, by the size that it compares with.
using BySize = std::map<std::uint64_t, std::vector<const Decision*>>;

/// Messages of `from` bytes and more run `component`.
void append(HanRanksRules& own, std::uint64_t from, HanComponent component) {
  if (!own.rules.empty()) {
    if (own.rules.back().from == from) own.rules.pop_back();
    if (!own.rules.empty() && own.rules.back().component == component) return;
  }
  own.rules.push_back({.from = from, .component = component});
}

HanRanksRules default_from(std::int64_t ranks) {
  return {.ranks = ranks, .rules = {{.from = 0, .component = leave_it}}};
}

HanRanksRules rules_of(const HanCollective& collective, int ranks, const BySize& decisions,
                       OpenMpiHanExport& result) {
  HanRanksRules own{.ranks = ranks, .rules = {}};
  append(own, 0, leave_it);
  const auto can_name = [&](const Variant& variant) {
    return variant.implementation == collective.implementation;
  };
  std::map<std::uint64_t, std::vector<RuleStanding>> standings;
  std::vector<NamedAtSize> named;
  for (const auto& [size, alike] : decisions) {
    for (const Decision* const decision : alike)
      standings[size].push_back(standing_of(*decision, can_name));
    const auto keys = static_cast<int>(alike.size());
    named.push_back({.size = size,
                     .name = least_worst_regret(standings.at(size)),
                     .standings = standings.at(size)});
    result.keys += keys;
    if (!named.back().name.empty()) result.changed += keys;
  }
  std::uint64_t from = named.front().size;
  for (std::size_t i = 0; i < named.size(); ++i) {
    append(own, from, named[i].name.empty() ? leave_it : HanComponent::han);
    from =
        (i + 1 == named.size() ? named[i].size : border_between_rules(named[i], named[i + 1])) + 1;
  }
  append(own, from, leave_it);
  return own;
}

std::vector<std::string> how_to_use() {
  return {
      "",
      fmt::format("OMPI_MCA_coll_han_priority={}   (before coll/tuned)", han_priority_to_use),
      "OMPI_MCA_coll_han_use_dynamic_file_rules=1",
      "OMPI_MCA_coll_han_dynamic_rules_filename=THIS FILE",
      "",
      "The same file on every host: a rank that cannot read it runs coll/han in every call, and "
      "ranks that run unlike algorithms hang.",
      "self: left to the component before coll/han, which runs without this file.",
      "Where hosts have unlike numbers of ranks, coll/han leaves all but allreduce to it, too, "
      "after a communicator's first call.",
      "coll/han was measured without rules for coll/tuned. A file of these (colltune export "
      "openmpi) serves what is left to coll/tuned, and also what coll/han calls inside."};
}

}  // namespace

void require_han_release(OpenMpiRelease release) {
  if (release != OpenMpiRelease::v4_1)
    throw Error(
        StatusCode::invalid_argument,
        fmt::format("files of rules for coll/han are known for Open MPI {} alone, not for {}: "
                    "later releases number algorithms in them, too",
                    name_of(OpenMpiRelease::v4_1), name_of(release)));
}

OpenMpiHanExport export_open_mpi_han(const DecisionSet& set, OpenMpiRelease release) {
  require_han_release(release);
  const ExportScope scope = scope_of(
      set, "mpi", why_han_leaves_out,
      "there is nothing for Open MPI's coll/han: no decision of family mpi is for a call that it "
      "has, "
      "on several nodes. Sweep with implementations mpi.* under Open MPI on several hosts");
  OpenMpiHanExport result;
  result.left_out.assign(scope.left_out.begin(), scope.left_out.end());
  require_measured_with(scope, release, "coll/han of Open MPI");
  const std::string& library = scope.environment.mpi_library;
  if (std::ranges::none_of(scope.decisions,
                           [](const Decision* one) { return has_measured_han(*one); }))
    throw Error(StatusCode::not_found,
                "there is nothing for Open MPI's coll/han: no decision has measured it. Sweep with "
                "implementations mpi.*_han");

  std::map<const HanCollective*, std::map<int, BySize>> sorted;
  for (const Decision* const decision : scope.decisions) {
    const TuningKey& key = decision->key;
    const HanCollective* const collective = collective_of(key.problem);
    const int ranks = key.topology.ranks;
    const std::uint64_t bytes = key.problem.message_size.value;
    sorted[collective][ranks]
          [collective->is_by_block ? bytes / static_cast<unsigned>(ranks) : bytes]
              .push_back(decision);
  }
  for (const HanCollective& collective : han_collectives()) {
    if (!collective.is_between_hosts) continue;
    HanLevelRules whole{.level = HanLevel::whole, .by_ranks = {default_from(1)}};
    const std::map<int, BySize>& by_ranks = sorted[&collective];
    for (auto world = by_ranks.begin(); world != by_ranks.end(); ++world) {
      const auto& [ranks, decisions] = *world;
      whole.by_ranks.push_back(rules_of(collective, ranks, decisions, result));
      const auto next = std::next(world);
      if (next == by_ranks.end() || next->first > ranks + 1)
        whole.by_ranks.push_back(default_from(ranks + 1));
    }
    result.rules.push_back({.collective = collective.number, .levels = {std::move(whole)}});
  }

  result.comment = origin_lines(set, scope);
  result.comment.insert(result.comment.begin(),
                        fmt::format("rules for coll/han of Open MPI {}, measured with {}",
                                    name_of(release), library));
  for (const std::string& line : how_to_use()) result.comment.push_back(line);
  if (!scope.environment.malloc_settings.empty())
    result.comment.push_back("malloc as it was measured: " + scope.environment.malloc_settings);
  return result;
}

}  // namespace colltune
