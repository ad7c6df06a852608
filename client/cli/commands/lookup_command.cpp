// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "lookup_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>
#include <utility>
#include <vector>

#include "colltune/apply/settings.h"
#include "colltune/export/decision_json.h"
#include "colltune/guess/environment_guess.h"
#include "colltune/model/query_words.h"
#include "colltune/table/decision_table.h"
#include "environment_choice.h"
#include "source/database.h"
#include "source/remote.h"
#include "source/table.h"
#include "text/figures.h"
#include "text/members_text.h"
#include "text/mesh_text.h"
#include "text/text_table.h"

namespace colltune {
namespace {

/// The option that sets a field of QueryWords.
std::string option_for(std::string_view field) {
  if (field == "reduce_op") return "--op";
  if (field == "data_type") return "--dtype";
  if (field == "message_size") return "--bytes";
  if (field == "mesh_shape") return "--mesh";
  if (field == "mesh_steps") return "--reduce";
  if (field == "mesh_form") return "--policy";
  if (field == "at_least") return "--match";
  if (field == "environment_digest") return "--environment";
  std::string option = "--" + std::string(field);
  std::ranges::replace(option, '_', '-');
  return option;
}

Bytes read_message_size(const std::string& text) {
  try {
    return parse_bytes(text);
  } catch (const Error& error) {
    throw Error(error.code(), std::string("--bytes: ") + error.what());
  }
}

/// 0 is no number of nodes for a person who names one.
int read_count(const char* option, const std::optional<int>& count) {
  if (count && *count < 1)
    throw Error(StatusCode::invalid_argument,
                std::string(option) + ": " + std::to_string(*count) + " is not at least 1");
  return count.value_or(0);
}

std::string sizes_text(const std::vector<Bytes>& sizes) {
  std::string text;
  for (const Bytes size : sizes) {
    if (!text.empty()) text += ", ";
    text += format_bytes(size);
  }
  return text;
}

/// What the speed-ups of a ranking are relative to; empty if there are none.
std::string reference_text(const Decision& decision) {
  const auto baseline = std::ranges::find(decision.ranked, true, &RankedVariant::is_baseline);
  if (baseline != decision.ranked.end())
    return fmt::format("speed-up: over {}, in the same rounds\n", to_string(baseline->variant));
  return decision.ranked.front().speedup_over_baseline > 0
             ? "speed-up: over the fastest baseline of another family, in the same rounds\n"
             : "";
}

std::string ranking_text(const Decision& decision, std::size_t width) {
  using Align = TextTable::Align;
  if (width > 0) {
    TextTable table({{"rank", Align::right},
                     {"time(us)", Align::right},
                     {"low", Align::right},
                     {"high", Align::right},
                     {"speed-up", Align::right},
                     {"variant"}});
    for (std::size_t i = 0; i < decision.ranked.size(); ++i) {
      const RankedVariant& ranked = decision.ranked[i];
      const std::string note = note_of(ranked);
      table.add_row({std::to_string(i + 1), microseconds(ranked.median), microseconds(ranked.low),
                     microseconds(ranked.high), speedup(ranked),
                     to_string(ranked.variant) + (note.empty() ? "" : " (" + note + ")")});
    }
    return table.text(width) + reference_text(decision);
  }
  TextTable table({{"rank", Align::right},
                   {"variant"},
                   {"family"},
                   {"time(us)", Align::right},
                   {"low", Align::right},
                   {"high", Align::right},
                   {"speed-up", Align::right},
                   {"samples", Align::right},
                   {"verified", Align::right},
                   {"note"}});
  for (std::size_t i = 0; i < decision.ranked.size(); ++i) {
    const RankedVariant& ranked = decision.ranked[i];
    table.add_row({std::to_string(i + 1), to_string(ranked.variant), ranked.family,
                   microseconds(ranked.median), microseconds(ranked.low), microseconds(ranked.high),
                   speedup(ranked), std::to_string(ranked.samples),
                   std::to_string(ranked.verified_calls), note_of(ranked)});
  }
  return table.text() + reference_text(decision);
}

/// What makes a variant run in its own library: the variables, and what to do with them.
std::string apply_lines(const ApplySettings& settings) {
  std::string text;
  for (const std::string& variable : settings.variables)
    text += fmt::format("{:<13}{}\n", text.empty() ? "apply" : "", variable);
  return text + fmt::format("{:<13}{}\n", text.empty() ? "apply" : "", settings.how);
}

/// How to use the answer: that of the winner, and, where no library runs it by itself, that of the
/// first in the ranking that a library or program runs.
std::string apply_text(const Decision& decision, const std::optional<Environment>& environment) {
  const auto all = settings_to_apply(decision, environment ? &*environment : nullptr);
  std::string text = apply_lines(all.front());
  const auto is_ours = [](const ApplySettings& one) {
    return one.by == ApplyBy::colltune || one.by == ApplyBy::component;
  };
  if (!is_ours(all.front())) return text;
  const auto other = std::ranges::find_if_not(all, is_ours);
  if (other == all.end()) return text;
  const RankedVariant& own = decision.ranked[static_cast<std::size_t>(other - all.begin())];
  return text +
         fmt::format("as you are   rank {}, {}, {} us, speed-up {}\n", other - all.begin() + 1,
                     to_string(own.variant), microseconds(own.median), speedup(own)) +
         apply_lines(*other);
}

std::string environment_text(const TuningKey& key, const std::optional<Environment>& environment) {
  std::string text = key.environment_digest;
  if (!environment) return text;
  visit_facts(*environment, [&](std::string_view name, const std::string& value) {
    if (!value.empty()) text += fmt::format("\n  {:<17} {}", name, value);
  });
  return text;
}

}  // namespace

FoundAnswer find_answer(const Origin& origin, const LookupQuery& query) {
  if (!origin.server.empty()) return look_up_remotely(origin.server, query);
  const DecisionTable table(read_decisions(origin));
  const auto ask = [&](const LookupQuery& asked) {
    FoundAnswer found{.answer = table.find(asked), .environment = {}};
    if (const auto* const known =
            find_environment(table.set(), found.answer.decision.key.environment_digest))
      found.environment = *known;
    return found;
  };
  GuessedAnswer answer = ask_or_guess(query, ask, [&] { return table.set(); });
  say_guess(answer.why);
  return std::move(answer.found);
}

std::string answer_text(const FoundAnswer& found, const LookupQuery& query, std::size_t width) {
  const LookupAnswer& answer = found.answer;
  const Decision& decision = answer.decision;
  const RankedVariant& winner = decision.ranked.front();
  std::string out = fmt::format("{} on {}, family {}\n\n", describe(decision.key.problem),
                                describe(decision.key.topology), decision.family);
  out += fmt::format("winner       {}\n", to_string(winner.variant));
  out += fmt::format("time         {} us, speed-up {}\n", microseconds(winner.median),
                     speedup(winner));
  out += apply_text(decision, found.environment);
  if (query.family == any_family)
    out +=
        "family       any, which a lookup assumes that names none: variants of all families,\n"
        "             colltune's own too; --family mpi (or nccl) answers what that library runs\n";
  out += fmt::format("source       {}{}, match {}\n", name_of(answer.source),
                     answer.measured_sizes.empty()
                         ? std::string()
                         : fmt::format(" (from {})", sizes_text(answer.measured_sizes)),
                     name_of(answer.match));
  if (answer.prediction)
    out += fmt::format("predicted    {} to {} us by {} (90 % interval)\n",
                       microseconds(answer.prediction->low), microseconds(answer.prediction->high),
                       answer.prediction->model);
  if (answer.members != MembersMatch::not_asked)
    out += fmt::format("members      {}\n", match_text(answer.members));
  out += fmt::format("status       {}\n", status_text(decision));
  if (!decision.reason.empty()) out += fmt::format("reason       {}\n", decision.reason);
  out += fmt::format("regime       {}\n", describe(regime_of(decision.key)));
  out += fmt::format("generation   {} of {}\n", answer.generation.number,
                     answer.generation.store_uuid);
  out += fmt::format("environment  {}\n\n", environment_text(decision.key, found.environment));
  out += ranking_text(decision, width);
  for (const Composition& composition : answer.compositions) {
    if (parts_name(composition) != parts_named_by(winner.variant)) continue;
    if (!is_for_certain_members(winner.variant))
      out += fmt::format("\n{}", form_text(composition, *query.problem.mesh));
    else if (query.members)
      out += fmt::format("\n{}", composition_text(composition, *query.members));
  }
  return out;
}

LookupQuery query_of(const LookupOptions& options) {
  LookupQuery query =
      read_query({.collective = options.collective,
                  .data_type = options.data_type,
                  .message_size = read_message_size(options.bytes),
                  .reduce_op = options.reduce_op,
                  .numeric_class = options.numeric_class,
                  .counts = options.counts,
                  .mesh_shape = options.mesh,
                  .mesh_steps = options.reduce,
                  .mesh_form = options.policy,
                  .in_place = options.in_place,
                  .registered = options.registered,
                  .graph_capture = options.graph_capture,
                  .nodes = read_count("--nodes", options.nodes),
                  .ranks_per_node = read_count("--ranks-per-node", options.ranks_per_node),
                  .architecture = options.architecture,
                  .environment_digest = options.environment_digest,
                  .layout_digest = options.layout_digest,
                  .interconnect = options.interconnect,
                  .placement = options.placement,
                  .family = options.family,
                  .calling = options.calling,
                  .input = options.input,
                  .at_least = options.match,
                  .generation = options.origin.generation},
                 option_for);
  if (const Bytes element{size_of(query.problem.data_type)};
      query.problem.message_size.value > 0 && query.problem.message_size < element)
    throw Error(StatusCode::invalid_argument,
                fmt::format("--bytes: {} is less than one {} element, which takes {}",
                            format_bytes(query.problem.message_size),
                            name_of(query.problem.data_type), format_bytes(element)));
  if (!options.members.empty()) query.members = read_members(options.members);
  return query;
}

LookupQuery resolved_query(const LookupOptions& options) {
  LookupQuery query = query_of(options);
  check(options.origin);
  if (!query.environment_digest) return query;
  // A query for the nearest environment may name one in which nothing was measured.
  constexpr std::size_t whole_digest = 32;
  if (query.environment_digest->size() == whole_digest && !options.match.empty()) return query;
  query.environment_digest = choose_environment(options.origin, *query.environment_digest);
  return query;
}

void run_lookup(const LookupOptions& options, std::ostream& out) {
  const LookupQuery query = resolved_query(options);
  const FoundAnswer found = find_answer(options.origin, query);
  if (options.json)
    out << answer_to_json(found.answer, found.environment).dump(2) << '\n';
  else
    out << answer_text(found, query, table_width(options.is_wide));
}

}  // namespace colltune
