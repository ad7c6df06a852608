// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "trace_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "colltune/apply/settings.h"
#include "colltune/json/json.h"
#include "colltune/table/decision_table.h"
#include "colltune/trace/trace.h"
#include "source/table.h"
#include "text/figures.h"
#include "text/text_table.h"

namespace colltune {
namespace {

using std::chrono::nanoseconds;

constexpr const char* not_measured = "not measured";

/// What the decisions say of calls of one kind.
struct Worth {
  std::string unserved;             ///< why nothing of the table runs; then the rest is empty
  std::optional<Variant> winner{};  ///< empty: the default is kept
  ApplyBy by = ApplyBy::nothing;
  nanoseconds default_time{};  ///< of one call
  nanoseconds winner_time{};
  nanoseconds saved{};  ///< of all calls of a rank, in the mean of the launch's ranks

  /// `colltune run` makes programs run it.
  [[nodiscard]] bool is_run() const {
    return by == ApplyBy::component || by == ApplyBy::environment;
  }
};

/// Calls of one kind with what is said of them.
struct Judged {
  const TracedCalls* calls = nullptr;
  Worth worth;
};

/// The decisions with the environments that they were made in.
class Judge {
 public:
  explicit Judge(DecisionSet set) : table_(std::move(set)) {}

  [[nodiscard]] Worth worth_of(const TracedCalls& calls, const TracedWorld& world,
                               int launched) const {
    const TracedProblem asked = problem_of(calls.call, world);
    if (asked.why_not)
      return {.unserved = fmt::format("no variant serves it ({})", name_of(*asked.why_not))};
    Problem in_bytes = asked.problem;
    if (!shape_of(in_bytes.collective).reduces) in_bytes.data_type = DataType::u8;
    // Which of them was measured, the trace does not say.
    for (const Problem& problem : {asked.problem, in_bytes})
      for (const Placement placement : {Placement::dedicated, Placement::oversubscribed})
        if (const auto decision = find(problem, world, placement))
          return judged(*decision, calls, launched);
    return {.unserved = not_measured};
  }

 private:
  [[nodiscard]] std::optional<Decision> find(const Problem& problem, const TracedWorld& world,
                                             Placement placement) const {
    try {
      LookupAnswer answer = table_.find({.problem = problem,
                                         .nodes = world.nodes,
                                         .ranks_per_node = world.ranks_per_node,
                                         .placement = placement});
      if (answer.source == Source::measured || answer.source == Source::interpolated)
        return std::move(answer.decision);
    } catch (const Error& error) {
      if (error.code() != StatusCode::not_found) throw;
    }
    return {};
  }
  [[nodiscard]] Worth judged(const Decision& decision, const TracedCalls& calls,
                             int launched) const {
    Worth worth;
    const auto baseline = std::ranges::find(decision.ranked, true, &RankedVariant::is_baseline);
    if (decision.verdict != Verdict::displaced || decision.ranked.front().is_baseline ||
        baseline == decision.ranked.end())
      return worth;
    const RankedVariant& winner = decision.ranked.front();
    worth.winner = winner.variant;
    worth.default_time = baseline->median;
    worth.winner_time = winner.median;
    worth.by = settings_to_apply(winner, decision.key.problem, environment_of(decision)).by;
    worth.saved = (worth.default_time - worth.winner_time) *
                  static_cast<std::int64_t>(calls.by_ranks.calls) / launched;
    return worth;
  }
  [[nodiscard]] const Environment* environment_of(const Decision& decision) const {
    for (const auto& [digest, environment] : table_.set().environments)
      if (digest == decision.key.environment_digest) return &environment;
    return nullptr;
  }

  DecisionTable table_;
};

double milliseconds(nanoseconds time) { return static_cast<double>(time.count()) / 1e6; }

double percent(nanoseconds part, nanoseconds whole) {
  return whole.count() == 0
             ? 0
             : 100 * static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

std::string call_text(const TracedCall& call) {
  std::string text(name_of(call.operation));
  if (call.persistent)
    text = *call.persistent == PersistentStep::start ? "start of " + text : text + "_init";
  else if (call.is_nonblocking)
    text = "i" + text;
  if (call.data_type) text += fmt::format(" {}", name_of(*call.data_type));
  if (call.reduce_op) text += fmt::format(" {}", name_of(*call.reduce_op));
  if (call.operation != TracedOperation::barrier)
    text += fmt::format(" {}{}", call.is_rounded ? "from " : "", format_bytes(call.message_size));
  if (is_irregular(call.operation)) text += fmt::format(", counts {}", name_of(call.counts));
  return text;
}

std::string world_text(const TracedWorld& world) {
  const std::string where =
      world.nodes == 0 ? "on nodes that are not known"
      : world.ranks_per_node == 0
          ? fmt::format("unevenly on {} nodes", world.nodes)
          : fmt::format("on {} node(s) x {}", world.nodes, world.ranks_per_node);
  return fmt::format("{} ranks {}, {} communicator(s)", world.ranks, where, world.communicators);
}

std::string outcome_text(const Worth& worth) {
  if (!worth.unserved.empty()) return worth.unserved;
  if (!worth.winner) return "the default is kept";
  return fmt::format("{} us by default, {} by {}{}", microseconds(worth.default_time),
                     microseconds(worth.winner_time), to_string(*worth.winner),
                     worth.is_run() ? "" : " (no command of ours makes a program run it)");
}

/// The recorded time of all calls; of a rank times the number of ranks.
nanoseconds recorded_time(const Trace& trace) {
  nanoseconds all = trace.not_kept.time;
  for (const TracedCalls& calls : trace.calls) all += calls.by_ranks.time;
  return all;
}

std::string head_text(const Trace& trace) {
  const nanoseconds inside = recorded_time(trace);
  std::string text = fmt::format(
      "{}: {} ranks on {} node(s), {}\n"
      "  {:.3f} ms from MPI_Init to MPI_Finalize, {:.3f} ms of them ({:.1f} %) in collectives, in "
      "the mean of the ranks\n",
      trace.program, trace.ranks, trace.nodes, trace.mpi_library,
      milliseconds(trace.rank_time / trace.ranks), milliseconds(inside / trace.ranks),
      percent(inside, trace.rank_time));
  std::map<Unserved, nanoseconds> unserved;
  for (const TracedCalls& calls : trace.calls)
    if (const auto why = problem_of(calls.call, trace.worlds[calls.world]).why_not)
      unserved[*why] += calls.by_ranks.time;
  if (trace.not_kept.calls > 0) unserved[Unserved::not_kept] = trace.not_kept.time;
  nanoseconds served = inside;
  std::string list;
  for (const auto& [why, time] : unserved) {
    served -= time;
    list += fmt::format("{}{} {:.1f} %", list.empty() ? "; of others: " : ", ", name_of(why),
                        percent(time, inside));
  }
  return text +
         fmt::format("  {:.1f} % of the time in collectives is of calls that variants serve{}\n",
                     percent(served, inside), list);
}

std::string worth_text(const Trace& trace, const std::vector<Judged>& all) {
  nanoseconds run{};
  nanoseconds not_run{};
  nanoseconds unmeasured{};
  for (const Judged& one : all) {
    (one.worth.is_run() ? run : not_run) += one.worth.saved;
    if (one.worth.unserved == not_measured) unmeasured += one.calls->by_ranks.time;
  }
  const nanoseconds inside = recorded_time(trace);
  std::string text = fmt::format(
      "by the table's times 'colltune run' saves {:.3f} ms of a rank's {:.3f} ms in collectives "
      "({:.1f} %)",
      milliseconds(run), milliseconds(inside / trace.ranks), percent(run * trace.ranks, inside));
  if (not_run.count() > 0)
    text += fmt::format("; winners that no command of ours runs would save {:.3f} ms more",
                        milliseconds(not_run));
  if (unmeasured.count() > 0)
    text += fmt::format("; not measured: {:.1f} % of the time in collectives",
                        percent(unmeasured, inside));
  return text + '\n';
}

void print_json(const Trace& trace, const std::vector<Judged>& all, bool is_judged,
                std::ostream& out) {
  nlohmann::json list = nlohmann::json::array();
  for (const Judged& one : all) {
    nlohmann::json item = to_json_value(*one.calls);
    item["world"] = to_json_value(trace.worlds[one.calls->world]);
    if (const auto why = problem_of(one.calls->call, trace.worlds[one.calls->world]).why_not)
      item["not_served"] = name_of(*why);
    else if (is_judged) {
      item["is_measured"] = one.worth.unserved.empty();
      if (one.worth.winner) {
        item["winner"] = to_string(*one.worth.winner);
        item["is_run"] = one.worth.is_run();
        item["default_ns"] = one.worth.default_time.count();
        item["winner_ns"] = one.worth.winner_time.count();
        item["saved_ns_per_rank"] = one.worth.saved.count();
      }
    }
    list.push_back(std::move(item));
  }
  nlohmann::json all_of_it = to_json_value(trace);
  all_of_it.erase("worlds");
  all_of_it["calls"] = std::move(list);
  out << all_of_it.dump(1, ' ', false, nlohmann::json::error_handler_t::replace) << '\n';
}

}  // namespace

void run_show_trace(const TraceOptions& options, std::ostream& out) {
  const Origin& origin = options.origin;
  const bool is_judged =
      !origin.database.empty() || !origin.server.empty() || !origin.table.empty();
  if (is_judged) check(origin);
  const Trace trace = load_trace(options.trace);
  std::optional<Judge> judge;
  if (is_judged) judge.emplace(read_decisions(origin));
  std::vector<Judged> all;
  for (const TracedCalls& calls : trace.calls)
    all.push_back({.calls = &calls,
                   .worth = judge ? judge->worth_of(calls, trace.worlds[calls.world], trace.ranks)
                                  : Worth{}});
  std::ranges::stable_sort(all, std::ranges::greater{},
                           [](const Judged& one) { return one.calls->by_ranks.time; });
  if (options.json) return print_json(trace, all, is_judged, out);
  using Align = TextTable::Align;
  std::vector<TextTable::Column> columns{
      {"calls", Align::right}, {"us/call", Align::right}, {"share", Align::right}};
  if (is_judged) columns.push_back({"saved(ms)", Align::right});
  columns.push_back({"call"});
  if (is_judged) columns.back().title = "call: what the table says";
  HeadedTables tables(columns);
  const nanoseconds inside = recorded_time(trace);
  for (const Judged& one : all) {
    const TracedWorld& world = trace.worlds[one.calls->world];
    const RankCalls& made = one.calls->by_ranks;
    std::vector<std::string> row{
        fmt::format("{}", made.calls / static_cast<std::uint64_t>(world.ranks)),
        microseconds(made.time / static_cast<std::int64_t>(made.calls)),
        fmt::format("{:.1f} %", percent(made.time, inside))};
    if (is_judged)
      row.push_back(one.worth.winner ? fmt::format("{:.3f}", milliseconds(one.worth.saved)) : "-");
    row.push_back(call_text(one.calls->call) +
                  (is_judged ? ": " + outcome_text(one.worth) : std::string()));
    tables.add_row(world_text(world), std::move(row));
  }
  out << head_text(trace) << '\n' << tables.text(table_width(options.is_wide));
  if (is_judged) out << '\n' << worth_text(trace, all);
}

}  // namespace colltune
