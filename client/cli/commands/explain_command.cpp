// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "explain_command.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "colltune/decide/sweep_summary.h"
#include "colltune/export/decision_json.h"
#include "colltune/vocabulary/canonical.h"
#include "explain_modes.h"
#include "reports/report_data.h"
#include "source/database.h"
#include "text/figures.h"
#include "text/mesh_text.h"
#include "text/text_table.h"

namespace colltune {
namespace {

using nlohmann::json;

/// A variant that was measured for the key.
struct Runner {
  std::string variant;
  std::string family;
  std::set<int> passes;
  Outcome outcome = Outcome::ok;  ///< its first outcome other than ok
  std::string detail;
  std::string fate;
};

/// A variant that was not measured for the key, or a whole problem that was not.
struct Missing {
  std::string variant;  ///< empty: the whole problem
  std::string reason;
  std::string ranks_with_it;
};

/// Why an answer is what it is.
struct Explanation {
  LookupQuery query;
  FoundAnswer found;
  std::vector<Runner> runners;  ///< ranked ones in order, then the others
  std::vector<Missing> missing;
  ExecutionModes modes;
  /// By variant, the time to make the communicators that it runs on; the maximum over the passes.
  std::map<std::string, std::chrono::nanoseconds> communicators;
  bool has_decisions_only = false;  ///< it is from a server or a table file
};

/// What a caller pays once for the winner's communicators, and after how many calls that pays off.
struct CommunicatorsCost {
  std::chrono::nanoseconds winner{};
  std::chrono::nanoseconds baseline{};
  /// Calls after which the winner has saved the extra time for its communicators compared with the
  /// baseline's; empty if it never does.
  std::optional<std::uint64_t> paid_back_after;
};

/// Empty if the winner needs no communicators of its own.
std::optional<CommunicatorsCost> communicators_cost(const Explanation& explanation) {
  const auto& ranked = explanation.found.answer.decision.ranked;
  const auto own = explanation.communicators.find(to_string(ranked.front().variant));
  if (own == explanation.communicators.end()) return {};
  CommunicatorsCost cost{.winner = own->second};
  const auto baseline = std::ranges::find(ranked, true, &RankedVariant::is_baseline);
  if (baseline == ranked.end()) return cost;
  const auto of_baseline = explanation.communicators.find(to_string(baseline->variant));
  if (of_baseline != explanation.communicators.end()) cost.baseline = of_baseline->second;
  const auto more = (cost.winner - cost.baseline).count();
  const auto saved = (baseline->median - ranked.front().median).count();
  if (more <= 0)
    cost.paid_back_after = 0;
  else if (saved > 0)
    cost.paid_back_after = static_cast<std::uint64_t>((more + saved - 1) / saved);
  return cost;
}

std::string communicators_text(const Explanation& explanation) {
  const auto cost = communicators_cost(explanation);
  if (!cost) return {};
  std::string text = fmt::format(
      "\ncommunicators are made once, outside of all times: {} us for the winner, {} us for the "
      "baseline",
      microseconds(cost->winner), microseconds(cost->baseline));
  if (!cost->paid_back_after)
    text += "; that is not paid back";
  else if (*cost->paid_back_after > 0)
    text += fmt::format("; paid back after {} call(s)", *cost->paid_back_after);
  return text + '\n';
}

json communicators_json(const Explanation& explanation) {
  const auto cost = communicators_cost(explanation);
  if (!cost) return nullptr;
  json out{{"winner_ns", cost->winner.count()}, {"baseline_ns", cost->baseline.count()}};
  out["paid_back_after_calls"] =
      cost->paid_back_after ? json(*cost->paid_back_after) : json(nullptr);
  return out;
}

std::vector<Runner> runners_of(const std::vector<Measurement>& measurements, const TuningKey& key) {
  std::map<std::string, Runner> by_name;
  for (const Measurement& one : measurements) {
    if (one.key != key || one.is_twin || one.is_holdout) continue;
    const std::string name = to_string(one.variant);
    Runner& runner = by_name[name];
    runner.variant = name;
    runner.family = one.family;
    runner.passes.insert(one.pass);
    if (runner.outcome != Outcome::ok) continue;
    runner.outcome = one.outcome;
    runner.detail = one.detail;
  }
  std::vector<Runner> runners;
  for (auto& [name, runner] : by_name) runners.push_back(std::move(runner));
  return runners;
}

std::map<std::string, std::chrono::nanoseconds> communicators_of(
    const std::vector<Measurement>& measurements, const TuningKey& key) {
  std::map<std::string, std::chrono::nanoseconds> most;
  for (const Measurement& one : measurements)
    if (one.key == key && one.conditions.communicators) {
      auto& own = most[to_string(one.variant)];
      own = std::max(own, *one.conditions.communicators);
    }
  return most;
}

/// `ratio` over the baseline as a person would say it: nobody says "0.15x as fast".
std::string beside_baseline(double ratio) {
  constexpr double margin = 1.02;  // DecisionPolicy::minimum_margin
  if (ratio >= margin) return fmt::format("{:.2f} times as fast as the baseline", ratio);
  if (ratio > 1 / margin) return "as fast as the baseline";
  return fmt::format("{:.2f} times slower than the baseline", 1 / ratio);
}

/// What the place of a ranked variant says about it.
std::string fate_of(const Decision& decision, std::size_t place) {
  const RankedVariant& own = decision.ranked[place];
  const RankedVariant& winner = decision.ranked.front();
  const auto baseline =
      std::ranges::find_if(decision.ranked, [](const auto& other) { return other.is_baseline; });
  const bool is_proven = baseline != decision.ranked.end() &&
                         baseline - decision.ranked.begin() > static_cast<std::ptrdiff_t>(place);
  if (own.is_baseline)
    return place == 0 ? "stays: it is what runs without colltune" : "what runs without colltune";
  const bool has_baseline = baseline != decision.ranked.end();
  std::string fate;
  if (place == 0) fate = has_baseline ? "wins" : "the fastest of its family";
  if (own.speedup_over_baseline > 0) {
    fate += (fate.empty() ? "" : ": ") + beside_baseline(own.speedup_over_baseline);
    constexpr double margin = 1.02;
    if (!is_proven && baseline != decision.ranked.end() && own.speedup_over_baseline >= margin)
      fate += ", but not proven to be faster (see the reason)";
  }
  if (place == 0) return fate;
  if (!winner.is_baseline && own.speedup_over_baseline > 0 && winner.speedup_over_baseline > 0) {
    const double behind = winner.speedup_over_baseline / own.speedup_over_baseline;
    if (behind >= 1)
      fate += fmt::format("; the winner is {:.2f} times as fast as it", behind);
    else
      fate += fmt::format("; {:.2f} times as fast as the winner, but not proven or less simple",
                          1 / behind);
  }
  return fate.empty() ? "measured" : fate;
}

void put_in_order(std::vector<Runner>& runners, const Decision& decision) {
  std::map<std::string, std::size_t> places;
  for (std::size_t place = 0; place < decision.ranked.size(); ++place)
    places.emplace(to_string(decision.ranked[place].variant), place);
  std::size_t most = 0;
  for (const Runner& runner : runners) most = std::max(most, runner.passes.size());
  for (Runner& runner : runners) {
    const auto place = places.find(runner.variant);
    if (runner.outcome != Outcome::ok)
      runner.fate = fmt::format("{}: {}", name_of(runner.outcome), runner.detail);
    else if (place == places.end())
      runner.fate = "not in this ranking";
    else
      runner.fate = fate_of(decision, place->second);
    if (runner.outcome == Outcome::ok && runner.passes.size() < most)
      runner.fate +=
          fmt::format("; left the race after {} of {} passes", runner.passes.size(), most);
  }
  std::ranges::stable_sort(runners, {}, [&](const Runner& runner) {
    const auto place = places.find(runner.variant);
    return place == places.end() ? places.size() : place->second;
  });
}

/// Whether `number` lies in one of `ranges`, each a pair of first and last number.
bool hold(const std::vector<std::vector<int>>& ranges, std::ptrdiff_t number) {
  return std::ranges::any_of(ranges, [&](const std::vector<int>& range) {
    return range.size() == 2 && range[0] <= number && number <= range[1];
  });
}

/// The entries about `key` in what the agent stored with a sweep; empty if an older agent stored
/// none. Throws Error(data_loss) for anything that no agent writes.
std::vector<Missing> missing_of(const SweepRecord& sweep, const TuningKey& key) {
  std::vector<Missing> missing;
  const auto skipped = read_sweep_summary(sweep.summary, sweep.uuid).skipped;
  if (!skipped) return missing;
  const auto found = std::ranges::find(skipped->problems, digest_of_value(key.problem));
  if (found == skipped->problems.end()) return missing;
  const std::string topology = digest_of_value(key.topology);
  for (const SkippedVariant& entry : skipped->entries)
    if (entry.topology == topology && hold(entry.problems, found - skipped->problems.begin()))
      missing.push_back(
          {.variant = entry.variant, .reason = entry.reason, .ranks_with_it = entry.ranks_with_it});
  return missing;
}

/// If the query does not name the asking members, it is answered for the members that were
/// measured, including what only these can run.
void ask_as_those_that_were_measured(const StoreReader& reader, const LookupOptions& options,
                                     Explanation& explanation) {
  if (explanation.query.members) return;
  const Decision& decision = explanation.found.answer.decision;
  const std::string topology = digest_of_value(decision.key.topology);
  for (WorldMembers& world : reader.members(decision.sweep_uuid)) {
    if (world.topology_digest != topology || world.members.kinds.size() < 2) continue;
    LookupQuery query = explanation.query;
    query.members = std::move(world.members);
    query.layout_digest = decision.key.topology.layout_digest;
    query.environment_digest = decision.key.environment_digest;
    FoundAnswer found = find_answer(options.origin, query);
    if (found.answer.members != MembersMatch::same) return;
    explanation.query = std::move(query);
    explanation.found = std::move(found);
    return;
  }
}

Explanation explain(const LookupOptions& options) {
  const LookupQuery query = resolved_query(options);
  // A server or a table has only decisions, so the measured variants are those that they rank.
  if (options.origin.database.empty())
    return {.query = query,
            .found = find_answer(options.origin, query),
            .runners = {},
            .missing = {},
            .modes = {},
            .communicators = {},
            .has_decisions_only = true};
  const StoreReader reader = open_database(options.origin.database);
  Explanation explanation{.query = query, .found = find_answer(options.origin, query)};
  ask_as_those_that_were_measured(reader, options, explanation);
  const Decision& decision = explanation.found.answer.decision;
  for (const SweepRecord& sweep : reader.sweeps()) {
    if (sweep.uuid != decision.sweep_uuid) continue;
    const std::vector<Measurement> measurements = reader.measurements(sweep.uuid);
    say_left_out(reader.left_out());
    explanation.runners = runners_of(measurements, decision.key);
    explanation.communicators = communicators_of(measurements, decision.key);
    explanation.missing = missing_of(sweep, decision.key);
  }
  put_in_order(explanation.runners, decision);
  if (explanation.found.answer.source == Source::measured)
    explanation.modes =
        modes_of(decision, reader.published(explanation.found.answer.generation.number).decisions);
  return explanation;
}

/// What was not measured, by reason: the implementations' names, and how many variants of each.
std::string missing_text(const std::vector<Missing>& missing) {
  struct Group {
    std::set<std::string> names;
    std::size_t variants = 0;
  };
  std::map<std::pair<std::string, std::string>, Group> groups;
  for (const Missing& one : missing) {
    Group& group = groups[{one.reason, one.ranks_with_it}];
    group.names.insert(one.variant.empty() ? "the problem"
                                           : one.variant.substr(0, one.variant.find('{')));
    ++group.variants;
  }
  std::string text = groups.empty() ? "" : "\nnot measured there (--json has every variant)\n";
  for (const auto& [why, group] : groups) {
    const auto& [reason, ranks] = why;
    text += fmt::format("  {}{}\n    {} variant(s) of {}\n", reason,
                        ranks.empty() ? std::string() : fmt::format("; rank {} has it", ranks),
                        group.variants, fmt::join(group.names, ", "));
  }
  return text;
}

/// The ranking, grouped by what became of the variants.
std::string ranked_text(const Decision& decision, std::size_t width) {
  std::string text;
  for (std::size_t place = 0; place < decision.ranked.size(); ++place) {
    TextTable entry({{to_string(decision.ranked[place].variant)}});
    entry.add_row({"  " + decision.ranked[place].family + ": " + fate_of(decision, place)});
    text += entry.text(width);
  }
  return text;
}

std::string text_of(const Explanation& explanation, std::size_t width) {
  const LookupAnswer& answer = explanation.found.answer;
  std::string text = answer_text(explanation.found, explanation.query, width);
  text += "\nexecuted by\n";
  const RankedVariant& winner = answer.decision.ranked.front();
  const Composition* const form = form_named_by(winner, answer.compositions);
  if (form != nullptr)
    for (const std::string& line : form_lines(*form, *explanation.query.problem.mesh))
      text += fmt::format("  all ranks, {}\n", line);
  else if (explanation.query.members)
    for (const std::string& line :
         executed_by(winner, answer.compositions, *explanation.query.members))
      text += fmt::format("  {}\n", line);
  else
    for (const auto& [architecture, ranks] : answer.decision.key.topology.architectures)
      text += fmt::format("  {} rank(s) {}: {}\n", ranks, architecture, to_string(winner.variant));
  text += modes_text(explanation.modes);
  text += communicators_text(explanation);
  if (explanation.has_decisions_only) {
    text += '\n' + ranked_text(answer.decision, width) +
            "\nwho left the race or could not run is in the database that the decisions come from: "
            "explain --db FILE tells\n";
  } else if (explanation.runners.empty() && answer.source == Source::measured) {
    text += fmt::format("\nthe measurements of sweep {} are not in this database\n",
                        answer.decision.sweep_uuid);
  } else if (answer.source == Source::baseline) {
    text += "\nnothing was measured that could answer for these members\n";
  } else if (explanation.runners.empty()) {
    text += "\nnothing was measured for this very size";
    for (std::size_t i = 0; i < answer.measured_sizes.size(); ++i)
      text += (i == 0 ? ": explain " : " or ") + format_bytes(answer.measured_sizes[i]);
    text += '\n';
  } else {
    text += fmt::format("\nmeasured in sweep {}\n", answer.decision.sweep_uuid);
    if (width > 0) {
      // Names of variants are too long for another column next to them.
      for (const Runner& runner : explanation.runners) {
        TextTable entry({{runner.variant}});
        entry.add_row({fmt::format("  {}, {} pass(es): {}", runner.family, runner.passes.size(),
                                   runner.fate)});
        text += entry.text(width);
      }
    } else {
      TextTable table({{"variant"}, {"family"}, {"passes", TextTable::Align::right}, {"fate"}});
      for (const Runner& runner : explanation.runners)
        table.add_row(
            {runner.variant, runner.family, std::to_string(runner.passes.size()), runner.fate});
      text += table.text();
    }
  }
  return text + missing_text(explanation.missing);
}

json json_of(const Explanation& explanation) {
  json runners = json::array();
  for (const Runner& runner : explanation.runners)
    runners.push_back({{"variant", runner.variant},
                       {"family", runner.family},
                       {"passes", runner.passes.size()},
                       {"outcome", name_of(runner.outcome)},
                       {"fate", runner.fate}});
  json missing = json::array();
  for (const Missing& one : explanation.missing)
    missing.push_back(
        {{"variant", one.variant}, {"reason", one.reason}, {"ranks_with_it", one.ranks_with_it}});
  json executed = json::array();
  const LookupAnswer& answer = explanation.found.answer;
  if (const Composition* const form =
          form_named_by(answer.decision.ranked.front(), answer.compositions))
    for (const std::string& line : form_lines(*form, *explanation.query.problem.mesh))
      executed.push_back("all ranks, " + line);
  else if (explanation.query.members)
    for (const std::string& line :
         executed_by(explanation.found.answer.decision.ranked.front(),
                     explanation.found.answer.compositions, *explanation.query.members))
      executed.push_back(line);
  return {{"executed_by", executed},
          {"modes", modes_json(explanation.modes)},
          {"communicators", communicators_json(explanation)},
          {"answer", answer_to_json(explanation.found.answer, explanation.found.environment)},
          {"measured", runners},
          {"not_measured", missing}};
}

}  // namespace

void run_explain(const LookupOptions& options, std::ostream& out) {
  const Explanation explanation = explain(options);
  if (options.json)
    out << json_of(explanation).dump(2) << '\n';
  else
    out << text_of(explanation, table_width(options.is_wide));
}

}  // namespace colltune
