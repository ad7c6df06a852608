// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "colltune/table/decision_table.h"

/// Decisions as literals, for tests of what reads them.
namespace colltune::literals {

inline constexpr std::uint64_t KiB = 1024;

inline Topology world(int nodes = 1, int ranks_per_node = 2, std::string architecture = "x86_64") {
  return {.nodes = nodes,
          .ranks_per_node = ranks_per_node,
          .ranks = nodes * ranks_per_node,
          .architectures = {{std::move(architecture), nodes * ranks_per_node}},
          .layout_digest = "uniform",
          .interconnect = "shared-memory",
          .placement = Placement::dedicated};
}

inline Problem all_reduce(std::uint64_t bytes) { return {.message_size = {bytes}}; }

struct Entry {
  std::string variant;
  int median_ns = 0;
  bool is_baseline = false;
  NumericClass numeric_class = NumericClass::any;
  Limits limits{};
};

/// Ranks `entries` as given; speed-ups follow from the first baseline among them.
inline Decision decide(const Problem& problem, const std::vector<Entry>& entries,
                       const Topology& topology = world(), std::string environment = "e1",
                       std::string family = "any") {
  double baseline = 0;
  for (const Entry& entry : entries)
    if (entry.is_baseline) baseline = entry.median_ns;
  Decision decision{.key = {problem, topology, std::move(environment),
                            calling_for(problem, default_calling), default_input},
                    .family = std::move(family),
                    .ranked = {},
                    .reason = "measured",
                    .sweep_uuid = "s1"};
  for (const Entry& entry : entries)
    decision.ranked.push_back({.variant = parse_variant(entry.variant),
                               .family = "ours",
                               .protocol = "p",
                               .is_baseline = entry.is_baseline,
                               .median = std::chrono::nanoseconds(entry.median_ns),
                               .low = std::chrono::nanoseconds(entry.median_ns - 10),
                               .high = std::chrono::nanoseconds(entry.median_ns + 10),
                               .speedup_over_baseline = baseline / entry.median_ns,
                               .samples = 50,
                               .verified_calls = 2,
                               .numeric_class = entry.numeric_class,
                               .limits = entry.limits});
  return decision;
}

inline Generation generation(std::uint64_t number, std::string store = "store-1") {
  return {std::move(store), number, "digest-" + std::to_string(number)};
}

inline DecisionTable table(std::vector<Decision> decisions,
                           std::vector<std::pair<std::string, Environment>> environments = {},
                           std::uint64_t number = 1) {
  return DecisionTable({generation(number), std::move(decisions), std::move(environments)});
}

inline std::string winner(const LookupAnswer& answer) {
  return to_string(answer.decision.ranked.front().variant);
}

/// The message of the Error that `action` throws, which must carry `code`.
template <class Action>
std::string error_of_action(StatusCode code, Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.code() == code
               ? error.what()
               : "code " + std::to_string(static_cast<int>(error.code())) + ": " + error.what();
  }
  return "nothing was thrown";
}

/// Why `table` has no answer.
inline std::string not_found(const DecisionTable& table, const LookupQuery& query) {
  return error_of_action(StatusCode::not_found, [&] { (void)table.find(query); });
}

}  // namespace colltune::literals
