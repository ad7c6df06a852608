// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/export/export_ctran_ring.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <vector>

#include "colltune/export/export_scope.h"
#include "colltune/model/ring/ring_parameters.h"
#include "colltune/model/rule_choice.h"
#include "colltune/vocabulary/error.h"

namespace colltune {
namespace {

/// Ours that go round as ctring does: reduce-scatter, then all-gather one way or both.
constexpr std::string_view one_way = "cuda.all_reduce_ring";
constexpr std::string_view both_ways = "cuda.all_reduce_ring_both_ways";
/// Threads of a block that ctring's kernel is known to take, by its own tests; it ends the program
/// for more than its occupancy allows.
constexpr std::int64_t known_threads = 512;

template <class Value>
std::optional<Value> setting_of(const Variant& variant, std::string_view name) {
  for (const Parameter& parameter : variant.parameters)
    if (parameter.name == name)
      if (const auto* const value = std::get_if<Value>(&parameter.value)) return *value;
  return {};
}

/// The parameters of a ring of ours that ctring has as well.
struct OwnRing {
  std::int64_t chunk = 0;  ///< bytes of a segment
  std::int64_t slots = 0;  ///< windows of a segment for each rank that are in flight
  std::int64_t blocks = 0;
  std::int64_t threads = 0;
  bool goes_both_ways = false;
};

/// Nothing if ctring has no counterpart of the variant.
std::optional<OwnRing> settings_of(const Variant& variant) {
  if (variant.implementation != one_way && variant.implementation != both_ways) return {};
  // ctring's buffers are the device's.
  if (setting_of<std::string>(variant, "scratch").value_or("device") != "device") return {};
  const auto chunk = setting_of<std::int64_t>(variant, "chunk");
  const auto slots = setting_of<std::int64_t>(variant, "slots");
  const auto blocks = setting_of<std::int64_t>(variant, "blocks");
  const auto threads = setting_of<std::int64_t>(variant, "threads");
  if (!chunk || !slots || !blocks || !threads) return {};
  return OwnRing{.chunk = *chunk,
                 .slots = *slots,
                 .blocks = *blocks,
                 .threads = *threads,
                 .goes_both_ways = variant.implementation == both_ways};
}

std::string why_ctring_leaves_out(const Decision& decision) {
  const TuningKey& key = decision.key;
  if (key.problem.mesh || key.problem.collective != Collective::all_reduce)
    return "ctring is an all_reduce";
  if (key.problem.graph_capture || key.calling != Calling::each)
    return "what was measured with calls that were prepared once is no answer for ordinary ones";
  const Variant& winner = decision.ranked.front().variant;
  if (winner.implementation.starts_with("cpu.all_reduce_ring"))
    return "the ring on CPUs won: ctring runs on GPUs, and a cache's chunk is none of theirs";
  if (winner.implementation != one_way && winner.implementation != both_ways)
    return "the winner is no ring: let another algorithm run at these sizes";
  if (!settings_of(winner)) return "the ring through the host's memory won: ctring has none";
  if (key.topology.placement != Placement::dedicated)
    return "ranks that share a device have other times than those of ctring";
  return {};
}

/// A variable, and why it has that value.
struct Line {
  std::string why;
  std::int64_t RingOverrides::*value;
  std::int64_t number;
};

std::string comment(const std::string& text) { return "# " + text + '\n'; }

std::string print(const Line& line) {
  RingOverrides one;
  one.*line.value = line.number;
  const auto variable = std::ranges::find(ring_variables(), line.value, &RingVariable::value);
  return comment(line.why) +
         fmt::format("export {}{}={}\n", ring_variable_prefix, variable->name, one.*line.value);
}

/// The variables for `settings`, and in `cannot` what none of them says. `ranks`: of the worlds; 0
/// if they differ.
std::vector<Line> lines_of(const OwnRing& settings, int ranks, const Variant& variant,
                           std::set<std::string>& cannot) {
  std::vector<Line> lines;
  lines.push_back({fmt::format("bytes of a chunk: what a rank hands on at once ({})",
                               format_bytes({static_cast<std::uint64_t>(settings.chunk)})),
                   &RingOverrides::chunk_bytes, settings.chunk});
  if (ranks > 0)
    lines.push_back({fmt::format("chunks of a staging buffer: {} in flight for each of {} ranks",
                                 settings.slots, ranks),
                     &RingOverrides::chunks, settings.slots * ranks});
  else
    cannot.insert(
        "the number of chunks: it is for one number of ranks, and the ring won with several");
  lines.push_back({"blocks of the kernel, exactly", &RingOverrides::blocks, settings.blocks});
  if (settings.threads <= known_threads)
    lines.push_back({"threads of a block", &RingOverrides::threads, settings.threads});
  else
    cannot.insert(fmt::format("{} threads of a block: ctring's kernel may have at most {}",
                              settings.threads, known_threads));
  lines.push_back({settings.goes_both_ways
                       ? "largest message in bytes that is gathered both ways; -1: all"
                       : "largest message in bytes that is gathered both ways; 0: none",
                   &RingOverrides::both_ways_max_bytes, settings.goes_both_ways ? -1 : 0});
  for (const std::string_view name : {"launch", "vector"})
    for (const Parameter& parameter : variant.parameters)
      if (parameter.name == name)
        cannot.insert(
            fmt::format("{}={}: ctring has no such setting", name, to_string(parameter.value)));
  return lines;
}

/// What the buffers take with these values, by the one function that sizes them.
std::string memory_note(const std::vector<Line>& lines) {
  RingOverrides overrides;
  for (const Line& line : lines) overrides.*line.value = line.number;
  // Its size does not depend on the architecture.
  const Bytes size = ring_staging_size(RingRules::v3, RingArchitecture::default_values, overrides);
  return fmt::format("a communicator's staging buffers with these values: {} of {} each",
                     ring_staging_buffers(RingRules::v3, overrides), format_bytes(size));
}

std::string describe_key(const TuningKey& key) {
  return fmt::format("{} {} of {} {}", describe(key.topology),
                     format_bytes(key.problem.message_size), name_of(key.problem.data_type),
                     name_of(key.problem.reduce_op));
}

[[noreturn]] void fail_without_common(const ExportScope& scope) {
  std::string text =
      "there is nothing for ctring: its variables hold for all sizes of a process, and no variant "
      "of the ring was measured in all keys that it won:";
  for (const Decision* const decision : scope.decisions)
    text += fmt::format("\n  {}: {}", describe_key(decision->key),
                        to_string(decision->ranked.front().variant));
  throw Error(StatusCode::not_found, text);
}

/// The number of ranks of all these decisions; 0 if there are several.
int ranks_of(const ExportScope& scope) {
  const int ranks = scope.decisions.front()->key.topology.ranks;
  const bool is_one = std::ranges::all_of(scope.decisions, [&](const Decision* decision) {
    return decision->key.topology.ranks == ranks;
  });
  return is_one ? ranks : 0;
}

}  // namespace

CtranRingExport export_ctran_ring(const DecisionSet& set) {
  const ExportScope scope = scope_of(
      set, "colltune", why_ctring_leaves_out,
      "there is nothing for ctring: colltune's ring all_reduce on GPUs (cuda.all_reduce_ring) won "
      "nowhere in ordinary calls");
  CtranRingExport result{.left_out = scope.left_out,
                         .keys = static_cast<int>(scope.decisions.size())};
  std::vector<RuleStanding> standings;
  for (const Decision* const decision : scope.decisions)
    standings.push_back(standing_of(
        *decision, [](const Variant& variant) { return settings_of(variant).has_value(); }));
  const std::string name = least_worst_regret(standings);
  if (name.empty()) fail_without_common(scope);
  const Variant chosen = parse_variant(name);
  double worst = 1;
  for (const RuleStanding& standing : standings) worst = std::max(worst, standing.regret.at(name));
  for (const Decision* const decision : scope.decisions)
    if (decision->ranked.front().variant == chosen) ++result.won;

  std::set<std::string> cannot;
  const std::vector<Line> lines = lines_of(*settings_of(chosen), ranks_of(scope), chosen, cannot);
  result.text = comment(
      "For torchcomms' ring all_reduce (ctring), as of rule set v3. They hold "
      "for all sizes of a process.");
  result.text += comment("  . ./ctring.sh, before the program; on all hosts alike");
  for (const std::string& line : origin_lines(set, scope)) result.text += comment(line);
  result.text +=
      comment("measured with colltune's own kernel, which goes round as ctring does: " + name);
  result.text += comment(fmt::format(
      "of {} keys it won {}; in the others the ring's best was at most {:.2f} times as fast",
      result.keys, result.won, worst));
  if (std::ranges::any_of(scope.decisions, [](const Decision* decision) {
        return decision->key.topology.ranks_per_node > 1;
      }))
    result.text += comment(
        "measured with several ranks on a node; ctring runs only where each node has one, over "
        "its network");
  for (const Line& line : lines) result.text += print(line);
  result.text += comment(memory_note(lines));
  for (const std::string& one : cannot) result.text += comment("not set: " + one);
  for (const std::string& one : cannot) result.left_out.insert("not set: " + one);
  return result;
}

}  // namespace colltune
