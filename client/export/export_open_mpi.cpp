// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/export_open_mpi.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "colltune/export/size_ranges.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

constexpr std::string_view family = "mpi";

/// The value of a parameter as a number; `otherwise` if the variant has none of that name.
int number_or(const Variant& variant, std::string_view name, int otherwise) {
  for (const Parameter& parameter : variant.parameters)
    if (parameter.name == name)
      if (const auto* const value = std::get_if<std::int64_t>(&parameter.value))
        return static_cast<int>(*value);
  return otherwise;
}

/// What a rule would say to run `variant`; nothing if no rule of `collective` can.
std::optional<OpenMpiRule> rule_of(const OpenMpiCollective& collective, const Variant& variant,
                                   OpenMpiRelease release) {
  if (variant.implementation != collective.implementation) return {};
  for (const Parameter& parameter : variant.parameters) {
    if (parameter.name != "algorithm") continue;
    const int number =
        open_mpi_algorithm_number(collective, to_string(parameter.value), release);
    if (number == 0) return {};
    return OpenMpiRule{.algorithm = number,
                       .fanout = number_or(variant, "fanout", 0),
                       .segment_size = number_or(variant, "segment_size", 0)};
  }
  return {};
}

/// The decisions that one rule is for: they differ in types, operators and layouts alone.
using Alike = std::vector<const Decision*>;

/// How the algorithms do in one decision: what may be named, and its time over the fastest one's.
struct Standing {
  std::map<std::string, double> regret;  ///< by the printed variant; the baseline is ""
  std::set<std::string> safe;            ///< proven to beat the default, and the default
};

Standing standing_of(const Decision& decision, const OpenMpiCollective& collective,
                     OpenMpiRelease release) {
  Standing standing;
  double fastest = 0;
  bool before_baseline = true;
  for (const RankedVariant& ranked : decision.ranked) {
    if (!ranked.is_baseline && !rule_of(collective, ranked.variant, release)) continue;
    const auto time = static_cast<double>(std::max<std::int64_t>(1, ranked.median.count()));
    fastest = fastest == 0 ? time : std::min(fastest, time);
    const std::string name = ranked.is_baseline ? std::string() : to_string(ranked.variant);
    standing.regret.emplace(name, time);
    // The ranking has what is proven faster in front of the baseline.
    if (before_baseline) standing.safe.insert(name);
    if (ranked.is_baseline) before_baseline = false;
  }
  for (auto& [name, time] : standing.regret) time /= fastest;
  return standing;
}

/// The name of the algorithm with the least worst regret among those that are safe in all of these;
/// empty: the default.
std::string choose(std::span<const Standing> standings) {
  std::string best;
  double least = 0;
  for (const std::string& name : standings.front().safe) {
    double worst = 0;
    const bool is_safe = std::ranges::all_of(standings, [&](const Standing& one) {
      if (!one.safe.contains(name)) return false;
      worst = std::max(worst, one.regret.at(name));
      return true;
    });
    if (!is_safe) continue;
    if (least == 0 || worst < least) {
      best = name;
      least = worst;
    }
  }
  return best;
}

/// The decisions for one of the library's collectives and a number of ranks, by message size.
using BySize = std::map<std::uint64_t, Alike>;

class Writer {
 public:
  Writer(const OpenMpiCollective& collective, OpenMpiRelease release)
      : collective_(collective), release_(release) {}

  [[nodiscard]] OpenMpiRanksRules rules_of(int ranks, const BySize& decisions,
                                           OpenMpiExport& result) const {
    OpenMpiRanksRules own{.ranks = ranks, .rules = {}};
    append(own, 0, {});
    std::map<std::uint64_t, std::vector<Standing>> standings;
    std::vector<Standing> all;
    for (const auto& [size, alike] : decisions)
      for (const Decision* const decision : alike) {
        standings[size].push_back(standing_of(*decision, collective_, release_));
        all.push_back(standings[size].back());
        ++result.keys;
      }
    const bool has_one = collective_.name == "scatter";
    std::uint64_t from = 0;
    for (auto size = decisions.begin(); size != decisions.end(); ++size) {
      const std::string name = choose(has_one ? all : standings.at(size->first));
      if (!name.empty()) result.changed += static_cast<int>(size->second.size());
      if (size == decisions.begin()) from = has_one ? 0 : size->first;
      append(own, from, name);
      const auto next = std::next(size);
      from = (next == decisions.end() ? size->first
                                      : border_between_sizes(size->first, next->first)) +
             1;
    }
    if (!has_one) append(own, from, {});
    return own;
  }

  [[nodiscard]] OpenMpiRanksRules default_from(int ranks) const {
    return {.ranks = ranks, .rules = {OpenMpiRule{}}};
  }

 private:
  /// Messages of `from` bytes and more run `name`; empty: the default.
  void append(OpenMpiRanksRules& own, std::uint64_t from, const std::string& name) const {
    OpenMpiRule rule;
    if (!name.empty()) rule = *rule_of(collective_, parse_variant(name), release_);
    if (release_ == OpenMpiRelease::v5_0) rule.max_requests = 0;
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
};

/// Why no rule can say what `decision` says; empty if one can.
std::string why_left_out(const Decision& decision) {
  const Problem& problem = decision.key.problem;
  if (problem.mesh) return "no library has a call for mesh reductions";
  if (problem.graph_capture) return "no device graph holds a call of MPI";
  if (problem.numeric_class != NumericClass::any)
    return "MPI does not promise " + std::string(name_of(problem.numeric_class));
  return {};
}

/// The library's collective that is called; a reduce_scatter is MPI_Reduce_scatter_block.
const OpenMpiCollective* collective_of(Collective collective) {
  for (const OpenMpiCollective& one : open_mpi_collectives())
    if (one.implementation == "mpi." + std::string(name_of(collective)) + "_tuned") return &one;
  return nullptr;
}

std::string environment_of(const DecisionSet& set, const std::vector<const Decision*>& used) {
  std::set<std::string> digests;
  for (const Decision* const decision : used) digests.insert(decision->key.environment_digest);
  if (digests.size() == 1) return *digests.begin();
  std::string all;
  for (const std::string& digest : digests) {
    const Environment* const environment = find_environment(set, digest);
    all += fmt::format("\n  {}  {}", digest,
                       environment == nullptr ? "" : environment->mpi_library);
  }
  throw Error(StatusCode::invalid_argument,
              "the decisions are of several environments, and a file of rules is for one; choose "
              "it by --environment:" +
                  all);
}

}  // namespace

OpenMpiExport export_open_mpi(const DecisionSet& set, OpenMpiRelease release) {
  OpenMpiExport result;
  std::vector<const Decision*> used;
  std::set<std::string> reasons;
  for (const Decision& decision : set.decisions) {
    if (decision.family != family) continue;
    if (std::string why = why_left_out(decision); !why.empty())
      reasons.insert(std::move(why));
    else
      used.push_back(&decision);
  }
  result.left_out.assign(reasons.begin(), reasons.end());
  if (used.empty())
    throw Error(StatusCode::not_found,
                "there is nothing for Open MPI: no decision of family mpi is for a call that it has. "
                "Sweep with implementations mpi.* under Open MPI");
  const std::string digest = environment_of(set, used);
  const Environment* const environment = find_environment(set, digest);
  if (environment == nullptr)
    throw Error(StatusCode::data_loss, "the decisions name environment '" + digest +
                                           "', which is not there");
  // "Open MPI v4.1.4": what another release does was not measured.
  const std::string measured =
      "Open MPI v" + std::string(name_of(release)).substr(0, name_of(release).size() - 1);
  if (!environment->mpi_library.starts_with(measured))
    throw Error(StatusCode::not_found,
                "there is nothing for Open MPI " + std::string(name_of(release)) +
                    ": the decisions were measured with " +
                    (environment->mpi_library.empty() ? "no MPI library" : environment->mpi_library));

  std::map<const OpenMpiCollective*, std::map<int, BySize>> sorted;
  for (const Decision* const decision : used) {
    const TuningKey& key = decision->key;
    sorted[collective_of(key.problem.collective)][key.topology.ranks]
          [key.problem.message_size.value]
              .push_back(decision);
  }
  for (const OpenMpiCollective& collective : open_mpi_collectives()) {
    const auto found = sorted.find(&collective);
    if (found == sorted.end()) continue;
    const Writer writer(collective, release);
    OpenMpiCollectiveRules own{.collective = collective.number, .by_ranks = {}};
    // The first size's rules are those of all smaller communicators, too.
    if (found->second.begin()->first > 1) own.by_ranks.push_back(writer.default_from(1));
    for (auto ranks = found->second.begin(); ranks != found->second.end(); ++ranks) {
      own.by_ranks.push_back(writer.rules_of(ranks->first, ranks->second, result));
      const auto next = std::next(ranks);
      if (next == found->second.end() || next->first > ranks->first + 1)
        own.by_ranks.push_back(writer.default_from(ranks->first + 1));
    }
    result.rules.push_back(std::move(own));
  }

  const TuningKey& any = used.front()->key;
  result.comment = {
      fmt::format("colltune: rules for coll/tuned of Open MPI {}", name_of(release)),
      fmt::format("generation {} ({}), environment {}", set.generation.number,
                  set.generation.content_digest, digest),
      "measured with " + environment->mpi_library + ", " + describe(regime_of(any)),
      "",
      "OMPI_MCA_coll_tuned_use_dynamic_rules=1",
      "OMPI_MCA_coll_tuned_dynamic_rules_filename=THIS FILE"};
  if (release == OpenMpiRelease::v5_0)
    result.comment.emplace_back(
        "OMPI_MCA_coll_han_priority=0   (else coll/han stands before coll/tuned)");
  if (!environment->malloc_settings.empty())
    result.comment.push_back("malloc as it was measured: " + environment->malloc_settings);
  return result;
}

}  // namespace colltune
