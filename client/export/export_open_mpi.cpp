// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/export_open_mpi.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "colltune/export/export_scope.h"
#include "colltune/export/size_ranges.h"
#include "colltune/model/rule_choice.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

constexpr std::string_view family = "mpi";

/// What a rule would say to run `variant`; nothing if no rule of `collective` can.
std::optional<OpenMpiRule> rule_of(const OpenMpiCollective& collective, const Variant& variant,
                                   OpenMpiRelease release) {
  const auto choice = open_mpi_choice_of(collective, variant, release);
  if (!choice) return {};
  return OpenMpiRule{.algorithm = choice->algorithm,
                     .fanout = choice->fanout.value_or(0),
                     .segment_size = choice->segment_size.value_or(0)};
}

/// The decisions that one rule is for: they differ in types, operators and layouts alone.
using Alike = std::vector<const Decision*>;

/// The communicators that rules are for.
struct World {
  int ranks = 0;
  std::string distribution{"any"};  ///< as OpenMpiRanksRules::distribution

  friend auto operator<=>(const World&, const World&) = default;
};

/// Releases before 6.0 look at the number of ranks alone.
World world_of(const Topology& topology, OpenMpiRelease release) {
  World world{.ranks = topology.ranks};
  if (release < OpenMpiRelease::v6_0) return world;
  if (topology.nodes == 1)
    world.distribution = "single-node";
  else if (topology.ranks_per_node == 1)
    world.distribution = "one-per-node";
  return world;
}

/// The decisions for one of the library's collectives and a world, by message size.
using BySize = std::map<std::uint64_t, Alike>;

class Writer {
 public:
  Writer(const OpenMpiCollective& collective, OpenMpiRelease release, bool has_requests)
      : collective_(collective), release_(release), has_requests_(has_requests) {}

  [[nodiscard]] OpenMpiRanksRules rules_of(const World& world, const BySize& decisions,
                                           OpenMpiExport& result) const {
    OpenMpiRanksRules own{.ranks = world.ranks, .rules = {}, .distribution = world.distribution};
    append(own, 0, {});
    std::map<std::uint64_t, std::vector<RuleStanding>> standings;
    std::vector<RuleStanding> all;
    const auto can_name = [&](const Variant& variant) {
      return rule_of(collective_, variant, release_).has_value();
    };
    for (const auto& [size, alike] : decisions)
      for (const Decision* const decision : alike) {
        standings[size].push_back(standing_of(*decision, can_name));
        all.push_back(standings[size].back());
        ++result.keys;
      }
    const bool has_one = collective_.name == "scatter";
    std::uint64_t from = 0;
    for (auto size = decisions.begin(); size != decisions.end(); ++size) {
      const std::string name = least_worst_regret(has_one ? all : standings.at(size->first));
      if (!name.empty()) result.changed += static_cast<int>(size->second.size());
      if (size == decisions.begin()) from = has_one ? 0 : size->first;
      append(own, from, name);
      const auto next = std::next(size);
      from =
          (next == decisions.end() ? size->first : border_between_sizes(size->first, next->first)) +
          1;
    }
    if (!has_one) append(own, from, {});
    return own;
  }

  [[nodiscard]] OpenMpiRanksRules default_from(int ranks) const {
    OpenMpiRanksRules own{.ranks = ranks, .rules = {}};
    append(own, 0, {});
    return own;
  }

 private:
  /// Messages of `from` bytes and more run `name`; empty: the default.
  void append(OpenMpiRanksRules& own, std::uint64_t from, const std::string& name) const {
    OpenMpiRule rule;
    if (!name.empty()) rule = *rule_of(collective_, parse_variant(name), release_);
    if (has_requests_) rule.max_requests = 0;
    rule.from = from;
    if (!own.rules.empty()) {
      OpenMpiRule before = own.rules.back();
      if (before.from == from) {
        own.rules.pop_back();
      } else {
        before.from = from;
        if (before == rule) return;
      }
    }
    own.rules.push_back(rule);
  }

  const OpenMpiCollective& collective_;
  OpenMpiRelease release_;
  bool has_requests_;
};

/// Whether a library that calls itself so reads files of format 2: of 5.0 from 5.0.7 on.
bool reads_second_format(std::string_view library) {
  constexpr std::string_view begin = "Open MPI v5.0.";
  constexpr int first = 7;
  if (!library.starts_with(begin)) return false;
  int patch = 0;
  std::from_chars(library.data() + begin.size(), library.data() + library.size(), patch);
  return patch >= first;
}

/// Why no rule can say what `decision` says; empty if one can.
std::string why_left_out(const Decision& decision) {
  const Problem& problem = decision.key.problem;
  if (problem.mesh) return "no library has a call for mesh reductions";
  if (problem.counts != Counts::equal) return "no rule is written for calls of unequal counts";
  if (problem.graph_capture) return "no device graph holds a call of MPI";
  if (decision.key.calling != Calling::each)
    return "what was measured with calls that were prepared once is no answer for ordinary ones";
  if (problem.numeric_class != NumericClass::any)
    return "MPI does not promise " + std::string(name_of(problem.numeric_class));
  return {};
}

/// The library's collective that is called; a reduce_scatter is MPI_Reduce_scatter_block.
const OpenMpiCollective* collective_of(Collective collective) {
  return find_open_mpi_collective("mpi." + std::string(name_of(collective)) + "_tuned");
}

}  // namespace

OpenMpiExport export_open_mpi(const DecisionSet& set, OpenMpiRelease release) {
  const ExportScope scope = scope_of(
      set, family, why_left_out,
      "there is nothing for Open MPI: no decision of family mpi is for a call that it has. Sweep "
      "with implementations mpi.* under Open MPI");
  OpenMpiExport result;
  result.left_out.assign(scope.left_out.begin(), scope.left_out.end());
  require_measured_with(scope, release, "Open MPI");
  const std::string& library = scope.environment.mpi_library;

  std::map<const OpenMpiCollective*, std::map<World, BySize>> sorted;
  for (const Decision* const decision : scope.decisions) {
    const TuningKey& key = decision->key;
    sorted[collective_of(key.problem.collective)][world_of(key.topology, release)]
          [key.problem.message_size.value]
              .push_back(decision);
  }
  for (const OpenMpiCollective& collective : open_mpi_collectives()) {
    const auto found = sorted.find(&collective);
    if (found == sorted.end()) continue;
    const Writer writer(collective, release, reads_second_format(library));
    OpenMpiCollectiveRules own{.collective = collective.number, .by_ranks = {}};
    // Rules of 6.0 are for just their numbers of ranks. In older files the first size's rules are
    // those of all smaller communicators, too, and the last size's those of all larger ones.
    const bool is_exact = release >= OpenMpiRelease::v6_0;
    if (!is_exact && found->second.begin()->first.ranks > 1)
      own.by_ranks.push_back(writer.default_from(1));
    for (auto world = found->second.begin(); world != found->second.end(); ++world) {
      own.by_ranks.push_back(writer.rules_of(world->first, world->second, result));
      if (is_exact) continue;
      const int ranks = world->first.ranks;
      const auto next = std::next(world);
      if (next == found->second.end() || next->first.ranks > ranks + 1)
        own.by_ranks.push_back(writer.default_from(ranks + 1));
    }
    // The first rules that fit count: those for any layout of the ranks come last.
    std::ranges::stable_partition(
        own.by_ranks, [](const OpenMpiRanksRules& one) { return one.distribution != "any"; });
    result.rules.push_back(std::move(own));
  }

  result.comment = origin_lines(set, scope);
  result.comment.insert(result.comment.begin(),
                        fmt::format("rules for coll/tuned of Open MPI {}, measured with {}",
                                    name_of(release), library));
  for (const char* const line : {"", "OMPI_MCA_coll_tuned_use_dynamic_rules=1",
                                 "OMPI_MCA_coll_tuned_dynamic_rules_filename=THIS FILE"})
    result.comment.emplace_back(line);
  if (release >= OpenMpiRelease::v5_0)
    result.comment.emplace_back(
        "OMPI_MCA_coll_han_priority=0   (else coll/han stands before coll/tuned)");
  if (!scope.environment.malloc_settings.empty())
    result.comment.push_back("malloc as it was measured: " + scope.environment.malloc_settings);
  return result;
}

}  // namespace colltune
