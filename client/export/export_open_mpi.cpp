// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/export_open_mpi.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <set>

#include "colltune/export/export_scope.h"
#include "colltune/model/rule_choice.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

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
struct OpenMpiWorld {
  int ranks = 0;
  std::string distribution{"any"};  ///< as OpenMpiRanksRules::distribution

  friend auto operator<=>(const OpenMpiWorld&, const OpenMpiWorld&) = default;
};

/// Releases before 6.0 look at the number of ranks alone.
OpenMpiWorld world_of(const Topology& topology, OpenMpiRelease release) {
  OpenMpiWorld world{.ranks = topology.ranks};
  if (release < OpenMpiRelease::v6_0) return world;
  if (topology.nodes == 1)
    world.distribution = "single-node";
  else if (topology.ranks_per_node == 1)
    world.distribution = "one-per-node";
  return world;
}

/// The decisions for one of the library's collectives and a world, by message size.
using BySize = std::map<std::uint64_t, Alike>;

/// What a call takes longer in a collective that has rules, of any size: 10 to 30 ns on an Intel
/// VM, Open MPI 4.1.4 (tests/bench/results/open_mpi_rules.md).
constexpr double look_at_rules_ns = 15;
constexpr double least_mean_gain = 0.01;

/// What rules gain: the mean over the decisions of the logarithm of the time without them over the
/// time with them.
double mean_gain(const BySize& decisions, std::span<const NamedAtSize> named) {
  double sum = 0;
  int keys = 0;
  for (const NamedAtSize& one : named)
    for (const Decision* const decision : decisions.at(one.size)) {
      double without = 0;
      double with = 0;
      for (const RankedVariant& ranked : decision->ranked) {
        const auto time = static_cast<double>(ranked.median.count());
        if (ranked.is_baseline) without = time;
        if (one.name.empty() ? ranked.is_baseline : to_string(ranked.variant) == one.name)
          with = time;
      }
      sum += std::log(std::max(1.0, without) / (std::max(1.0, with) + look_at_rules_ns));
      ++keys;
    }
  return sum / keys;
}

class Writer {
 public:
  Writer(const OpenMpiCollective& collective, OpenMpiRelease release, bool has_requests)
      : collective_(collective), release_(release), has_requests_(has_requests) {}

  [[nodiscard]] OpenMpiRanksRules rules_of(const OpenMpiWorld& world, const BySize& decisions,
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
    std::vector<NamedAtSize> named;
    for (const auto& [size, own_standings] : standings)
      named.push_back({.size = size,
                       .name = least_worst_regret(has_one ? all : own_standings),
                       .standings = own_standings});
    if (mean_gain(decisions, named) < least_mean_gain) {
      for (const NamedAtSize& one : named)
        if (!one.name.empty())
          result.not_worth_it += static_cast<int>(decisions.at(one.size).size());
      return own;
    }
    for (const NamedAtSize& one : named)
      if (!one.name.empty()) result.changed += static_cast<int>(decisions.at(one.size).size());
    std::uint64_t from = has_one ? 0 : named.front().size;
    for (std::size_t i = 0; i < named.size(); ++i) {
      append(own, from, named[i].name);
      from =
          (i + 1 == named.size() ? named[i].size : border_between_rules(named[i], named[i + 1])) +
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
std::string why_tuned_leaves_out(const Decision& decision) {
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
      set, "mpi", why_tuned_leaves_out,
      "there is nothing for Open MPI: no decision of family mpi is for a call that it has. Sweep "
      "with implementations mpi.* under Open MPI");
  OpenMpiExport result;
  result.left_out.assign(scope.left_out.begin(), scope.left_out.end());
  require_measured_with(scope, release, "Open MPI");
  const std::string& library = scope.environment.mpi_library;

  std::map<const OpenMpiCollective*, std::map<OpenMpiWorld, BySize>> sorted;
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
    // A collective of which no rule names an algorithm is left out: Open MPI then calls its own
    // choice at once, while each call of a collective with rules looks through them.
    const bool names_one = std::ranges::any_of(own.by_ranks, [](const OpenMpiRanksRules& ranks) {
      return std::ranges::any_of(ranks.rules,
                                 [](const OpenMpiRule& rule) { return rule.algorithm != 0; });
    });
    if (!names_one) continue;
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
