// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/spec/traced_sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>
#include <utility>

#include "checked_json.h"
#include "colltune/sweep/spec/sweep_spec.h"
#include "colltune/vocabulary/problem.h"
#include "configuration_form.h"

namespace colltune {
namespace {

using nlohmann::json;

// Without a configuration of the user's: enough for a decision of a small call, and no more than a
// person waits for.
constexpr double seconds_per_key = 2;
constexpr double least_seconds = 30;
constexpr double most_seconds = 600;
// As in configs/quick.json.
constexpr double default_precision = 0.01;
constexpr double default_soak_seconds = 0.1;

/// What becomes one key, but for its weight.
using Key = std::tuple<Collective, DataType, ReduceOp, Bytes, WorldSpec, Counts>;

double time_of(const RankCalls& calls) {
  return std::max(1.0, static_cast<double>(calls.time.count()));
}

WorldSpec spec_of(const TracedWorld& world) {
  return {.nodes = world.nodes, .ranks_per_node = world.ranks_per_node};
}

/// Why a call is not measured; empty if it is.
std::optional<Unserved> why_not(const TracedCall& call, const TracedWorld& world) {
  if (const auto why = problem_of(call, world).why_not) return why;
  if (call.message_size > largest_size) return Unserved::too_large;
  return {};
}

/// The types of what only moves data, which a trace does not know. One for all sizes of a
/// collective in a world: of several types, a program is served from one alone.
class TypesOfMoves {
 public:
  explicit TypesOfMoves(const Trace& trace) {
    for (const TracedCalls& calls : trace.calls) {
      const TracedWorld& world = trace.worlds.at(calls.world);
      if (why_not(calls.call, world)) continue;
      const Problem problem = problem_of(calls.call, world).problem;
      const Bytes size = calls.call.message_size;
      if (round_message_size(problem.collective, DataType::f32, size, world.ranks,
                             problem.counts) != size)
        in_bytes_.emplace(problem.collective, spec_of(world));
    }
  }
  [[nodiscard]] DataType of(Collective collective, const TracedWorld& world) const {
    return in_bytes_.contains({collective, spec_of(world)}) ? DataType::u8 : DataType::f32;
  }

 private:
  std::set<std::pair<Collective, WorldSpec>> in_bytes_;  ///< some size is no whole f32 elements
};

/// The key of a call that is measured.
Key key_of(const TracedCall& call, const TracedWorld& world, const TypesOfMoves& moves) {
  const Problem problem = problem_of(call, world).problem;
  const DataType type = shape_of(problem.collective).reduces ? problem.data_type
                                                             : moves.of(problem.collective, world);
  return {
      problem.collective,
      type,
      problem.reduce_op,
      round_message_size(problem.collective, type, call.message_size, world.ranks, problem.counts),
      spec_of(world),
      problem.counts};
}

/// The kinds of calls that share a key.
struct TracedKey {
  Key key;
  PartOfTrace part;
};

void add(PartOfTrace& part, const PartOfTrace& more) {
  part.kinds += more.kinds;
  part.time_ns += more.time_ns;
}

json to_call(const TracedKey& traced) {
  const auto& [collective, type, op, size, world, counts] = traced.key;
  json call = {{"collective", name_of(collective)},
               {"type", name_of(type)},
               {"size", size.value},
               {"nodes", world.nodes},
               {"ranks_per_node", world.ranks_per_node},
               {"weight", std::llround(std::min(traced.part.time_ns, most_weight))}};
  if (op != ReduceOp::none) call["op"] = name_of(op);
  if (counts != Counts::equal) call["counts"] = name_of(counts);
  return call;
}

/// How to measure: the keys of the base that do not say what.
json keys_of(const std::optional<BaseConfiguration>& base, std::size_t keys) {
  if (!base)
    return {{"version", 1},
            {"budget_seconds",
             std::clamp(seconds_per_key * static_cast<double>(keys), least_seconds, most_seconds)},
            {"precision", default_precision},
            {"soak", {{"seconds", default_soak_seconds}}}};
  json root = parse_checked_json(base->text, base->name, sweep_spec_schema());
  for (const std::string_view key : keys_of_products) root.erase(std::string(key));
  for (const std::string_view key : keys_of_the_lists) root.erase(std::string(key));
  root.erase(std::string(key_of_calls));
  root.erase("$schema");  // relative to the base's folder
  return root;
}

/// A line for each key and each call, so that a person can read it.
std::string text_of(const json& root, const std::vector<TracedKey>& keys) {
  std::string text = "{\n";
  for (const auto& [key, value] : root.items())
    text += fmt::format("  {}: {},\n", json(key).dump(), value.dump());
  text += fmt::format("  \"{}\": [", key_of_calls);
  for (std::size_t i = 0; i < keys.size(); ++i)
    text += (i == 0 ? "\n    " : ",\n    ") + to_call(keys[i]).dump();
  return text + "\n  ]\n}\n";
}

double all_time(const TraceCoverage& coverage) {
  double time = coverage.measured.time_ns;
  for (const auto& [why, part] : coverage.left_out) time += part.time_ns;
  return time;
}

std::string percent(double part, double all) {
  const double share = all > 0 ? 100 * part / all : 0;
  return share > 0 && share < 0.05 ? "less than 0.1 %" : fmt::format("{:.1f} %", share);
}

/// "nonblocking 2.0 %, irregular 0.9 %": the longest first.
std::string describe_left_out(const TraceCoverage& coverage) {
  std::vector<std::pair<Unserved, PartOfTrace>> parts(coverage.left_out.begin(),
                                                      coverage.left_out.end());
  std::ranges::stable_sort(parts, std::greater{},
                           [](const auto& one) { return one.second.time_ns; });
  std::string text;
  for (const auto& [why, part] : parts) {
    const std::string name = why == Unserved::beyond_limit
                                 ? fmt::format("beyond the {} heaviest", most_traced_calls)
                                 : std::string(name_of(why));
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                        percent(part.time_ns, all_time(coverage)));
    if (why == Unserved::beyond_limit) text += fmt::format(" ({} kinds)", part.kinds);
  }
  return text;
}

std::string counted(std::size_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

}  // namespace

std::vector<std::string> describe(const TraceCoverage& coverage) {
  const std::string who = fmt::format(
      "trace of {} ({} on {})", coverage.program.empty() ? "a program" : coverage.program,
      counted(static_cast<std::size_t>(coverage.ranks), "rank", "ranks"),
      counted(static_cast<std::size_t>(coverage.nodes), "node", "nodes"));
  const bool is_one = coverage.measured.kinds == 1;
  std::vector<std::string> lines{fmt::format(
      "{}: {}{}, {} of the recorded collective time, {} measured", who,
      counted(coverage.measured.kinds, "kind of calls", "kinds of calls"),
      coverage.keys == coverage.measured.kinds ? ""
                                               : " as " + counted(coverage.keys, "key", "keys"),
      percent(coverage.measured.time_ns, all_time(coverage)), is_one ? "is" : "are")};
  if (!coverage.left_out.empty()) lines.push_back("not measured: " + describe_left_out(coverage));
  return lines;
}

TracedSweep configuration_from(const Trace& trace, const std::string& trace_name,
                               const std::optional<BaseConfiguration>& base) {
  TraceCoverage coverage{
      .program = trace.program, .ranks = trace.ranks, .nodes = trace.nodes, .left_out = {}};
  const TypesOfMoves moves(trace);
  std::map<Key, PartOfTrace> by_key;
  for (const TracedCalls& calls : trace.calls) {
    const PartOfTrace part{.kinds = 1, .time_ns = time_of(calls.by_ranks)};
    const TracedWorld& world = trace.worlds.at(calls.world);
    const auto why = why_not(calls.call, world);
    add(why ? coverage.left_out[*why] : by_key[key_of(calls.call, world, moves)], part);
  }
  if (trace.not_kept.calls > 0)
    coverage.left_out[Unserved::not_kept].time_ns = time_of(trace.not_kept);

  std::vector<TracedKey> keys;
  for (const auto& [key, part] : by_key) keys.push_back({.key = key, .part = part});
  std::ranges::stable_sort(keys, std::greater{},
                           [](const TracedKey& traced) { return traced.part.time_ns; });
  while (keys.size() > most_traced_calls) {
    add(coverage.left_out[Unserved::beyond_limit], keys.back().part);
    keys.pop_back();
  }
  for (const TracedKey& traced : keys) add(coverage.measured, traced.part);
  coverage.keys = keys.size();
  if (keys.empty())
    throw Error(StatusCode::not_found,
                fmt::format("{}: there is nothing to measure: {}", trace_name,
                            coverage.left_out.empty()
                                ? std::string("the program called no collectives")
                                : "of the collectives' time are " + describe_left_out(coverage)));
  return {.configuration = text_of(keys_of(base, keys.size()), keys),
          .coverage = std::move(coverage)};
}

}  // namespace colltune
