// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// What DecisionTable::find costs, by the number of decisions in the table: a question of an exactly
// measured size, one between two sizes, and one that nothing answers.

#include <benchmark/benchmark.h>

#include <random>

#include "colltune/table/decision_table.h"

namespace colltune {
namespace {

constexpr int sizes_per_curve = 24;  // 8 B to 64 MiB in powers of two, as nccl-tests sweeps
constexpr int variants_per_decision = 8;

Decision make_decision(int size_index, int nodes) {
  Decision decision{.key = {.problem = {.message_size = {std::uint64_t{8} << size_index}},
                            .topology = {.nodes = nodes,
                                         .ranks_per_node = 8,
                                         .ranks = 8 * nodes,
                                         .architectures = {{"x86_64-avx512", 8 * nodes}},
                                         .layout_digest = "uniform",
                                         .interconnect = "tcp"},
                            .environment_digest = "0123456789abcdef0123456789abcdef",
                            .calling = default_calling,
                            .input = default_input},
                    .ranked = {},
                    .reason = "faster than the baseline by more than the noise",
                    .sweep_uuid = "6f0c5f1e-0000-0000-0000-000000000000"};
  for (int i = 0; i < variants_per_decision; ++i)
    decision.ranked.push_back(
        {.variant = parse_variant("mpi.all_reduce.ring{segment=" + std::to_string(1024 << i) + "}"),
         .family = "openmpi",
         .protocol = "openmpi",
         .is_baseline = i == 1,
         .median = std::chrono::nanoseconds(1000 * (i + 1) << size_index / 2),
         .speedup_over_baseline = 2.0 / (i + 1)});
  return decision;
}

DecisionTable make_table(std::int64_t decisions) {
  std::vector<Decision> all;
  for (std::int64_t i = 0; i < decisions; ++i) {
    const int curve = static_cast<int>(i) / sizes_per_curve;
    Decision decision = make_decision(static_cast<int>(i) % sizes_per_curve, 1 + curve / 8);
    decision.key.problem.data_type =
        enum_names(DataType{})[static_cast<std::size_t>(curve % 8)].value;
    all.push_back(std::move(decision));
  }
  return DecisionTable({.generation = {"store", 1, "digest"}, .decisions = std::move(all)});
}

/// Questions in random order, so that neither the caches nor the branch predictor know the next.
std::vector<LookupQuery> make_queries(const DecisionTable& table, double size_factor) {
  std::mt19937 random(1);
  std::vector<LookupQuery> queries;
  for (int i = 0; i < 1024; ++i) {
    const Decision& decision = table.set().decisions[random() % table.set().decisions.size()];
    LookupQuery query{
        .problem = decision.key.problem, .nodes = decision.key.topology.nodes, .ranks_per_node = 8};
    query.problem.message_size.value = static_cast<std::uint64_t>(
        static_cast<double>(query.problem.message_size.value) * size_factor);
    queries.push_back(query);
  }
  return queries;
}

void find(benchmark::State& state, double size_factor) {
  const DecisionTable table = make_table(state.range(0));
  const auto queries = make_queries(table, size_factor);
  std::size_t next = 0;
  for (auto _ : state) benchmark::DoNotOptimize(table.find(queries[next++ % queries.size()]));
}

void find_measured(benchmark::State& state) { find(state, 1); }
void find_between_sizes(benchmark::State& state) { find(state, 1.5); }
void find_nothing(benchmark::State& state) {
  const DecisionTable table = make_table(state.range(0));
  LookupQuery query = make_queries(table, 1).front();
  query.problem.in_place = true;
  for (auto _ : state) {
    try {
      benchmark::DoNotOptimize(table.find(query));
    } catch (const Error& error) {
      benchmark::DoNotOptimize(&error);
    }
  }
}

BENCHMARK(find_measured)->Arg(1000)->Arg(10000);
BENCHMARK(find_between_sizes)->Arg(1000)->Arg(10000);
BENCHMARK(find_nothing)->Arg(1000)->Arg(10000);

}  // namespace
}  // namespace colltune

BENCHMARK_MAIN();
