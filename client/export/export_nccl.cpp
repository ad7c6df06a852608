// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/export_nccl.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "colltune/export/export_scope.h"
#include "colltune/export/size_ranges.h"
#include "colltune/model/rule_choice.h"
#include "colltune/nccl/library_abi.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

/// How much slower than NCCL's own choice what stands for it may be: the margin by which decisions
/// call two times equal (DecisionPolicy::minimum_margin).
constexpr double margin = 0.02;

std::string why_nccl_leaves_out(const Decision& decision) {
  const TuningKey& key = decision.key;
  if (key.problem.mesh) return "no library has a call for mesh reductions";
  if (key.problem.counts != Counts::equal) return "NCCL has no calls of unequal counts";
  if (!nccl::function_of(key.problem.collective))
    return "NCCL asks no tuner about " + std::string(name_of(key.problem.collective));
  if (key.problem.registered) return "NCCL asks no tuner about buffers in symmetric windows";
  if (key.problem.graph_capture || key.calling != Calling::each)
    return "what was measured with calls that were prepared once is no answer for ordinary ones";
  if (key.problem.numeric_class != NumericClass::any)
    return "NCCL does not promise " + std::string(name_of(key.problem.numeric_class));
  return {};
}

template <class Enum>
std::optional<Enum> find_setting(const Variant& variant, std::string_view name) {
  for (const Parameter& parameter : variant.parameters)
    if (parameter.name == name)
      for (const auto& named : enum_names(Enum{}))
        if (to_string(parameter.value) == named.name) return named.value;
  return {};
}

/// The choice that a line would name; nothing if none can.
std::optional<nccl::Choice> choice_of(const Variant& variant) {
  if (!variant.implementation.starts_with("nccl.") || !variant.implementation.ends_with("_forced"))
    return {};
  const auto algorithm = find_setting<nccl::Algorithm>(variant, "algorithm");
  const auto protocol = find_setting<nccl::Protocol>(variant, "protocol");
  if (!algorithm || !protocol) return {};
  nccl::Choice choice{.algorithm = *algorithm, .protocol = *protocol};
  for (const Parameter& parameter : variant.parameters)
    if (parameter.name == "channels")
      if (const auto* const channels = std::get_if<std::int64_t>(&parameter.value))
        choice.channels = static_cast<int>(*channels);
  return choice;
}

using Alike = std::vector<const Decision*>;

/// The forced choice that is fastest beside NCCL's own in the key where it is slowest; empty if
/// each is slower than that by more than the margin somewhere.
std::string stand_in(const Alike& alike) {
  std::map<std::string, std::pair<std::size_t, double>> seen;  ///< keys, and the worst speed-up
  for (const Decision* const decision : alike)
    for (const RankedVariant& ranked : decision->ranked) {
      if (!choice_of(ranked.variant)) continue;
      auto& [keys, worst] = seen[to_string(ranked.variant)];
      worst = keys++ == 0 ? ranked.speedup_over_baseline
                          : std::min(worst, ranked.speedup_over_baseline);
    }
  std::string best;
  double least = 1 - margin;
  for (const auto& [name, one] : seen)
    if (one.first == alike.size() && one.second >= least) {
      best = name;
      least = one.second;
    }
  return best;
}

/// What one line is for, besides sizes.
struct NcclWorld {
  nccl::Function function;
  int nodes;
  int ranks;

  friend auto operator<=>(const NcclWorld&, const NcclWorld&) = default;
};

std::string describe(const NcclWorld& world) {
  return fmt::format("{} of {} ranks on {} node(s)", nccl_csv_name(world.function), world.ranks,
                     world.nodes);
}

void append(const NcclWorld& world, std::uint64_t least, const nccl::Choice& choice,
            std::vector<NcclCsvRule>& rules) {
  NcclCsvRule rule{.function = world.function,
                   .least = least,
                   .algorithm = choice.algorithm,
                   .protocol = choice.protocol,
                   .channels = choice.channels,
                   .nodes = world.nodes,
                   .ranks = world.ranks};
  if (least > 0) {
    NcclCsvRule same = rules.back();
    same.least = least;
    if (same == rule) return;
    rules.back().most = least - 1;
  }
  rules.push_back(rule);
}

}  // namespace

NcclExport export_nccl(const DecisionSet& set) {
  const ExportScope scope = scope_of(
      set, "nccl", why_nccl_leaves_out,
      "there is nothing for NCCL's example tuner: no decision of family nccl is for a call "
      "that it is asked about. Sweep with implementations nccl.* and --calling each");
  NcclExport result;
  result.left_out.assign(scope.left_out.begin(), scope.left_out.end());
  std::map<NcclWorld, std::map<std::uint64_t, Alike>> worlds;
  for (const Decision* const decision : scope.decisions) {
    const TuningKey& key = decision->key;
    worlds[{*nccl::function_of(key.problem.collective), key.topology.nodes, key.topology.ranks}]
          [key.problem.message_size.value]
              .push_back(decision);
  }

  std::vector<std::string> stand_ins;
  std::string cannot;
  for (const auto& [world, sizes] : worlds) {
    std::uint64_t least = 0;
    for (auto size = sizes.begin(); size != sizes.end(); ++size) {
      const Alike& alike = size->second;
      result.keys += static_cast<int>(alike.size());
      std::vector<RuleStanding> standings;
      for (const Decision* const decision : alike)
        standings.push_back(standing_of(
            *decision, [](const Variant& variant) { return choice_of(variant).has_value(); }));
      std::string name = least_worst_regret(standings);
      const std::string where = fmt::format("{} at {} bytes", describe(world), size->first);
      if (!name.empty()) {
        result.displaced += static_cast<int>(alike.size());
      } else if (name = stand_in(alike); !name.empty()) {
        stand_ins.push_back(where);
      } else {
        cannot += "\n  " + where;
        continue;
      }
      if (!cannot.empty()) continue;  // nothing is written
      append(world, least, *choice_of(parse_variant(name)), result.rules);
      const auto next = std::next(size);
      if (next != sizes.end()) least = border_between_sizes(size->first, next->first) + 1;
    }
  }
  if (!cannot.empty())
    throw Error(
        StatusCode::not_found,
        "there is nothing for NCCL's example tuner: it cannot leave a call to NCCL (it runs "
        "one without a line on one channel), and NCCL's own choice must stay for" +
            cannot +
            "\nwhere each forced choice is slower. colltune's own tuner leaves such calls "
            "alone (libnccl-tuner-colltune.so)");
  if (result.displaced == 0)
    throw Error(StatusCode::not_found,
                "there is nothing for NCCL's example tuner: nothing was proven to beat NCCL's own "
                "choice");

  result.comment = {
      "for NVIDIA's example tuner plug-in (plugins/tuner/example), measured with NCCL " +
      scope.environment.nccl_version};
  for (std::string& line : origin_lines(set, scope)) result.comment.push_back(std::move(line));
  result.comment.emplace_back(
      "NCCL_TUNER_PLUGIN=THE PLUG-IN NCCL_TUNER_CONFIG_FILE=THIS FILE. Calls without a line here "
      "run "
      "on ONE channel: other collectives, other numbers of ranks and nodes.");
  if (nccl::version_code_of(scope.environment.nccl_version) < nccl::first_channels_as_limit &&
      std::ranges::any_of(result.rules, [](const NcclCsvRule& rule) { return rule.channels > 0; }))
    result.comment.emplace_back(
        "NCCL 2.31 and later take their own number of channels where that is lower, so that a line "
        "may run with fewer than were measured.");
  for (const std::string& where : stand_ins)
    result.comment.push_back(
        "NCCL's own choice stays, which the format cannot say; a choice as fast "
        "stands for it: " +
        where);
  return result;
}

}  // namespace colltune
