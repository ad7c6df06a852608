// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "planted_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

#include "colltune/kernels/catalogue.h"
#include "colltune/kernels/communication/thread_communicator.h"
#include "colltune/kernels/host_capability.h"
#include "colltune/table/decision_table.h"
#include "colltune/table_file/table_content.h"
#include "colltune/vocabulary/problem_form.h"

namespace colltune::test {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view environment = "0123456789abcdef0123456789abcdef";

Topology topology_of(int nodes, int per_node, const Capability& capability) {
  Topology topology{.nodes = nodes, .ranks_per_node = per_node, .ranks = nodes * per_node};
  topology.architectures = {{.architecture = capability.architecture, .ranks = topology.ranks}};
  topology.layout_digest = "uniform";
  topology.interconnect = nodes == 1 ? "shared-memory" : "network";
  if (per_node > capability.number("cpu.cores")) topology.placement = Placement::oversubscribed;
  return topology;
}

class Planter {
 public:
  Planter(unsigned seed, Capability capability)
      : random_(seed), capability_(std::move(capability)), catalogue_(make_host_catalogue()) {}

  void plant(const Topology& topology, Calling calling, bool registered) {
    calling_ = calling;
    for (const auto& collective : enum_names(Collective{})) {
      if (!shape_of(collective.value).reduces) {
        plant_sizes(topology, {.collective = collective.value,
                               .reduce_op = ReduceOp::none,
                               .registered = registered});
        continue;
      }
      for (const DataType type :
           {DataType::f32, DataType::f64, DataType::i32, DataType::i64, DataType::u8})
        for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max})
          plant_sizes(topology, {.collective = collective.value,
                                 .data_type = type,
                                 .reduce_op = op,
                                 .registered = registered});
    }
  }

  [[nodiscard]] std::vector<Decision> take() { return std::move(decisions_); }

 private:
  using Candidate = std::pair<const Implementation*, Variant>;

  /// One winner for three sizes in a row, and the next one for the last of them and two more:
  /// between sizes only what was measured at both counts.
  void plant_sizes(const Topology& topology, Problem problem) {
    std::optional<Candidate> winner;
    int sizes = 0;
    for (std::uint64_t size = 8; size <= (4U << 20U); size *= 4) {
      problem.message_size =
          round_message_size(problem.collective, problem.data_type, {size * 3}, topology.ranks);
      problem = in_its_form(problem);
      std::vector<Candidate> ranked;
      if (winner && runs(topology, problem, *winner)) ranked.push_back(*winner);
      if (sizes++ % 2 == 0 || ranked.empty())
        if ((winner = draw(topology, problem)) &&
            (ranked.empty() || winner->second != ranked[0].second))
          ranked.push_back(*winner);
      if (!ranked.empty()) add(topology, problem, ranked);
    }
  }

  [[nodiscard]] bool runs(const Topology& topology, const Problem& problem,
                          const Candidate& one) const {
    return one.first->supports(problem, topology, capability_, one.second) &&
           (calling_ == Calling::persistent ||
            one.first->traits(problem, topology, one.second).why_not_rebound.empty());
  }

  /// Each algorithm as often as the others, however many variants it has.
  std::optional<Candidate> draw(const Topology& topology, const Problem& problem) {
    std::vector<const Implementation*> algorithms;
    for (const auto& one : catalogue_)
      if (one->collective() == problem.collective) algorithms.push_back(one.get());
    std::ranges::shuffle(algorithms, random_);
    for (const Implementation* const one : algorithms) {
      std::vector<Variant> variants = one->variants(problem, topology, capability_);
      std::ranges::shuffle(variants, random_);
      for (Variant& variant : variants)
        if (Candidate candidate{one, std::move(variant)}; runs(topology, problem, candidate))
          return candidate;
    }
    return {};
  }

  void add(const Topology& topology, const Problem& problem, const std::vector<Candidate>& ranked) {
    Decision decision{.key = {.problem = problem,
                              .topology = topology,
                              .environment_digest = std::string(environment),
                              .calling = calling_}};
    auto time = 1us;
    const auto rank = [&](Variant variant, std::string_view family,
                          bool is_baseline) -> RankedVariant& {
      decision.ranked.push_back({.variant = std::move(variant),
                                 .family = std::string(family),
                                 .is_baseline = is_baseline,
                                 .median = time,
                                 .low = time,
                                 .high = time});
      time += 1us;
      return decision.ranked.back();
    };
    for (const auto& [implementation, variant] : ranked) {
      RankedVariant& one = rank(variant, implementation->family(), false);
      one.speedup_over_baseline = 2;
      one.numeric_class = implementation->numerics(problem, variant).numeric_class;
      one.limits = implementation->limits(variant);
    }
    rank({"mpi." + std::string(name_of(problem.collective)), {}}, "mpi", true);
    decision.verdict = Verdict::displaced;
    decisions_.push_back(std::move(decision));
  }

  std::mt19937 random_;
  Calling calling_ = Calling::each;
  Capability capability_;
  Implementations catalogue_;
  std::vector<Decision> decisions_;
};

}  // namespace

std::string planted_table(unsigned seed, std::span<const PlantedWorld> worlds, PlantedCalls calls) {
  AbortFlag abort;
  const auto alone = make_thread_world(1, abort);
  const Capability capability =
      detect_host_capability(*alone.front(), std::chrono::steady_clock::now() + 60s);
  Planter planter(seed, capability);
  const auto plant = [&](const Topology& topology) {
    planter.plant(topology, Calling::each, false);
    if (calls != PlantedCalls::ordinary) planter.plant(topology, Calling::persistent, false);
    if (calls == PlantedCalls::persistent_registered)
      planter.plant(topology, Calling::persistent, true);
  };
  for (const PlantedWorld& world : worlds) {
    Topology topology = topology_of(world.nodes, world.ranks_per_node, capability);
    plant(topology);
    if (!world.in_both_placements) continue;
    topology.placement = topology.placement == Placement::dedicated ? Placement::oversubscribed
                                                                    : Placement::dedicated;
    plant(topology);
  }
  DecisionSet set{.generation = {.number = 1}, .decisions = planter.take()};
  set.environments.emplace_back(std::string(environment), Environment{});
  const DecisionTable table(std::move(set));
  return encode_table({.set = table.set(),
                       .environment_digest = std::string(environment),
                       .groups = table.answer_groups()});
}

}  // namespace colltune::test
