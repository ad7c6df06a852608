// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "client/literal_decisions.h"
#include "colltune/table/decision_table.h"
#include "colltune/table_file/table_content.h"
#include "colltune/vocabulary/canonical.h"

namespace colltune::testing {

/// Decisions of every kind that a table holds, from a seed.
class RandomDecisions {
 public:
  explicit RandomDecisions(unsigned seed) : random_(seed) {}

  [[nodiscard]] int number(int least, int most) {
    return std::uniform_int_distribution(least, most)(random_);
  }
  [[nodiscard]] bool chance(int percent) { return number(1, 100) <= percent; }
  template <class Enum>
  [[nodiscard]] Enum one_of(Enum) {
    const auto names = enum_names(Enum{});
    return names[static_cast<std::size_t>(number(0, static_cast<int>(names.size()) - 1))].value;
  }

  [[nodiscard]] DecisionSet make(int groups) {
    DecisionSet set{.generation = {"store", 7, "content"},
                    .environments = {{digest_of(test_environment()), test_environment()}}};
    set.environments.front().second.variables = "NCCL_PROTO=Simple";
    set.environments.front().first = digest_of(set.environments.front().second);
    std::set<std::string> known;
    for (int group = 0; group < groups; ++group) {
      TuningKey key = make_key(set.environments.front().first);
      const std::string family = chance(50) ? std::string(any_family) : "nccl";
      if (!known.insert(canonical_text(key) + family).second) continue;
      const int sizes = number(1, 5);
      std::set<std::uint64_t> taken;
      for (int size = 0; size < sizes; ++size) taken.insert(make_size());
      for (const std::uint64_t size : taken) {
        key.problem.message_size = {size};
        set.decisions.push_back(make_decision(key, family));
      }
    }
    set.compositions = {composition()};
    set.members.push_back(
        {.sweep_uuid = "sweep-1",
         .topology_digest = digest_of_value(test_topology()),
         .members = {.kinds = {{"x86_64-avx2", {"cpu.cores=2"}}}, .kind_of_rank = {0, 0}}});
    return set;
  }

  /// A size that was measured or lies near one.
  [[nodiscard]] std::uint64_t make_size() {
    if (chance(5)) return 0;
    const std::uint64_t power = std::uint64_t{1} << number(2, 24);
    return chance(70) ? power : power + static_cast<std::uint64_t>(number(0, 1000)) * 4;
  }

 private:
  TuningKey make_key(const std::string& environment) {
    TuningKey key = test_key(0);
    key.environment_digest = environment;
    key.problem.collective = chance(50) ? Collective::all_reduce : Collective::all_gather;
    key.problem.reduce_op =
        key.problem.collective == Collective::all_reduce ? ReduceOp::sum : ReduceOp::none;
    key.problem.data_type = chance(50) ? DataType::f32 : DataType::bf16;
    key.problem.in_place = chance(20);
    key.problem.registered = chance(20);
    key.problem.numeric_class = one_of(NumericClass{});
    if (key.problem.collective == Collective::all_reduce && chance(20)) {
      key.problem.kind = ProblemKind::mesh_reduce;
      key.problem.reduce_op = ReduceOp::none;
      key.problem.mesh = parse_mesh("2x1", chance(50) ? "0:sum" : "0:sum,1:sum");
    }
    key.calling = one_of(Calling{});
    key.input = one_of(InputMode{});
    if (chance(50)) {
      key.topology.nodes = number(1, 3);
      key.topology.ranks = 2 * key.topology.nodes;
      key.topology.architectures.front().ranks = key.topology.ranks;
    }
    return key;
  }

  /// What ranks that are not alike run together.
  static Composition composition() {
    return {
        .mode = CompositionMode::substituted,
        .parts = {{.role = PartRole::whole, .kinds = {"1"}, .variant = parse_variant("cpu.tree")},
                  {.role = PartRole::whole, .kinds = {"2"}, .variant = parse_variant("cpu.flat")}}};
  }

  Decision make_decision(const TuningKey& key, const std::string& family) {
    std::vector<std::string> names{"mpi.default",   "cpu.ring{n=1}",
                                   "cpu.ring{n=2}", "cpu.one_shot{chunk=4096}",
                                   "cpu.tree",      to_string(name_composition("", composition()))};
    std::vector<RankedVariant> variants;
    if (chance(80)) names.pop_back();
    const int least = number(100, 100000);
    for (const std::string& name : names) {
      if (!chance(70)) continue;
      RankedVariant one =
          ranked(name, least + number(0, 30) * (chance(50) ? 1 : 1000), number(50, 200) / 100.0);
      one.numeric_class = one_of(NumericClass{});
      if (chance(10)) one.limits.min_ranks = 3;
      if (chance(20)) one.limits.min_message = {make_size()};
      if (chance(20)) one.limits.max_message = {one.limits.min_message.value + make_size()};
      variants.push_back(std::move(one));
    }
    if (variants.empty()) variants.push_back(ranked("mpi.default", least, 1));
    std::ranges::shuffle(variants, random_);
    Decision made = decision(key, std::move(variants), family);
    made.verdict = one_of(Verdict{});
    made.status = one_of(DecisionStatus{});
    if (made.status == DecisionStatus::confirmed)
      made.confirmation = {.launches = 3, .speedup = 1.25, .low = 1.0 / 3, .high = 1.5};
    if (chance(30)) made.sweep_uuid = "sweep-2";
    return made;
  }

  std::mt19937 random_;
};

inline TableContent content_of(const DecisionSet& set) {
  const DecisionTable table(set);
  return {.set = set,
          .environment_digest = set.environments.front().first,
          .groups = table.answer_groups()};
}

/// What asks for exactly this key.
inline LookupQuery query_for(const TuningKey& key, const std::string& family) {
  return {.problem = key.problem,
          .nodes = key.topology.nodes,
          .ranks_per_node = key.topology.ranks_per_node,
          .environment_digest = key.environment_digest,
          .family = family,
          .calling = key.calling,
          .input = key.input};
}

}  // namespace colltune::testing
