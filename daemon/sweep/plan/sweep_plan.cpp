// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/sweep/plan/sweep_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <span>
#include <utility>

#include "colltune/flight/flight_recorder.h"
#include "colltune/json/json.h"
#include "colltune/kernels/verification/oracle.h"
#include "colltune/sweep/ranks/capability_rules.h"
#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/problem_form.h"
#include "composer.h"
#include "control/shared_result.h"
#include "mesh_composer.h"
#include "planned_variant.h"
#include "planned_worlds.h"
#include "selection.h"

namespace colltune {
namespace {

// Beyond this a plan does not fit into a day at the speed of the fastest trials.
constexpr std::size_t most_trials = 1'000'000;

[[noreturn]] void fail_too_many(const std::string& what) {
  throw Error(StatusCode::invalid_argument,
              fmt::format("the configuration asks for {}; allowed are {} trials: make the lists or "
                          "/sizes shorter",
                          what, most_trials));
}

/// Expands a configuration cell by cell.
class Planner {
 public:
  Planner(const SweepSpec& spec, const Availability& availability,
          const Implementations& implementations, const std::string& environment_digest,
          const Findings& findings)
      : spec_(spec),
        availability_(availability),
        environment_digest_(environment_digest),
        catalogue_(implementations),
        selected_(select_implementations(spec, implementations)),
        overrides_(spec.parameters),
        findings_(findings) {
    for (const Quarantined& entry : findings.quarantined)
      quarantined_.emplace(std::pair(entry.key_digest, entry.variant), entry.reason);
  }

  SweepPlan run() {
    plan_.budget = spec_.budget;
    plan_.passes = spec_.passes;
    plan_.precision = spec_.precision;
    plan_.seed = spec_.seed;
    plan_.soak = spec_.soak;
    plan_.input_mode = spec_.input_mode;
    plan_.synchronization = spec_.synchronization;
    plan_.decision = spec_.decision;
    add_worlds();
    check_extent();
    add_cells(spec_.sizes, false);
    if (spec_.partial_worlds) add_partial_worlds();
    add_cells(spec_.holdout_sizes, true);
    overrides_.check_all_known();
    return std::move(plan_);
  }

 private:
  /// In the worlds from `first` on.
  void add_cells(const std::vector<Bytes>& sizes, bool is_holdout, std::size_t first = 0) {
    for (std::size_t world = first; world < plan_.worlds.size(); ++world)
      for (const auto& problem : problems_of(static_cast<int>(world), sizes))
        add_cell(static_cast<int>(world), problem, is_holdout);
  }

  void add_worlds() {
    if (findings_.world != nullptr) {
      plan_.worlds.push_back(*findings_.world);
      return;
    }
    if (spec_.worlds.empty())
      add_world(plan_.worlds, availability_, node_major_ranks(availability_));
    for (const auto& world : spec_.worlds)
      add_world(plan_.worlds, availability_, ranks_of_world(availability_, world));
  }

  /// For each set of kinds that some variant is skipped for the lack of the others, the world of
  /// its ranks, where those are several; then those that can do the same, and may be groups.
  void add_partial_worlds() {
    const std::size_t whole_worlds = plan_.worlds.size();
    const std::set<std::vector<int>> alike = std::move(like_ranks_);
    std::set<std::pair<int, std::vector<int>>> able;
    for (const Skipped& skipped : plan_.skipped)
      if (!skipped.supporting_kinds.empty()) able.emplace(skipped.world, skipped.supporting_kinds);
    for (const auto& [world, kinds] : able) {
      std::vector<int> ranks = ranks_of_kinds(world_of(world), availability_, kinds);
      if (ranks.size() > 1) add_partial_world(plan_.worlds, availability_, std::move(ranks));
    }
    for (const std::vector<int>& ranks : alike)
      add_partial_world(plan_.worlds, availability_, ranks);
    check_extent();
    add_cells(spec_.sizes, false, whole_worlds);
  }

  void check_extent() const {
    const std::size_t axes = (spec_.in_place.off + spec_.in_place.on) *
                             static_cast<std::size_t>(spec_.registered.off + spec_.registered.on) *
                             values_of(spec_.graph_capture).size();
    const std::size_t operations =
        spec_.collectives.size() * spec_.reduce_ops.size() + spec_.meshes.size();
    const std::size_t keys = plan_.worlds.size() * operations * spec_.data_types.size() *
                             (spec_.sizes.size() + spec_.holdout_sizes.size()) * axes;
    if (keys > most_trials)
      fail_too_many(fmt::format(
          "{} keys ({} worlds x ({} collectives x {} ops + {} meshes) x {} types x {} sizes x {} "
          "buffer modes)",
          keys, plan_.worlds.size(), spec_.collectives.size(), spec_.reduce_ops.size(),
          spec_.meshes.size(), spec_.data_types.size(),
          spec_.sizes.size() + spec_.holdout_sizes.size(), axes));
  }

  /// The product of the axes in the order of the configuration, sizes rounded and each once.
  std::vector<Problem> problems_of(int world, const std::vector<Bytes>& sizes) {
    std::vector<Problem> problems;
    for (const Collective collective : spec_.collectives) {
      const bool reduces = shape_of(collective).reduces;
      const std::vector<ReduceOp> ops =
          reduces ? spec_.reduce_ops : std::vector<ReduceOp>{ReduceOp::none};
      for (const DataType type : spec_.data_types)
        for (const ReduceOp op : ops)
          for (const bool captured : values_of(spec_.graph_capture))
            for (const bool registered : values_of(spec_.registered))
              for (const bool in_place : places_of(collective))
                append_sizes(world, sizes,
                             {.collective = collective,
                              .data_type = type,
                              .reduce_op = op,
                              .in_place = in_place,
                              .registered = registered,
                              .graph_capture = captured},
                             problems);
    }
    for (const MeshReduction& mesh : spec_.meshes) {
      Problem problem{.kind = ProblemKind::mesh_reduce, .reduce_op = ReduceOp::none, .mesh = mesh};
      const int ranks = world_of(world).topology.ranks;
      if (ranks != ranks_of(mesh)) {
        skip(world, problem,
             fmt::format("the mesh has {} ranks, this world {}", ranks_of(mesh), ranks));
        continue;
      }
      for (const DataType type : spec_.data_types)
        for (const bool registered : values_of(spec_.registered))
          for (const bool in_place : values_of(spec_.in_place)) {
            problem.data_type = type;
            problem.in_place = in_place;
            problem.registered = registered;
            append_sizes(world, sizes, problem, problems);
          }
    }
    return problems;
  }

  /// A collective with one buffer has one form, whatever is asked for.
  [[nodiscard]] std::vector<bool> places_of(Collective collective) const {
    return has_one_buffer({.collective = collective}) ? std::vector<bool>{true}
                                                      : values_of(spec_.in_place);
  }

  static std::vector<bool> values_of(const BooleanAxis& axis) {
    std::vector<bool> values;
    if (axis.off) values.push_back(false);
    if (axis.on) values.push_back(true);
    return values;
  }

  void append_sizes(int world, const std::vector<Bytes>& sizes, Problem problem,
                    std::vector<Problem>& problems) {
    const int ranks = world_of(world).topology.ranks;
    std::set<Bytes> rounded;
    for (const Bytes size : sizes) {
      problem.message_size = round_message_size(problem.collective, problem.data_type, size, ranks);
      if (problem.message_size.value == 0) {
        Problem asked = problem;
        asked.message_size = size;
        plan_.skipped.push_back(
            {.world = world,
             .problem = asked,
             .reason = fmt::format("{} is less than one {} element for each of {} rank(s)",
                                   format_bytes(size), name_of(problem.data_type), ranks)});
      } else if (rounded.insert(problem.message_size).second) {
        problems.push_back(problem);
      }
    }
  }

  void skip(int world, const Problem& problem, std::string reason) {
    plan_.skipped.push_back({.world = world, .problem = problem, .reason = std::move(reason)});
  }

  void add_cell(int world, const Problem& problem, bool is_holdout) {
    const Topology& topology = world_of(world).topology;
    Cell cell{.world = world,
              .key = {.problem = problem,
                      .topology = topology,
                      .environment_digest = environment_digest_},
              .is_holdout = is_holdout};
    if (is_holdout && std::ranges::any_of(
                          plan_.cells, [&](const Cell& other) { return other.key == cell.key; })) {
      skip(world, problem, "this held-out size is one of the sizes, once rounded");
      return;
    }
    if (problem.registered && topology.nodes > 1) {
      skip(world, problem, "registered buffers need ranks that share one node");
      return;
    }
    if (problem.mesh) {
      add_mesh_forms(cell);
    } else {
      const auto found = selected_.find(problem.collective);
      const std::vector<Variant> answers = is_holdout ? answers_for(cell) : std::vector<Variant>{};
      std::vector<Option> options;
      if (found != selected_.end())
        for (const Implementation* implementation : found->second)
          add_variants(*implementation, cell, answers, options);
      add_compositions(cell, options);
    }
    if (cell.variants.empty()) {
      skip(world, problem, "no implementation that was chosen can run it here");
      return;
    }
    if (spec_.null_test) add_twin(cell);
    trials_ += cell.variants.size();
    if (trials_ + plan_.skipped.size() > most_trials) fail_too_many("more trials than that");
    plan_.cells.push_back(std::move(cell));
  }

  /// What may be answered for a held-out size: the variants of the next smaller and the next larger
  /// size that decide. Some have parameters that are of no interest at this size itself.
  [[nodiscard]] std::vector<Variant> answers_for(const Cell& cell) const {
    std::map<Bytes, const Cell*> deciding;
    TuningKey key = cell.key;
    for (const Cell& other : plan_.cells) {
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

  static void add_twin(Cell& cell) {
    const auto baseline = std::ranges::find_if(
        cell.variants, [](const auto& planned) { return planned.is_baseline; });
    if (baseline == cell.variants.end()) return;
    PlannedVariant twin = *baseline;
    twin.is_baseline = false;
    twin.is_twin = true;
    cell.variants.insert(baseline + 1, std::move(twin));
  }

  [[nodiscard]] const PlannedWorld& world_of(int world) const {
    return plan_.worlds[static_cast<std::size_t>(world)];
  }

  [[nodiscard]] std::vector<int> kinds_in(int world) const {
    return kinds_of(world_of(world), availability_);
  }

  /// The union of the kinds' search spaces, in order, with the overrides applied; without what
  /// another variant covers that all kinds can run.
  std::vector<Variant> search_space(const Implementation& implementation, const Cell& cell,
                                    const std::vector<int>& kinds) {
    std::vector<Variant> space;
    for (const int kind : kinds)
      for (auto& variant :
           implementation.variants(cell.key.problem, cell.key.topology, capability(kind)))
        if (std::ranges::find(space, variant) == space.end()) space.push_back(std::move(variant));
    std::vector<Variant> covered;
    for (const Variant& wide : space)
      for (const Variant& narrow : space)
        if (implementation.covers(wide, narrow) && why_not_here(cell, wide).empty() &&
            ask(implementation, cell, kinds, wide).reason.empty())
          covered.push_back(narrow);
    std::erase_if(space, [&](const Variant& variant) {
      return std::ranges::find(covered, variant) != covered.end();
    });
    return overrides_.apply(implementation.name(), std::move(space));
  }

  /// Those of its search space, and of `more` which are its. `options` gets those that some ranks
  /// can run and nothing but others keeps from running.
  void add_variants(const Implementation& implementation, Cell& cell, std::span<const Variant> more,
                    std::vector<Option>& options) {
    const std::vector<int> kinds = kinds_in(cell.world);
    std::vector<Variant> space = search_space(implementation, cell, kinds);
    for (const Variant& variant : more)
      if (variant.implementation == implementation.name() &&
          std::ranges::find(space, variant) == space.end())
        space.push_back(variant);
    // An implementation that can run nowhere here may have no variants, but has a reason.
    const bool is_empty = space.empty();
    if (is_empty) space.push_back({.implementation = std::string(implementation.name())});
    for (auto& variant : space) {
      Verdict verdict = is_empty ? ask_why_none(implementation, cell, kinds, variant)
                                 : ask(implementation, cell, kinds, variant);
      const std::string why_nowhere = why_not_here(cell, variant);
      if (why_nowhere.empty() && !verdict.supporting_kinds.empty())
        options.push_back({.implementation = &implementation,
                           .variant = variant,
                           .kinds = verdict.supporting_kinds});
      if (verdict.reason.empty()) verdict.reason = why_nowhere;
      if (verdict.reason.empty())
        cell.variants.push_back(describe_variant(implementation, cell.key, std::move(variant),
                                                 std::move(verdict.supporting_kinds)));
      else
        plan_.skipped.push_back({.world = cell.world,
                                 .problem = cell.key.problem,
                                 .variant = to_string(variant),
                                 .reason = std::move(verdict.reason),
                                 .supporting_kinds = std::move(verdict.supporting_kinds)});
    }
  }

  /// The forms of a mesh reduction, each whole one variant.
  void add_mesh_forms(Cell& cell) {
    if (std::string why = why_not_verifiable(cell.key.problem); !why.empty())
      return skip(cell.world, cell.key.problem, std::move(why));
    const PlannedWorld& world = world_of(cell.world);
    const MeshComposer composer({.availability = availability_,
                                 .world = world,
                                 .key = cell.key,
                                 .catalogue = catalogue_,
                                 .selected = selected_,
                                 .decisions = findings_.decisions});
    MeshComposer::Composed composed = composer.compose();
    for (MeshComposer::Absent& absent : composed.absent)
      skip_variant(cell, absent.form, std::move(absent.why));
    for (const Composition& one : findings_.compositions)
      if (composer.fits(one) &&
          std::ranges::find(composed.compositions, one) == composed.compositions.end())
        composed.compositions.push_back(one);
    for (const Composition& one : composed.compositions) add_composed(cell, one, composer);
    add_merged_among_unlike(cell);
  }

  /// The merged form for ranks that cannot all run one variant, where it is one all_reduce of all.
  void add_merged_among_unlike(Cell& cell) {
    int divisor = 1;
    const auto merged = merged_problem(cell.key.problem, divisor);
    if (!merged || kinds_in(cell.world).size() < 2) return;
    Cell scratch{.world = cell.world, .key = cell.key};
    scratch.key.problem = *merged;
    const auto found = selected_.find(merged->collective);
    if (found == selected_.end()) return;
    // What is missing for single variants is of no interest here: none of them is a form.
    const std::size_t skipped = plan_.skipped.size();
    std::vector<Option> options;
    for (const Implementation* implementation : found->second)
      add_variants(*implementation, scratch, {}, options);
    plan_.skipped.resize(skipped);
    const std::size_t singles = scratch.variants.size();
    add_compositions(scratch, options);
    for (std::size_t i = skipped; i < plan_.skipped.size(); ++i)
      plan_.skipped[i].problem = cell.key.problem;
    for (std::size_t i = singles; i < scratch.variants.size(); ++i) {
      PlannedVariant& planned = scratch.variants[i];
      planned.variant = name_composition(operation_name(cell.key.problem), *planned.composition);
      if (cell.key.problem.mesh->steps.size() > 1 && planned.rounding == Rounding::once)
        planned.rounding = Rounding::each_step;
      planned.limits.reduce_ops.clear();
      if (quarantine_of(cell, planned.variant).empty()) cell.variants.push_back(std::move(planned));
    }
  }

  void skip_variant(const Cell& cell, std::string variant, std::string reason) {
    plan_.skipped.push_back({.world = cell.world,
                             .problem = cell.key.problem,
                             .variant = std::move(variant),
                             .reason = std::move(reason),
                             .supporting_kinds = {}});
  }

  /// `one` as a trial, or skipped with the reason.
  void add_composed(Cell& cell, const Composition& one, const auto& composer) {
    const Variant name = name_composition(operation_name(cell.key.problem), one);
    std::string reason = why_not_here(cell, name);
    if (reason.empty()) reason = composer.why_not(one);
    if (reason.empty())
      cell.variants.push_back(composer.as_trial(one));
    else
      skip_variant(cell, to_string(name), std::move(reason));
  }

  /// What unlike ranks may run together, where they are unlike.
  void add_compositions(Cell& cell, const std::vector<Option>& options) {
    const Composer composer({.availability = availability_,
                             .world = world_of(cell.world),
                             .key = cell.key,
                             .catalogue = catalogue_,
                             .selected = selected_,
                             .decisions = findings_.decisions});
    if (spec_.partial_worlds) like_ranks_.merge(composer.like_ranks(options));
    std::vector<Composition> compositions;
    for (const CompositionMode mode : spec_.compositions) {
      Composer::Composed composed = composer.compose(mode, options);
      std::ranges::move(composed.compositions, std::back_inserter(compositions));
      if (!composed.why_none.empty())
        plan_.skipped.push_back(
            {.world = cell.world,
             .problem = cell.key.problem,
             .variant = fmt::format("{}.{}", name_of(mode), name_of(cell.key.problem.collective)),
             .reason = std::move(composed.why_none),
             .supporting_kinds = {}});
    }
    for (const Composition& one : findings_.compositions)
      if (composer.fits(one)) compositions.push_back(one);
    for (const Composition& one : compositions) add_composed(cell, one, composer);
  }

  /// Why a variant that its ranks support is not to be run for this key; empty where it may.
  std::string why_not_here(const Cell& cell, const Variant& variant) const {
    std::string reason = quarantine_of(cell, variant);
    return reason.empty() ? why_too_long(variant) : reason;
  }

  static std::string why_too_long(const Variant& variant) {
    const std::size_t size = to_string(variant).size();
    if (size <= longest_recorded_variant) return {};
    return fmt::format(
        "its name and parameters take {} bytes; {} are recorded, so that it can be told which "
        "variant crashed or hung: give it shorter names",
        size, longest_recorded_variant);
  }

  struct Verdict {
    std::string reason;  ///< of the first rank that lacks the variant; empty: all support it
    std::vector<int> supporting_kinds;
  };

  Verdict ask(const Implementation& implementation, const Cell& cell, const std::vector<int>& kinds,
              const Variant& variant) const {
    Verdict verdict;
    std::vector<const Capability*> capabilities;
    for (const int kind : kinds) capabilities.push_back(&capability(kind));
    verdict.reason = why_not_together(implementation, capabilities);
    if (!verdict.reason.empty()) return verdict;
    for (const int kind : kinds) {
      const Support support = support_of(implementation, cell.key.problem, cell.key.topology,
                                         capability(kind), variant);
      if (support)
        verdict.supporting_kinds.push_back(kind);
      else if (verdict.reason.empty())
        verdict.reason =
            kinds.size() == 1
                ? support.reason()
                : fmt::format("{} (rank {})", support.reason(),
                              ranks_of_kinds(world_of(cell.world), availability_, {kind}).front());
    }
    std::ranges::sort(verdict.supporting_kinds);
    return verdict;
  }

  /// The reason of an implementation without variants; its bare name has none of its parameters.
  Verdict ask_why_none(const Implementation& implementation, const Cell& cell,
                       const std::vector<int>& kinds, const Variant& bare) const {
    Verdict verdict;
    try {
      verdict = ask(implementation, cell, kinds, bare);
    } catch (const Error&) {
      verdict = {};
    }
    if (verdict.reason.empty()) verdict.reason = "has no variants for this problem";
    verdict.supporting_kinds.clear();
    return verdict;
  }

  /// Empty where the variant is in no quarantine for this key.
  std::string quarantine_of(const Cell& cell, const Variant& variant) const {
    if (quarantined_.empty()) return {};
    const auto found = quarantined_.find({digest_of_value(cell.key), to_string(variant)});
    return found == quarantined_.end() ? std::string() : "quarantined: " + found->second;
  }

  const Capability& capability(int kind) const {
    return availability_.kinds[static_cast<std::size_t>(kind)];
  }

  const SweepSpec& spec_;
  const Availability& availability_;
  const std::string& environment_digest_;
  const Implementations& catalogue_;
  std::map<Collective, std::vector<const Implementation*>> selected_;
  ParameterOverrides overrides_;
  const Findings& findings_;
  std::map<std::pair<std::string, std::string>, std::string> quarantined_;  ///< key, variant
  std::set<std::vector<int>> like_ranks_;  ///< in any world, for any problem so far
  SweepPlan plan_;
  std::size_t trials_ = 0;
};

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
  return Planner(spec, availability, implementations, environment_digest, findings).run();
}

SweepPlan share_plan(ControlPlane& control, const SweepSpec& spec, const Availability& availability,
                     const Implementations& implementations, const std::string& environment_digest,
                     const Findings& findings) {
  return share_result<SweepPlan>(control, [&] {
    return make_plan(spec, availability, implementations, environment_digest, findings);
  });
}

}  // namespace colltune
