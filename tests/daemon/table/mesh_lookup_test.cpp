// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

// Questions about reductions over a process mesh.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "colltune/table/decision_table.h"
#include "literals.h"

namespace colltune {
namespace {

using namespace literals;
using ::testing::AllOf;
using ::testing::HasSubstr;

Problem mesh_problem(std::uint64_t bytes, std::string_view steps = "0:sum,1:sum",
                     std::string_view shape = "2x2") {
  return {.kind = ProblemKind::mesh_reduce,
          .reduce_op = ReduceOp::none,
          .message_size = {bytes},
          .mesh = parse_mesh(shape, steps)};
}

Composition sequential(std::string_view variant) {
  return {.mode = CompositionMode::sequential,
          .parts = {{PartRole::step, {}, parse_variant(variant), 0},
                    {PartRole::step, {}, parse_variant(variant), 1}}};
}
Composition merged(std::string_view variant) {
  return {.mode = CompositionMode::merged,
          .parts = {{PartRole::whole, {}, parse_variant(variant), {}}}};
}
std::string name_of(const Composition& composition) {
  return to_string(name_composition("mesh_reduce", composition));
}

const Composition base = sequential("mpi.base");
const Composition quick = sequential("cpu.quick");
const Composition one = merged("cpu.quick");

/// Merged is the fastest below 64 KiB, in sequence above.
DecisionTable measured() {
  std::vector<Decision> decisions;
  for (const std::uint64_t size : {4 * KiB, 16 * KiB})
    decisions.push_back(decide(
        mesh_problem(size),
        {{name_of(one), 100}, {name_of(quick), 150}, {name_of(base), 200, true}}, world(1, 4)));
  decisions.push_back(decide(
      mesh_problem(256 * KiB),
      {{name_of(quick), 900}, {name_of(one), 950}, {name_of(base), 1000, true}}, world(1, 4)));
  decisions.push_back(decide(mesh_problem(4 * KiB, "0:sum,1:max"),
                             {{name_of(quick), 140}, {name_of(base), 210, true}}, world(1, 4)));
  Decision plain =
      decide(all_reduce(4 * KiB), {{"cpu.quick", 60}, {"mpi.base", 90, true}}, world(1, 4));
  decisions.push_back(plain);
  return DecisionTable({.generation = generation(1),
                        .decisions = std::move(decisions),
                        .compositions = {base, quick, one}});
}

TEST(MeshLookup, TheFastestFormWithItsPartsIsAnsweredToWhoSaysNothingOfMembers) {
  const DecisionTable table = measured();
  const LookupAnswer answer = table.find({.problem = mesh_problem(4 * KiB)});
  EXPECT_EQ(winner(answer), name_of(one));
  EXPECT_EQ(answer.source, Source::measured);
  EXPECT_EQ(answer.compositions, (std::vector{one, quick, base}));
  EXPECT_EQ(winner(table.find({.problem = mesh_problem(256 * KiB)})), name_of(quick));
  EXPECT_EQ(winner(table.find({.problem = mesh_problem(8 * KiB)})), name_of(one));
  // An all_reduce of the same size is another question.
  EXPECT_EQ(winner(table.find({.problem = all_reduce(4 * KiB)})), "cpu.quick");
}

TEST(MeshLookup, AnotherMeshOrOtherStepsAreNoAnswer) {
  const DecisionTable table = measured();
  EXPECT_EQ(winner(table.find({.problem = mesh_problem(4 * KiB, "0:sum,1:max")})), name_of(quick));
  for (const Problem& problem :
       {mesh_problem(4 * KiB, "1:sum,0:sum"), mesh_problem(4 * KiB, "0:sum"),
        mesh_problem(4 * KiB, "0:sum,1:sum", "2x2x1"), mesh_problem(4 * KiB, "0:max,1:max")})
    EXPECT_THAT(
        error_of_action(StatusCode::not_found, [&] { (void)table.find({.problem = problem}); }),
        AllOf(HasSubstr("differs in mesh or what is reduced over it"),
              HasSubstr("mesh_reduce 2x2 0:sum,1:sum")));
}

TEST(MeshLookup, APolicyAnswersItsFormAlone) {
  const DecisionTable table = measured();
  const auto ask = [&](CompositionMode form, std::uint64_t bytes,
                       std::string_view steps = "0:sum,1:sum") {
    return table.find({.problem = mesh_problem(bytes, steps), .form = form});
  };
  const LookupAnswer answer = ask(CompositionMode::sequential, 4 * KiB);
  EXPECT_EQ(winner(answer), name_of(quick));
  EXPECT_EQ(answer.decision.ranked.size(), 2U);
  EXPECT_THAT(answer.decision.reason, HasSubstr("is no sequential form"));
  EXPECT_EQ(winner(ask(CompositionMode::merged, 256 * KiB)), name_of(one));
  EXPECT_EQ(winner(ask(CompositionMode::merged, 8 * KiB)), name_of(one));
  EXPECT_THAT(error_of_action(StatusCode::not_found,
                              [&] { (void)ask(CompositionMode::hierarchical, 4 * KiB); }),
              HasSubstr("is no hierarchical form"));
  // What the algebra forbids is refused with the reason, measured or not.
  EXPECT_THAT(error_of_action(StatusCode::invalid_argument,
                              [&] { (void)ask(CompositionMode::merged, 4 * KiB, "0:sum,1:max"); }),
              HasSubstr("has no merged form: steps of unlike operators"));
  EXPECT_THAT(error_of_action(StatusCode::invalid_argument,
                              [&] { (void)ask(CompositionMode::grouped, 4 * KiB); }),
              HasSubstr("allowed are sequential, merged and hierarchical"));
  EXPECT_THAT(error_of_action(StatusCode::invalid_argument,
                              [&] {
                                (void)table.find({.problem = all_reduce(4 * KiB),
                                                  .form = CompositionMode::merged});
                              }),
              HasSubstr("only mesh reductions have"));
}

TEST(MeshLookup, OneStepIsItsOwnMergedForm) {
  const Composition alone{.mode = CompositionMode::sequential,
                          .parts = {{PartRole::step, {}, parse_variant("mpi.base"), 0}}};
  const DecisionTable table(
      {.generation = generation(1),
       .decisions = {decide(mesh_problem(KiB, "0:sum"), {{name_of(alone), 10, true}}, world(1, 4))},
       .compositions = {alone}});
  EXPECT_EQ(
      winner(table.find({.problem = mesh_problem(KiB, "0:sum"), .form = CompositionMode::merged})),
      name_of(alone));
}

TEST(MeshLookup, AProblemThatContradictsItselfIsRefused) {
  const DecisionTable table = measured();
  Problem problem = mesh_problem(4 * KiB);
  problem.reduce_op = ReduceOp::sum;
  EXPECT_THAT(error_of_action(StatusCode::invalid_argument,
                              [&] { (void)table.find({.problem = problem}); }),
              HasSubstr("operators stand in its mesh"));
  problem = mesh_problem(4 * KiB);
  problem.mesh.reset();
  EXPECT_THAT(error_of_action(StatusCode::invalid_argument,
                              [&] { (void)table.find({.problem = problem}); }),
              HasSubstr("needs a mesh"));
}

}  // namespace
}  // namespace colltune
