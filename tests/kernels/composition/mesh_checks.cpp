// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "mesh_checks.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <set>

#include "colltune/vocabulary/error.h"

namespace colltune::test {
namespace {

/// One of all that can do a call, by `turn`.
Variant choose_variant(const MeshCall& call, std::span<const int> nodes,
                       const Capability& capability, const Implementations& catalogue,
                       ChosenVariants& known, std::size_t turn) {
  std::vector<const Implementation*> all;
  for (const auto& one : catalogue)
    if (one->collective() == call.problem.collective &&
        one->runs_on_device() == capability.is_on_device())
      all.push_back(one.get());
  std::vector<Topology> topologies;
  for (const MeshGroup& group : mesh_groups(call, nodes)) topologies.push_back(group.topology);
  if (topologies.empty())
    topologies.push_back({.nodes = 1, .ranks_per_node = 2, .ranks = 2});  // nobody calls it
  // At random rather than in order: the next of several that cannot is the same one for all of
  // them.
  std::mt19937 random(static_cast<std::mt19937::result_type>(turn));
  std::ranges::shuffle(all, random);
  for (const Implementation* const one : all) {
    const std::vector<Variant>& variants = known.of(*one, call.problem, topologies, capability);
    if (!variants.empty()) return variants[random() % variants.size()];
  }
  throw Error(StatusCode::internal, "nothing can do " + describe(call.problem));
}

void count(MeshRuns& runs, const Composition& composition, DataPattern pattern) {
  ++(composition.mode == CompositionMode::sequential ? runs.sequential
     : composition.mode == CompositionMode::merged   ? runs.merged
                                                     : runs.hierarchical);
  if (pattern == DataPattern::rounding) ++runs.rounding;
  std::set<std::string> names;
  bool by_library = false;
  for (const Part& part : composition.parts) {
    if (part.role != PartRole::after) names.insert(part.variant.implementation);
    by_library = by_library || part.variant.implementation.starts_with("mpi.");
  }
  if (names.size() > 1) ++runs.unlike;
  if (by_library) ++runs.by_library;
}

std::string print(const Composition& composition) {
  std::string text(name_of(composition.mode));
  for (const Part& part : composition.parts)
    text += " " + std::string(name_of(part.role)) +
            (part.step ? std::to_string(*part.step) : std::string()) + "=" +
            to_string(part.variant);
  return text;
}

/// Whether a form with these parts can be; where it cannot, that it says so.
bool is_possible(const Problem& problem, const Composition& outline) {
  const std::string why = why_not_mesh(problem, outline);
  if (why.empty()) return true;
  try {
    static_cast<void>(mesh_form(problem, outline));
    ADD_FAILURE() << describe(problem) << " " << why;
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find(why), std::string::npos) << error.what();
  }
  return false;
}

}  // namespace

Numerics ByMesh::numerics(const Problem& problem, const Variant&) const {
  // Of unlike ranks, sums are rounded wherever they are handed on; a wrong one is found out
  // although as much is let pass as may be.
  if (instead_ || is_for_certain_members(name_composition("mesh_reduce", composition_)))
    return {.rounding = Rounding::each_step, .numeric_class = NumericClass::any};
  return mesh_numerics(problem, composition_, catalogue_);
}

CallTraits ByMesh::traits(const Problem& problem, const Topology&, const Variant&) const {
  if (problem.registered && ranks_.all().device() != nullptr) return {};
  return {.why_not_bound = {}};
}

std::unique_ptr<Operation> ByMesh::prepare(Communicator&, const Call& call, const Variant&,
                                           Deadline deadline) const {
  Call own = call;
  if (instead_) own.problem.mesh = instead_;
  return prepare_mesh_reduce(ranks_, own, composition_, members_, catalogue_, deadline);
}

Problem mesh_problem(MeshReduction mesh, DataType type, std::size_t elements) {
  return {.kind = ProblemKind::mesh_reduce,
          .collective = Collective::all_reduce,
          .data_type = type,
          .reduce_op = ReduceOp::none,
          .message_size = {elements * size_of(type)},
          .mesh = std::move(mesh)};
}

std::vector<MeshReduction> meshes_of(int ranks) {
  switch (ranks) {
    case 4:
      return {parse_mesh("2x2", "0:sum,1:sum"), parse_mesh("4", "{0-1|2-3}:sum,{0,2|1,3}:sum"),
              // Each input twice.
              parse_mesh("4", "{0-1|2-3}:sum,{0,2|1,3}:sum,{0,3|1-2}:sum"),
              parse_mesh("4", "{0,2-3}:sum"), parse_mesh("1x4", "0:sum,1:sum")};
    case 6:
      return {parse_mesh("2x3", "0:sum,1:sum"), parse_mesh("2x3", "1:sum,0:sum"),
              parse_mesh("2x3", "1:sum"),       parse_mesh("6", "{0-1|2-3|4-5}:sum,{0,2|1,3}:sum"),
              parse_mesh("6", "{0-1|2-5}:sum"), parse_mesh("6", "{0-3|4-5}:sum,{2,4}:sum")};
    case 7:
      return {parse_mesh("7", "{0-1|2-3|4-6}:sum,{0,2|1,3}:sum"),
              parse_mesh("7", "{1,3|2,4}:sum,{1-2|3-4|5-6}:sum")};
    case 8:
      return {parse_mesh("2x2x2", "0:sum,1:sum,2:sum"), parse_mesh("4x2", "0:sum,1:sum"),
              parse_mesh("4x2", "1:sum,0:sum"), parse_mesh("2x2x2", "2:sum,0:sum"),
              parse_mesh("8", "{0-1|2-3|4-5|6-7}:sum,{0,2|1,3|4,6|5,7}:sum")};
    default: {
      const std::string all = std::to_string(ranks);
      return {parse_mesh("1x" + all, "1:sum"), parse_mesh(all + "x1", "0:sum,1:sum")};
    }
  }
}

MeshReduction with_operators(MeshReduction mesh, const std::vector<ReduceOp>& ops) {
  for (std::size_t i = 0; i < mesh.steps.size(); ++i) mesh.steps[i].op = ops[i % ops.size()];
  return mesh;
}

MeshReduction random_mesh(std::mt19937& random, int ranks) {
  const auto below = [&](int end) {
    return std::uniform_int_distribution<int>(0, end - 1)(random);
  };
  std::vector<std::vector<int>> shapes{{ranks}};
  for (int extent = 2; extent < ranks; ++extent)
    if (ranks % extent == 0) shapes.push_back({extent, ranks / extent});
  if (ranks == 8) shapes.push_back({2, 2, 2});
  MeshReduction mesh{
      .shape = shapes[static_cast<std::size_t>(below(static_cast<int>(shapes.size())))],
      .steps = {}};
  const std::array ops{ReduceOp::sum, ReduceOp::prod, ReduceOp::min, ReduceOp::max, ReduceOp::avg};
  const ReduceOp one = ops.at(static_cast<std::size_t>(below(5)));
  const int kind = below(6);
  for (int i = 0, steps = 1 + below(3); i < steps; ++i) {
    MeshStep step{.op = kind < 3   ? one
                        : kind < 5 ? (below(2) == 0 ? ReduceOp::sum : ReduceOp::avg)
                                   : ops.at(static_cast<std::size_t>(below(5))),
                  .dimension = {},
                  .groups = {}};
    if (below(3) > 0) {
      step.dimension = i % static_cast<int>(mesh.shape.size());
    } else {
      std::vector<int> number(static_cast<std::size_t>(ranks), -1);
      const int most = 1 + below(ranks);
      int next = 0;
      for (int rank = 0; rank < ranks; ++rank) {
        int& own = number[static_cast<std::size_t>(below(most))];
        if (own < 0) own = next++;
        step.groups.push_back(own);
      }
    }
    mesh.steps.push_back(std::move(step));
  }
  return mesh;
}

Composition outline_of(const MeshReduction& mesh, CompositionMode mode, int inside) {
  const auto part = [](PartRole role, std::optional<int> step = {}) {
    return Part{.role = role, .kinds = {}, .variant = {"test.not_chosen", {}}, .step = step};
  };
  Composition outline{.mode = mode, .parts = {}};
  if (mode == CompositionMode::sequential)
    for (std::size_t i = 0; i < mesh.steps.size(); ++i)
      outline.parts.push_back(part(PartRole::step, static_cast<int>(i)));
  else if (mode == CompositionMode::merged)
    outline.parts = {part(PartRole::whole)};
  else
    outline.parts = {part(PartRole::before, inside), part(PartRole::bridge),
                     part(PartRole::after, inside)};
  return outline;
}

Composition choose_composition(const Problem& problem, Composition outline,
                               const Communicator& communicator, const Capability& capability,
                               const Implementations& catalogue, ChosenVariants& known,
                               std::size_t turn) {
  const MeshForm form = mesh_form(problem, outline);
  std::vector<Variant> chosen;
  for (const MeshCall& call : form.calls)
    chosen.push_back(
        choose_variant(call, communicator.nodes(), capability, catalogue, known, turn++));
  for (std::size_t i = 0; i < form.calls.size(); ++i)
    outline.parts[static_cast<std::size_t>(form.calls[i].part - outline.parts.data())].variant =
        chosen[i];
  return outline;
}

MeshRuns& operator+=(MeshRuns& all, const MeshRuns& more) {
  for (const auto field :
       {&MeshRuns::sequential, &MeshRuns::merged, &MeshRuns::hierarchical, &MeshRuns::rounding,
        &MeshRuns::unlike, &MeshRuns::by_library, &MeshRuns::refused})
    all.*field += more.*field;
  return all;
}

MeshRuns run_mesh(Subgroups& ranks, const Capability& capability, const Implementations& catalogue,
                  ChosenVariants& known, const MeshReduction& mesh, DataType type,
                  std::size_t turn) {
  // Not divisible by the groups' sizes, divisible, less than one each, nothing.
  constexpr std::array<std::size_t, 6> sizes{37, 1003, 1, 240, 7, 0};
  Communicator& all = ranks.all();
  MeshRuns runs;
  std::vector<Composition> outlines{outline_of(mesh, CompositionMode::sequential, 0),
                                    outline_of(mesh, CompositionMode::merged, 0)};
  for (int inside = 0; static_cast<std::size_t>(inside) < mesh.steps.size(); ++inside)
    outlines.push_back(outline_of(mesh, CompositionMode::hierarchical, inside));
  for (const Composition& outline : outlines) {
    ConformanceCase test{.problem = mesh_problem(mesh, type, sizes.at(turn % sizes.size()))};
    if (!why_not_verifiable(test.problem).empty()) return runs;
    test.problem.in_place = turn / 2 % 2 == 1;
    test.problem.registered = turn % 3 == 1;
    if (!is_possible(test.problem, outline)) {
      ++runs.refused;
      continue;
    }
    for (const DataPattern pattern : {DataPattern::exact, DataPattern::rounding}) {
      test.pattern = pattern;
      if (!is_meaningful({test.problem, all.size(), 0, pattern, 0})) continue;
      const Composition composition =
          choose_composition(test.problem, outline, all, capability, catalogue, known, turn);
      const std::string fault = find_fault(all, ByMesh(ranks, composition, catalogue),
                                           name_composition("mesh_reduce", composition), test);
      count(runs, composition, pattern);
      if (!fault.empty())
        ADD_FAILURE() << "rank " << all.rank() << ", " << describe(test.problem) << ", "
                      << (pattern == DataPattern::exact ? "exact, " : "rounding, ")
                      << print(composition) << ": " << fault;
    }
    ++turn;
  }
  return runs;
}

std::vector<std::vector<ReduceOp>> operators_in_turn() {
  return {{ReduceOp::sum},
          {ReduceOp::prod},
          {ReduceOp::max},
          {ReduceOp::min},
          {ReduceOp::avg},
          {ReduceOp::sum, ReduceOp::avg},
          {ReduceOp::avg, ReduceOp::sum},
          {ReduceOp::sum, ReduceOp::max}};
}

MeshRuns run_operators(Subgroups& ranks, const Capability& capability,
                       const Implementations& catalogue, ChosenVariants& known,
                       const MeshReduction& mesh, const std::vector<DataType>& types,
                       std::size_t turn) {
  MeshRuns all;
  for (const std::vector<ReduceOp>& ops : operators_in_turn())
    for (const DataType type : types)
      all += run_mesh(ranks, capability, catalogue, known, with_operators(mesh, ops), type, turn++);
  return all;
}

MeshRuns run_operators_in_turn(Subgroups& ranks, const Capability& capability,
                               const Implementations& catalogue, ChosenVariants& known,
                               const MeshReduction& mesh, const std::vector<DataType>& types,
                               std::size_t turn) {
  MeshRuns all;
  const std::vector<std::vector<ReduceOp>> operators = operators_in_turn();
  for (std::size_t i = 0; i < std::max(types.size(), operators.size()); ++i, ++turn)
    all += run_mesh(ranks, capability, catalogue, known,
                    with_operators(mesh, operators[i % operators.size()]),
                    types[turn % types.size()], turn);
  return all;
}

}  // namespace colltune::test
