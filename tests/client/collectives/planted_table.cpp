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
#include "colltune/vocabulary/composition.h"
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
  Planter(unsigned seed, const PlantedCalls& calls, Capability capability)
      : random_(seed),
        calls_(calls),
        capability_(std::move(capability)),
        catalogue_(make_host_catalogue()) {}

  void plant(const Topology& topology, Calling calling, bool registered) {
    calling_ = calling;
    for (const auto& collective : enum_names(Collective{}))
      for (const auto& counts : enum_names(Counts{})) {
        Problem problem{.collective = collective.value,
                        .reduce_op = ReduceOp::none,
                        .registered = registered,
                        .counts = counts.value};
        if (counts.value != Counts::equal && !may_have_unequal_counts(problem)) continue;
        if (!shape_of(collective.value).reduces) {
          plant_sizes(topology, problem);
          continue;
        }
        for (const DataType type : calls_.all_types ? all_types : few_types)
          for (const ReduceOp op : calls_.all_types ? all_operators : few_operators) {
            problem.data_type = type;
            problem.reduce_op = op;
            plant_sizes(topology, problem);
          }
      }
  }

  /// Forms of a mesh reduction.
  void plant_mesh(const Topology& topology, Calling calling) {
    const auto variant = [](std::string_view text) { return parse_variant(std::string(text)); };
    const Variant two_shot = variant(
        "cpu.all_reduce_two_shot{access=staged,chunk=16384,flow=pull,slots=4,stores=cached}");
    const std::array forms{
        Composition{.mode = CompositionMode::sequential,
                    .parts = {{.role = PartRole::step, .variant = two_shot, .step = 0},
                              {.role = PartRole::step, .variant = two_shot, .step = 1}}},
        Composition{.mode = CompositionMode::merged,
                    .parts = {{.role = PartRole::whole, .variant = two_shot}}},
        Composition{
            .mode = CompositionMode::hierarchical,
            .parts = {
                {.role = PartRole::before,
                 .variant = variant(
                     "cpu.reduce_scatter_flat{access=staged,chunk=16384,slots=4,stores=cached}"),
                 .step = 1},
                {.role = PartRole::bridge, .variant = two_shot},
                {.role = PartRole::after,
                 .variant = variant("cpu.all_gather_flat{access=staged,chunk=16384,flow=pull,slots="
                                    "4,stores=cached}"),
                 .step = 1}}}};
    const Variant library{.implementation = "mpi.all_reduce", .parameters = {}};
    const Composition baseline{.mode = CompositionMode::sequential,
                               .parts = {{.role = PartRole::step, .variant = library, .step = 0},
                                         {.role = PartRole::step, .variant = library, .step = 1}}};
    compositions_.assign(forms.begin(), forms.end());
    compositions_.push_back(baseline);
    // What the MPI library does of a form, and what our kernels do.
    const auto with_library = [&](std::string_view before) {
      Composition form = forms.back();
      form.parts.front().variant = variant(before);
      form.parts.back().variant = variant("mpi.all_gather");
      return form;
    };
    const std::array mixed{
        with_library("cpu.reduce_scatter_flat{access=staged,chunk=16384,slots=4,stores=cached}"),
        with_library("mpi.reduce_scatter")};
    compositions_.insert(compositions_.end(), mixed.begin(), mixed.end());
    const auto plant_size = [&](std::uint64_t bytes, const Composition& form) {
      Decision decision{.key = {.problem = {.kind = ProblemKind::mesh_reduce,
                                            .reduce_op = ReduceOp::none,
                                            .message_size = {bytes},
                                            .mesh = parse_mesh("2x2", "0:sum,1:sum")},
                                .topology = topology,
                                .environment_digest = std::string(environment),
                                .calling = calling}};
      decision.verdict = Verdict::displaced;
      for (const Composition* const one : {&form, &baseline})
        decision.ranked.push_back({.variant = name_composition("mesh_reduce", *one),
                                   .family = one == &baseline ? "mpi" : "colltune",
                                   .is_baseline = one == &baseline,
                                   .median = one == &baseline ? 2us : 1us,
                                   .low = 1us,
                                   .high = 2us});
      decisions_.push_back(std::move(decision));
    };
    for (std::size_t i = 0; i < planted_mesh_sizes.size(); ++i)
      plant_size(planted_mesh_sizes[i], forms[i % forms.size()]);
    for (std::size_t i = 0; i < mixed.size(); ++i) plant_size(planted_mixed_sizes[i], mixed[i]);
  }

  [[nodiscard]] std::vector<Decision> take() { return std::move(decisions_); }
  [[nodiscard]] std::vector<Composition> take_compositions() { return std::move(compositions_); }

 private:
  using Candidate = std::pair<const Implementation*, Variant>;

  /// One winner for three sizes in a row, and the next one for the last of them and two more:
  /// between sizes only what was measured at both counts.
  void plant_sizes(const Topology& topology, Problem problem) {
    std::optional<Candidate> winner;
    int sizes = 0;
    for (std::uint64_t size = 8; size <= (4U << 20U); size *= 4) {
      problem.message_size = round_message_size(problem.collective, problem.data_type, {size * 3},
                                                topology.ranks, problem.counts);
      if (problem.message_size.value == 0 && problem.counts != Counts::equal) continue;
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
    const std::string library = "mpi." + std::string(name_of(problem.collective));
    if (calls_.library_wins)
      rank(parse_variant(library + "_tuned{algorithm=linear}"), "mpi", false);
    for (const auto& [implementation, variant] : ranked) {
      RankedVariant& one = rank(variant, implementation->family(), false);
      one.speedup_over_baseline = 2;
      one.numeric_class = implementation->numerics(problem, variant).numeric_class;
      one.limits = implementation->limits(variant);
    }
    rank({library, {}}, "mpi", true);
    decision.verdict = Verdict::displaced;
    decisions_.push_back(std::move(decision));
  }

  static inline const std::vector<DataType> all_types{DataType::f32, DataType::f64, DataType::i32,
                                                      DataType::i64, DataType::u8};
  static inline const std::vector<DataType> few_types{DataType::f32, DataType::i32};
  static inline const std::vector<ReduceOp> all_operators{ReduceOp::sum, ReduceOp::prod,
                                                          ReduceOp::min, ReduceOp::max};
  static inline const std::vector<ReduceOp> few_operators{ReduceOp::sum};

  std::mt19937 random_;
  const PlantedCalls& calls_;
  Calling calling_ = Calling::each;
  Capability capability_;
  Implementations catalogue_;
  std::vector<Decision> decisions_;
  std::vector<Composition> compositions_;
};

}  // namespace

std::string planted_table(unsigned seed, std::span<const PlantedWorld> worlds,
                          const PlantedCalls& calls) {
  AbortFlag abort;
  const auto alone = make_thread_world(1, abort);
  const Capability capability =
      detect_host_capability(*alone.front(), std::chrono::steady_clock::now() + 60s);
  Planter planter(seed, calls, capability);
  const auto plant = [&](const Topology& topology) {
    planter.plant(topology, Calling::each, false);
    if (!calls.persistent) return;
    planter.plant(topology, Calling::persistent, false);
    planter.plant(topology, Calling::persistent, true);
    if (topology.ranks != 4) return;
    for (const Calling calling : {Calling::each, Calling::persistent})
      planter.plant_mesh(topology, calling);
  };
  for (const PlantedWorld& world : worlds) {
    Topology topology = topology_of(world.nodes, world.ranks_per_node, capability);
    plant(topology);
    if (!world.in_both_placements) continue;
    topology.placement = topology.placement == Placement::dedicated ? Placement::oversubscribed
                                                                    : Placement::dedicated;
    plant(topology);
  }
  DecisionSet set{.generation = {.number = 1},
                  .decisions = planter.take(),
                  .compositions = planter.take_compositions()};
  set.environments.emplace_back(std::string(environment),
                                Environment{.mpi_library = calls.mpi_library});
  const DecisionTable table(std::move(set));
  return encode_table({.set = table.set(),
                       .environment_digest = std::string(environment),
                       .groups = table.answer_groups()});
}

}  // namespace colltune::test
