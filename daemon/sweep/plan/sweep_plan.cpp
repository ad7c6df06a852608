// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/plan/sweep_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "candidates.h"
#include "colltune/sweep/plan/pruning.h"
#include "colltune/sweep/plan/ring_search.h"
#include "colltune/sweep/ranks/capability_rules.h"
#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/problem_form.h"
#include "control/shared_result.h"
#include "forecasts.h"
#include "planned_worlds.h"
#include "problems.h"
#include "selection.h"

namespace colltune {
namespace {

// A larger plan does not fit into a day even at the speed of the fastest trials.
constexpr std::size_t most_trials = 1'000'000;

[[noreturn]] void fail_too_many(const std::string& what) {
  throw Error(StatusCode::invalid_argument,
              fmt::format("the configuration asks for {}; allowed are {} trials: make the lists or "
                          "/sizes shorter",
                          what, most_trials));
}

void check_extent(const SweepSpec& spec, std::size_t worlds) {
  const Extent extent = extent_of(spec, worlds);
  if (extent.keys > most_trials)
    fail_too_many(fmt::format("{} keys ({})", extent.keys, extent.factors));
}

/// The worlds that a configuration names, and what it asks of them.
struct NamedWorlds {
  std::vector<PlannedWorld> worlds;
  std::size_t of_product = 0;                            ///< the first ones, which get the product
  std::map<std::size_t, std::vector<CallSpec>> calls{};  ///< by index into `worlds`
};

/// Throws Error(invalid_argument), with the call, for a world larger than the launch.
std::vector<int> ranks_of_call(const SweepSpec& spec, std::size_t number,
                               const Availability& availability) {
  const CallSpec& call = spec.calls[number];
  if (!call.world) return node_major_ranks(availability);
  const WorldSpec& world = *call.world;
  try {
    return ranks_of_world(
        availability, world,
        fmt::format("launch as the program was launched: at least {} ranks, {} on each of {} "
                    "node(s); or leave out the calls of this world",
                    std::int64_t{world.nodes} * world.ranks_per_node, world.ranks_per_node,
                    world.nodes));
  } catch (const Error& error) {
    const Problem problem{.collective = call.collective,
                          .data_type = call.data_type,
                          .reduce_op = call.reduce_op,
                          .message_size = call.size};
    throw Error(error.code(),
                fmt::format("/calls/{} ({}): {}", number, describe(problem), error.what()));
  }
}

NamedWorlds worlds_of(const SweepSpec& spec, const Availability& availability,
                      const Findings& findings) {
  if (findings.world != nullptr) return {.worlds = {*findings.world}, .of_product = 1};
  NamedWorlds named;
  std::vector<PlannedWorld>& worlds = named.worlds;
  const bool has_product = !spec.collectives.empty() || !spec.meshes.empty();
  if (has_product && spec.worlds.empty())
    add_world(worlds, availability, node_major_ranks(availability));
  for (const auto& world : spec.worlds)
    add_world(worlds, availability, ranks_of_world(availability, world));
  named.of_product = worlds.size();
  for (std::size_t i = 0; i < spec.calls.size(); ++i) {
    std::vector<int> ranks = ranks_of_call(spec, i, availability);
    auto world = std::ranges::find(worlds, ranks, &PlannedWorld::ranks);
    if (world == worlds.end()) {
      add_world(worlds, availability, std::move(ranks));
      world = std::prev(worlds.end());
    }
    named.calls[static_cast<std::size_t>(world - worlds.begin())].push_back(spec.calls[i]);
  }
  return named;
}

/// Adds partial worlds of those with the product. For each set of kinds that supports a variant
/// which was skipped because others do not, it adds the world of these ranks if there are several.
/// Then it adds the sets of ranks that can do the same (`like_ranks`), which may be groups.
void add_partial_worlds(const std::vector<Skipped>& skipped,
                        const std::set<std::vector<int>>& like_ranks,
                        const Availability& availability, std::vector<PlannedWorld>& worlds) {
  std::set<std::pair<int, std::vector<int>>> able;
  for (const Skipped& one : skipped)
    if (!one.supporting_kinds.empty()) able.emplace(one.world, one.supporting_kinds);
  for (const auto& [world, kinds] : able) {
    std::vector<int> ranks =
        ranks_of_kinds(worlds[static_cast<std::size_t>(world)], availability, kinds);
    if (ranks.size() > 1) add_partial_world(worlds, availability, std::move(ranks));
  }
  for (const std::vector<int>& ranks : like_ranks) add_partial_world(worlds, availability, ranks);
}

/// What the table may answer for a held-out size: the variants of the next smaller and the next
/// larger size that decide. Some have parameters that do not matter at the held-out size.
std::vector<Variant> answers_for(const Cell& cell, std::span<const Cell> cells) {
  std::map<Bytes, const Cell*> deciding;
  TuningKey key = cell.key;
  for (const Cell& other : cells) {
    key.problem.message_size = other.key.problem.message_size;
    if (!other.is_holdout && other.world == cell.world && other.key == key)
      deciding.emplace(key.problem.message_size, &other);
  }
  std::vector<Variant> answers;
  const auto add = [&](const Cell& neighbour) {
    for (const PlannedVariant& planned : neighbour.variants) answers.push_back(planned.variant);
  };
  const auto larger = deciding.upper_bound(cell.key.problem.message_size);
  if (larger != deciding.begin()) add(*std::prev(larger)->second);
  if (larger != deciding.end()) add(*larger->second);
  return answers;
}

void add_twin(Cell& cell) {
  const auto baseline =
      std::ranges::find_if(cell.variants, [](const auto& planned) { return planned.is_baseline; });
  if (baseline == cell.variants.end()) return;
  PlannedVariant twin = *baseline;
  twin.is_baseline = false;
  twin.is_twin = true;
  cell.variants.insert(baseline + 1, std::move(twin));
}

/// Why a key is not measured, whichever variants there are; empty if it may be.
std::string why_no_cell(const Cell& cell, std::span<const Cell> cells) {
  if (cell.is_holdout &&
      std::ranges::any_of(cells, [&](const Cell& other) { return other.key == cell.key; }))
    return "this held-out size is one of the sizes, or of the calls', once rounded";
  if (cell.key.problem.registered && cell.key.topology.nodes > 1)
    return "registered buffers need ranks that share one node";
  return {};
}

/// A plan while it grows, cell by cell.
struct Draft {
  SweepPlan plan;
  Forecasts forecasts;
  std::size_t of_product = 0;  ///< as in NamedWorlds, before partial worlds were added
  std::size_t named = 0;       ///< worlds that the configuration names; partial ones follow
  std::map<std::size_t, std::vector<CallSpec>> calls{};
  std::set<std::vector<int>> like_ranks{};  ///< of any world with the product, and any problem
  std::size_t trials = 0;

  [[nodiscard]] bool has_product(std::size_t world) const {
    return world < of_product || world >= named;
  }
  void skip(int world, const Problem& problem, std::string reason) {
    plan.skipped.push_back({.world = world, .problem = problem, .reason = std::move(reason)});
  }
};

void add_cell(const PlanInputs& inputs, Cell cell, ParameterOverrides& overrides, Draft& draft) {
  if (std::string why = why_no_cell(cell, draft.plan.cells); !why.empty())
    return draft.skip(cell.world, cell.key.problem, std::move(why));
  const std::vector<Variant> answers =
      cell.is_holdout ? answers_for(cell, draft.plan.cells) : std::vector<Variant>{};
  Candidates candidates = candidates_of(
      inputs, draft.plan.worlds[static_cast<std::size_t>(cell.world)], cell, answers, overrides);
  std::ranges::move(candidates.skipped, std::back_inserter(draft.plan.skipped));
  if (draft.has_product(static_cast<std::size_t>(cell.world)))
    draft.like_ranks.merge(candidates.like_ranks);
  cell.variants = std::move(candidates.variants);
  for (PlannedVariant& planned : cell.variants)
    planned.forecast = draft.forecasts.of(cell.key, planned.variant);
  order_by_forecast(cell.variants);
  if (inputs.spec.ring_prior && !cell.is_holdout)
    for (std::string& variant : keep_near_ring_start(cell))
      draft.plan.skipped.push_back(
          {.world = cell.world,
           .problem = cell.key.problem,
           .variant = std::move(variant),
           .reason = "not next to where the search from the ring's rules is (ring_prior)",
           .supporting_kinds = {}});
  if (cell.variants.empty())
    return draft.skip(cell.world, cell.key.problem,
                      "no implementation that was chosen can run it here");
  if (inputs.spec.null_test) add_twin(cell);
  draft.trials += cell.variants.size();
  if (draft.trials + draft.plan.skipped.size() > most_trials)
    fail_too_many("more trials than that");
  draft.plan.cells.push_back(std::move(cell));
}

/// How the calls of `problem` are made in `world`. What other devices know of a buffer that is
/// registered for a device was told when the call was prepared.
Calling calling_in(const PlanInputs& inputs, const PlannedWorld& world, const Problem& problem) {
  const std::vector<int> kinds = kinds_of(world, inputs.availability);
  const bool on_device = std::ranges::any_of(kinds, [&](int kind) {
    return inputs.availability.kinds[static_cast<std::size_t>(kind)].is_on_device();
  });
  return problem.registered && on_device ? Calling::persistent
                                         : calling_for(problem, inputs.spec.calling);
}

/// Adds the cells of all worlds from `first` on.
void add_cells(const PlanInputs& inputs, const std::string& environment_digest, std::size_t first,
               bool is_holdout, ParameterOverrides& overrides, Draft& draft) {
  const auto& sizes = is_holdout ? inputs.spec.holdout_sizes : inputs.spec.sizes;
  for (std::size_t world = first; world < draft.plan.worlds.size(); ++world) {
    const Topology topology = draft.plan.worlds[world].topology;
    const int number = static_cast<int>(world);
    WorldRequest request{.spec = inputs.spec, .ranks = topology.ranks};
    if (draft.has_product(world)) request.sizes = sizes;
    if (const auto calls = draft.calls.find(world); !is_holdout && calls != draft.calls.end())
      request.calls = calls->second;
    Problems asked = problems_of(request);
    for (SkippedProblem& skipped : asked.skipped)
      draft.skip(number, skipped.problem, std::move(skipped.reason));
    for (const auto& [problem, weight] : asked.problems)
      add_cell(inputs,
               {.world = number,
                .key = {.problem = problem,
                        .topology = topology,
                        .environment_digest = environment_digest,
                        .calling = calling_in(inputs, draft.plan.worlds[world], problem),
                        .input = inputs.spec.input_mode},
                .is_holdout = is_holdout,
                .weight = weight},
               overrides, draft);
  }
}

}  // namespace

std::size_t count_trials(const SweepPlan& plan) {
  std::size_t trials = 0;
  for (const auto& cell : plan.cells) trials += cell.variants.size();
  return trials;
}

std::vector<Composition> compositions_of(const SweepPlan& plan) {
  std::map<std::string, const Composition*> by_name;
  for (const Cell& cell : plan.cells)
    for (const PlannedVariant& planned : cell.variants)
      if (planned.composition)
        by_name.emplace(parts_named_by(planned.variant), &*planned.composition);
  std::vector<Composition> compositions;
  for (const auto& [name, composition] : by_name) compositions.push_back(*composition);
  return compositions;
}

SweepPlan make_plan(const SweepSpec& spec, const Availability& availability,
                    const Implementations& implementations, const std::string& environment_digest,
                    const Findings& findings) {
  PlanInputs inputs{.spec = spec,
                    .availability = availability,
                    .catalogue = implementations,
                    .findings = findings,
                    .selected = select_implementations(spec, implementations),
                    .quarantined = {}};
  for (const Quarantined& entry : findings.quarantined)
    inputs.quarantined.emplace(std::pair(entry.key_digest, entry.variant), entry.reason);
  ParameterOverrides overrides(spec.parameters);
  NamedWorlds named = worlds_of(spec, availability, findings);
  Draft draft{.plan = {.worlds = std::move(named.worlds),
                       .cells = {},
                       .skipped = {},
                       .budget = spec.budget,
                       .passes = spec.passes,
                       .full_passes = spec.full_passes,
                       .precision = spec.precision,
                       .seed = spec.seed,
                       .soak = spec.soak,
                       .input_mode = spec.input_mode,
                       .synchronization = spec.synchronization,
                       .decision = spec.decision},
              .forecasts = Forecasts(findings.measured),
              .of_product = named.of_product,
              .calls = std::move(named.calls)};
  draft.named = draft.plan.worlds.size();
  check_extent(spec, draft.of_product);
  add_cells(inputs, environment_digest, 0, false, overrides, draft);
  if (spec.partial_worlds) {
    std::vector<Skipped> of_product;
    std::ranges::copy_if(draft.plan.skipped, std::back_inserter(of_product), [&](const auto& one) {
      return draft.has_product(static_cast<std::size_t>(one.world));
    });
    add_partial_worlds(of_product, std::exchange(draft.like_ranks, {}), availability,
                       draft.plan.worlds);
    check_extent(spec, draft.of_product + draft.plan.worlds.size() - draft.named);
    add_cells(inputs, environment_digest, draft.named, false, overrides, draft);
  }
  if (spec.prune) prune(draft.plan);
  // A budget that ends early has then measured what matters most.
  std::ranges::stable_sort(draft.plan.cells, std::greater{}, &Cell::weight);
  add_cells(inputs, environment_digest, 0, true, overrides, draft);
  overrides.check_all_known();
  return std::move(draft.plan);
}

SweepPlan share_plan(ControlPlane& control, const SweepSpec& spec, const Availability& availability,
                     const Implementations& implementations, const std::string& environment_digest,
                     const Findings& findings) {
  return share_result<SweepPlan>(control, [&] {
    return make_plan(spec, availability, implementations, environment_digest, findings);
  });
}

}  // namespace colltune
