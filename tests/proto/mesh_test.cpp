// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/vocabulary/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/composition.h"
#include "colltune/vocabulary/error.h"
#include "colltune/vocabulary/problem.h"

namespace colltune::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

MeshStep along(int dimension, ReduceOp op) {
  return {.op = op, .dimension = dimension, .groups = {}};
}
MeshStep among(std::vector<int> groups, ReduceOp op) {
  return {.op = op, .dimension = {}, .groups = std::move(groups)};
}

/// What `act` is told; empty where it is not refused.
template <class Act>
std::string refusal(Act act) {
  try {
    static_cast<void>(act());
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), StatusCode::invalid_argument);
    return error.what();
  }
  return "";
}
std::string parse_refusal(std::string_view shape, std::string_view steps) {
  return refusal([&] { return parse_mesh(shape, steps); });
}
std::string check_refusal(const MeshReduction& mesh) {
  return refusal([&] {
    check(mesh);
    return 0;
  });
}

struct Text {
  std::string_view shape;
  std::string_view steps;
  MeshReduction mesh;
};

TEST(Mesh, TextsAreReadAndPrintedAlike) {
  const std::vector<Text> texts{
      {"2x3", "0:sum,1:sum", {{2, 3}, {along(0, ReduceOp::sum), along(1, ReduceOp::sum)}}},
      {"2x3", "1:avg", {{2, 3}, {along(1, ReduceOp::avg)}}},
      {"6", "{0-2|4-5}:max", {{6}, {among({0, 0, 0, 1, 2, 2}, ReduceOp::max)}}},
      {"7", "{0,2|1,3-5}:prod", {{7}, {among({0, 1, 0, 1, 1, 1, 2}, ReduceOp::prod)}}},
      {"2x2",
       "{0,3}:min,0:sum,{1-3}:avg",
       {{2, 2},
        {among({0, 1, 2, 0}, ReduceOp::min), along(0, ReduceOp::sum),
         among({0, 1, 1, 1}, ReduceOp::avg)}}},
      {"4", "{0}:sum", {{4}, {among({0, 1, 2, 3}, ReduceOp::sum)}}},
      {"1x1x4", "2:sum,1:max", {{1, 1, 4}, {along(2, ReduceOp::sum), along(1, ReduceOp::max)}}},
      {"1048576", "0:sum", {{1 << 20}, {along(0, ReduceOp::sum)}}}};
  for (const Text& text : texts) {
    EXPECT_EQ(parse_mesh(text.shape, text.steps), text.mesh) << text.steps;
    EXPECT_EQ(shape_text(text.mesh), text.shape);
    EXPECT_EQ(steps_text(text.mesh), text.steps);
  }
}

TEST(Mesh, OtherTextsOfTheSameGroupsAreReadAsTheSame) {
  // By a dimension's groups the dimension is meant.
  EXPECT_EQ(parse_mesh("2x3", "{0-2|3-5}:max"), parse_mesh("2x3", "1:max"));
  EXPECT_EQ(parse_mesh("2x3", "{5,2|1,4|3,0}:max"), parse_mesh("2x3", "0:max"));
  EXPECT_EQ(parse_mesh("5", "{4,3|0,2}:sum"), parse_mesh("5", "{0,2|1|3-4}:sum"));
}

TEST(Mesh, TextsThatSayNothingAreRefused) {
  const auto no_shape = [](const std::string& shape) {
    return "mesh: '" + shape + "' is no shape; write the ranks along each dimension, as in 2x3";
  };
  for (const char* shape : {"", "x", "2x", "x3", "2xx3", "2x3x", "0", "2x0", "-2", "2x-3", "2 x3",
                            "2,3", "+2", "2.0", "99999999999"})
    EXPECT_EQ(parse_refusal(shape, "0:sum"), no_shape(shape));
  EXPECT_EQ(parse_refusal("1024x1025", "0:sum"), "mesh: it has more than 1048576 ranks");
  EXPECT_EQ(parse_refusal("2000000000x2000000000x2000000000", "0:sum"),
            "mesh: it has more than 1048576 ranks");

  const auto no_reduction = [](const std::string& step) {
    return "mesh: '" + step +
           "' is no reduction; write DIMENSION:OP, as in 0:sum, or {GROUPS}:OP, as in "
           "{0-2|3-5}:sum";
  };
  EXPECT_EQ(parse_refusal("2x3", ""), no_reduction(""));
  EXPECT_EQ(parse_refusal("2x3", "0"), no_reduction("0"));
  EXPECT_EQ(parse_refusal("2x3", "0:sum,"), no_reduction(""));
  EXPECT_EQ(parse_refusal("2x3", ",0:sum"), no_reduction(""));

  EXPECT_EQ(parse_refusal("2x3", "2:sum"),
            "mesh: there is no dimension 2; 2x3 has the dimensions 0 to 1");
  for (const char* who : {"", "-1", "a", "{0-1", "0-1}", "{0}{1}x", "1 "})
    EXPECT_EQ(parse_refusal("2x3", std::string(who) + ":sum"),
              "mesh: '" + std::string(who) + "' is no dimension; 2x3 has the dimensions 0 to 1");

  for (const char* op : {"", "add", "none", "SUM"}) {
    const std::string step = std::string("1:") + op;
    EXPECT_EQ(parse_refusal("2x3", "0:sum," + step),
              "mesh: '" + std::string(op) + "' in '" + step +
                  "' is no operator; allowed are sum, prod, min, max, avg");
  }
}

TEST(Mesh, GroupsThatAreNoneAreRefused) {
  const auto no_range = [](const std::string& range, const std::string& groups) {
    return "mesh: '" + range + "' in {" + groups + "} is no rank or range of ranks from 0 to 5";
  };
  const auto told = [](const std::string& groups) {
    return parse_refusal("2x3", "{" + groups + "}:sum");
  };
  EXPECT_EQ(told(""), no_range("", ""));
  EXPECT_EQ(told("0-6"), no_range("0-6", "0-6"));
  EXPECT_EQ(told("0|6"), no_range("6", "0|6"));
  EXPECT_EQ(told("3-1"), no_range("3-1", "3-1"));
  EXPECT_EQ(told("0||1"), no_range("", "0||1"));
  EXPECT_EQ(told("0,,1"), no_range("", "0,,1"));
  EXPECT_EQ(told("-1"), no_range("-1", "-1"));
  EXPECT_EQ(told("1-"), no_range("1-", "1-"));
  EXPECT_EQ(told("a"), no_range("a", "a"));
  EXPECT_EQ(told("0-1|1-2"), "mesh: rank 1 stands twice in {0-1|1-2}");
  EXPECT_EQ(told("0,0"), "mesh: rank 0 stands twice in {0,0}");
}

TEST(Mesh, ValuesThatAreNoneAreRefused) {
  const MeshReduction right{{2, 3}, {along(0, ReduceOp::sum), along(1, ReduceOp::sum)}};
  EXPECT_EQ(check_refusal(right), "");
  const auto told = [&](auto change) {
    MeshReduction wrong = right;
    change(wrong);
    return check_refusal(wrong);
  };
  EXPECT_EQ(told([](auto& mesh) { mesh.shape.clear(); }), "mesh: its shape has no dimension");
  EXPECT_EQ(told([](auto& mesh) { mesh.shape[1] = 0; }),
            "mesh: a dimension has 0 ranks; it has at least 1");
  EXPECT_EQ(told([](auto& mesh) { mesh.shape[1] = 1 << 20; }),
            "mesh: it has more than 1048576 ranks");
  EXPECT_EQ(told([](auto& mesh) { mesh.steps.clear(); }), "mesh: nothing is reduced");
  EXPECT_EQ(told([](auto& mesh) { mesh.steps[1].op = ReduceOp::none; }),
            "mesh: a step has the operator 'none'; allowed are sum, prod, min, max, avg");
  EXPECT_EQ(told([](auto& mesh) { mesh.steps[1].dimension = -1; }),
            "mesh: there is no dimension -1; 2x3 has the dimensions 0 to 1");
  EXPECT_EQ(told([](auto& mesh) { mesh.steps[1].dimension.reset(); }),
            "mesh: a step has either a dimension or groups");
  EXPECT_EQ(told([](auto& mesh) { mesh.steps[1].groups = {0, 1, 2, 3, 4, 5}; }),
            "mesh: a step has either a dimension or groups");
  const auto groups_told = [&](std::vector<int> groups) {
    return told([&](auto& mesh) { mesh.steps[1] = among(std::move(groups), ReduceOp::sum); });
  };
  EXPECT_EQ(groups_told({0, 0, 0, 1, 1, 1}), "");
  EXPECT_EQ(groups_told({0, 0, 0, 1, 1}), "mesh: a step has groups for 5 ranks, where 2x3 has 6");
  EXPECT_EQ(groups_told({0, 0, 0, 6, 1, 1}), "mesh: there is a group 6 among 6 ranks");
  EXPECT_EQ(groups_told({0, 0, 0, -1, 1, 1}), "mesh: there is a group -1 among 6 ranks");
  for (const auto& groups : {std::vector{1, 1, 1, 0, 0, 0}, std::vector{0, 0, 0, 2, 2, 2}})
    EXPECT_EQ(groups_told(groups),
              "mesh: groups are numbered from 0 on in the order of their first ranks");
}

TEST(Mesh, HasNoMoreDimensionsThanAnybodyUses) {
  MeshReduction mesh{.shape = std::vector<int>(most_mesh_dimensions, 1),
                     .steps = {along(0, ReduceOp::sum)}};
  EXPECT_NO_THROW(check(mesh));
  mesh.shape.push_back(1);
  try {
    check(mesh);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "mesh: its shape has 65 dimensions; at most 64 are allowed");
  }
}

TEST(Mesh, SaysHowMuchWorkItIsToMergeIt) {
  EXPECT_EQ(merging_work({.shape = {2, 3}, .steps = {along(0, ReduceOp::sum)}}), 6U);
  EXPECT_EQ(merging_work({.shape = {1024, 1024}, .steps = {4096, along(0, ReduceOp::sum)}}),
            std::uint64_t{1} << 32U);
  EXPECT_EQ(merging_work({.shape = {2, 2},
                          .steps = {along(0, ReduceOp::sum), among({0, 0, 1, 1}, ReduceOp::sum)}}),
            32U);
}

TEST(Mesh, NeighboursAreRanksOfTheLastDimension) {
  const MeshReduction mesh = parse_mesh("2x3x2", "0:sum,1:sum,2:sum");
  EXPECT_THAT(groups_of(mesh, mesh.steps[0]), ElementsAre(0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5));
  EXPECT_THAT(groups_of(mesh, mesh.steps[1]), ElementsAre(0, 1, 0, 1, 0, 1, 2, 3, 2, 3, 2, 3));
  EXPECT_THAT(groups_of(mesh, mesh.steps[2]), ElementsAre(0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5));
}

TEST(Mesh, ComponentsAreWhatTheStepsConnectInAll) {
  EXPECT_THAT(components_of(parse_mesh("2x2x2", "0:sum,2:max")),
              ElementsAre(0, 0, 1, 1, 0, 0, 1, 1));
  EXPECT_THAT(components_of(parse_mesh("6", "{4-5}:sum,{1,4}:sum,{0,2}:sum")),
              ElementsAre(0, 1, 0, 2, 1, 1));
  EXPECT_THAT(components_of(parse_mesh("3", "{0}:sum")), ElementsAre(0, 1, 2));
}

TEST(Mesh, HowOftenEachInputCounts) {
  EXPECT_THAT(membership_row(parse_mesh("2x2", "0:sum,1:sum"), 2), ElementsAre(1, 1, 1, 1));
  EXPECT_THAT(membership_row(parse_mesh("2x2", "0:sum,0:sum"), 2), ElementsAre(2, 0, 2, 0));
  // In the order of the steps: what rank 0 gives comes to rank 2 by way of 1, not the other way.
  const MeshReduction chain = parse_mesh("3", "{0-1}:sum,{1-2}:sum");
  EXPECT_THAT(membership_row(chain, 0), ElementsAre(1, 1, 0));
  EXPECT_THAT(membership_row(chain, 1), ElementsAre(1, 1, 1));
  EXPECT_THAT(membership_row(chain, 2), ElementsAre(1, 1, 1));
  // 3^41 is more than 64 bits hold.
  MeshReduction many = parse_mesh("3", "0:sum");
  many.steps.resize(42, many.steps.front());
  EXPECT_THAT(membership_row(many, 0), ElementsAre(UINT64_MAX, UINT64_MAX, UINT64_MAX));
}

Problem mesh_problem() {
  return {.kind = ProblemKind::mesh_reduce,
          .reduce_op = ReduceOp::none,
          .message_size = {1024},
          .mesh = parse_mesh("2x2", "0:sum,{0,3}:avg")};
}

// Written down with the version before there were mesh reductions: databases hold them.
TEST(Mesh, DigestsFromBeforeNeverChange) {
  EXPECT_EQ(digest_of_value(Problem{}), "3561ec53115e467cab7e83a4ae71527c");
  EXPECT_EQ(digest_of_value(Problem{.collective = Collective::reduce_scatter,
                                    .data_type = DataType::bf16,
                                    .reduce_op = ReduceOp::avg,
                                    .message_size = {4096},
                                    .in_place = true,
                                    .registered = true,
                                    .graph_capture = true,
                                    .numeric_class = NumericClass::same_bits}),
            "a66021addf6e8c004acb53406ab1e5f7");
  const Part bridge{.role = PartRole::bridge,
                    .kinds = {},
                    .variant = parse_variant("cpu.all_reduce_ring{chunk=64}")};
  const Part before{.role = PartRole::before,
                    .kinds = {"abc", "def"},
                    .variant = parse_variant("cpu.reduce_flat")};
  EXPECT_EQ(canonical_text(bridge),
            "{role=bridge;kinds=[];variant=29:cpu.all_reduce_ring{chunk=64};}");
  EXPECT_EQ(digest_of_value(bridge), "822ea331cb965ad2bcc134c809d25f55");
  EXPECT_EQ(digest_of_value(before), "f40e56ea02b0389abd888ec1bcd69927");
  EXPECT_EQ(parts_name({.mode = CompositionMode::grouped, .parts = {before, bridge}}),
            "pfb4a19293629f70e");
}

TEST(Mesh, TextOfAMeshReductionNeverChanges) {
  EXPECT_EQ(canonical_text(mesh_problem()),
            "{kind=mesh_reduce;collective=all_reduce;data_type=f32;reduce_op=none;"
            "message_size_bytes=1024;in_place=false;registered=false;graph_capture=false;"
            "numeric_class=any;mesh=+{shape=[2,2,];steps=[{op=sum;dimension=+0;groups=[];},"
            "{op=avg;dimension=-;groups=[0,1,2,0,];},];};}");
  const Part part{
      .role = PartRole::step, .kinds = {}, .variant = parse_variant("cpu.a"), .step = 0};
  EXPECT_EQ(canonical_text(part), "{role=step;kinds=[];variant=5:cpu.a;step=+0;}");
}

TEST(Mesh, UnlikeMeshesHaveUnlikeDigests) {
  std::set<std::string> digests;
  const std::vector<MeshReduction> meshes{
      parse_mesh("2x3", "0:sum"),       parse_mesh("3x2", "0:sum"),
      parse_mesh("6", "0:sum"),         parse_mesh("2x3", "1:sum"),
      parse_mesh("2x3", "0:max"),       parse_mesh("2x3", "0:sum,1:sum"),
      parse_mesh("2x3", "1:sum,0:sum"), parse_mesh("2x3", "{0-1}:sum")};
  for (const MeshReduction& mesh : meshes) {
    Problem problem = mesh_problem();
    problem.mesh = mesh;
    digests.insert(digest_of_value(problem));
  }
  EXPECT_EQ(digests.size(), meshes.size());
}

TEST(Mesh, AMeshReductionIsAProblemOfItsOwnKind) {
  const Problem right = mesh_problem();
  check(right);
  EXPECT_EQ(operation_name(right), "mesh_reduce");
  EXPECT_EQ(describe(right), "mesh_reduce 2x2 0:sum,{0,3}:avg f32 1KiB");
  EXPECT_TRUE(reduces(right));
  EXPECT_TRUE(averages(right));
  EXPECT_EQ(send_size(right, 4), Bytes{1024});
  EXPECT_EQ(receive_size(right, 4), Bytes{1024});
  const auto told = [&](auto change) {
    Problem wrong = right;
    change(wrong);
    return refusal([&] {
      check(wrong);
      return 0;
    });
  };
  EXPECT_THAT(told([](Problem& one) { one.mesh.reset(); }),
              HasSubstr("a mesh_reduce needs a mesh, and what is reduced over it"));
  EXPECT_THAT(told([](Problem& one) { one.kind = ProblemKind::collective; }),
              HasSubstr("a mesh belongs to a mesh_reduce alone"));
  EXPECT_THAT(told([](Problem& one) { one.reduce_op = ReduceOp::sum; }),
              HasSubstr("its operators stand in its mesh"));
  EXPECT_THAT(told([](Problem& one) { one.collective = Collective::all_gather; }),
              HasSubstr("a mesh_reduce has the collective all_reduce"));
  EXPECT_THAT(told([](Problem& one) { one.mesh->shape[0] = 3; }),
              HasSubstr("a step has groups for 4 ranks, where 3x2 has 6"));
}

Part part_of(PartRole role, std::optional<int> step = {}) {
  return {.role = role, .kinds = {}, .variant = parse_variant("cpu.a"), .step = step};
}

TEST(Mesh, CompositionsAreNamedByTheirModes) {
  const auto name = [](CompositionMode mode, std::vector<Part> parts) {
    Composition composition{mode, std::move(parts)};
    for (Part& part : composition.parts)
      part.variant = parse_variant("cpu." + std::string(name_of(part.role)));
    const Variant named = name_composition("mesh_reduce", composition);
    EXPECT_EQ(mode_named_by(named), mode);
    EXPECT_EQ(parts_named_by(named), parts_name(composition));
    EXPECT_FALSE(is_for_certain_members(named));
    const std::string text = to_string(named);
    return text.substr(0, text.find("parts=p"));
  };
  EXPECT_EQ(
      name(CompositionMode::sequential, {part_of(PartRole::step, 0), part_of(PartRole::step, 1)}),
      "sequential.mesh_reduce{first=cpu.step,last=cpu.step,");
  EXPECT_EQ(name(CompositionMode::merged, {part_of(PartRole::whole)}),
            "merged.mesh_reduce{all=cpu.whole,");
  EXPECT_EQ(
      name(CompositionMode::hierarchical,
           {part_of(PartRole::before, 0), part_of(PartRole::bridge), part_of(PartRole::after, 0)}),
      "hierarchical.mesh_reduce{bridge=cpu.bridge,inside=cpu.before,");
}

TEST(Mesh, CompositionsHaveThePartsOfTheirModes) {
  const auto told = [](CompositionMode mode, std::vector<Part> parts) {
    return refusal([&] { return name_composition("mesh_reduce", {mode, std::move(parts)}); });
  };
  const Part step = part_of(PartRole::step, 0);
  const Part whole = part_of(PartRole::whole);
  const Part before = part_of(PartRole::before, 0);
  const Part bridge = part_of(PartRole::bridge);
  const Part after = part_of(PartRole::after, 0);
  for (const auto& parts : {std::vector<Part>{}, {whole}, {step, whole}})
    EXPECT_EQ(told(CompositionMode::sequential, parts),
              "a sequential composition has a part for each step, and no others");
  for (const auto& parts : {std::vector<Part>{}, {step}, {whole, whole}})
    EXPECT_EQ(told(CompositionMode::merged, parts),
              "a merged composition has one part, a whole one");
  for (const auto& parts : {std::vector<Part>{},
                            {before, bridge},
                            {before, after, after},
                            {before, bridge, bridge},
                            {before, bridge, after, step}})
    EXPECT_EQ(told(CompositionMode::hierarchical, parts),
              "a hierarchical composition has one part before the bridge, the bridge, and one "
              "after it");
  Part of_kind = whole;
  of_kind.kinds = {"abc"};
  EXPECT_EQ(told(CompositionMode::merged, {of_kind}),
            "the parts of a merged composition are run by all ranks, not by kinds of them");
}

}  // namespace
}  // namespace colltune::test
