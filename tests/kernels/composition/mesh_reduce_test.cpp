// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Reductions over a process mesh, on ranks that are threads: what they give.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <random>

#include "colltune/vocabulary/canonical.h"
#include "colltune/vocabulary/error.h"
#include "grouped_checks.h"
#include "mesh_checks.h"
#include "support/full_run.h"
#include "support/pretended_device.h"
#include "support/run_ranks.h"
#include "support/sanitizer.h"

namespace colltune::test {
namespace {

// Sanitizers take up to twenty times as long: fewer of what is alike to them.
const std::vector<int> world_sizes =
    has_sanitizer ? std::vector{2, 4, 6, 7} : std::vector{2, 4, 6, 7, 8};
const int random_meshes = is_full_run() ? 50 : has_sanitizer ? 8 : 20;
/// Meshes of each world that have all types with all operators; in the others types take turns.
const std::size_t meshes_of_all_types = is_full_run() ? 100 : has_sanitizer ? 0 : 1;
const std::vector<int> compared_sizes =
    has_sanitizer ? std::vector{4} : std::vector{4, 6, 7, 8};

class MeshOverThreads : public testing::TestWithParam<int> {};

TEST_P(MeshOverThreads, IsRight) {
  const Implementations catalogue = make_catalogue();
  ChosenVariants known;
  MeshRuns all;
  run_ranks(GetParam(), [&](Communicator& communicator) {
    const Capability capability = detect_capability(catalogue, communicator);
    Subgroups ranks(communicator);
    MeshRuns runs;
    std::size_t turn = 0;
    const std::vector<DataType> types{DataType::f32, DataType::bf16, DataType::i32};
    for (const MeshReduction& mesh : meshes_of(GetParam())) {
      runs += turn < meshes_of_all_types
                  ? run_operators(ranks, capability, catalogue, known, mesh, types, turn)
                  : run_operators_in_turn(ranks, capability, catalogue, known, mesh, types, turn);
      ++turn;
    }
    if (communicator.rank() == 0) all = runs;
  });
  EXPECT_GT(all.sequential, has_sanitizer ? 15 : 30);
  EXPECT_GT(all.merged, has_sanitizer ? 10 : 20);
  EXPECT_GT(all.refused, 5);
  // Seven ranks do not fall into groups that are equally large, and there is nothing across two.
  EXPECT_GT(all.hierarchical, GetParam() == 7 || GetParam() == 2 ? -1 : 10);
  EXPECT_GT(all.rounding, GetParam() < 4 ? -1 : has_sanitizer ? 1 : 5);
  EXPECT_GT(all.unlike, GetParam() < 4 ? -1 : has_sanitizer ? 5 : 10);
}

INSTANTIATE_TEST_SUITE_P(Worlds, MeshOverThreads, testing::ValuesIn(world_sizes),
                         testing::PrintToStringParamName());

TEST(MeshReduce, EveryTypeIsReduced) {
  const Implementations catalogue = make_catalogue();
  ChosenVariants known;
  std::vector<DataType> types;
  for (const auto& named : enum_names(DataType{})) types.push_back(named.value);
  run_ranks(4, [&](Communicator& communicator) {
    const Capability capability = detect_capability(catalogue, communicator);
    Subgroups ranks(communicator);
    const MeshReduction mesh = parse_mesh("2x2", "0:sum,1:sum");
    if (!has_sanitizer) {
      (void)run_operators(ranks, capability, catalogue, known, mesh, types, 0);
      return;
    }
    // Each type and each operator, not their pairs.
    (void)run_operators_in_turn(ranks, capability, catalogue, known, mesh, types, 0);
  });
}

TEST(MeshReduce, RandomMeshesAreRight) {
  const Implementations catalogue = make_catalogue();
  const std::vector<DataType> types{DataType::f32, DataType::bf16, DataType::i32,   DataType::f16,
                                    DataType::u8,  DataType::f64,  DataType::f8e4m3};
  MeshRuns all;
  for (const int size : {3, 4, 5, 6, 8}) {
    ChosenVariants known;
    run_ranks(size, [&](Communicator& communicator) {
      const Capability capability = detect_capability(catalogue, communicator);
      Subgroups ranks(communicator);
      std::mt19937 random(static_cast<unsigned>(size));
      MeshRuns runs;
      for (std::size_t turn = 0; turn < static_cast<std::size_t>(random_meshes); ++turn)
        runs += run_mesh(ranks, capability, catalogue, known, random_mesh(random, size),
                         types[turn % types.size()], turn);
      if (communicator.rank() == 0) all += runs;
    });
  }
  EXPECT_GT(all.sequential, 4 * random_meshes);
  EXPECT_GT(all.merged, random_meshes);
  EXPECT_GT(all.hierarchical, random_meshes / 2);
  EXPECT_GT(all.rounding, random_meshes / 5);
}

/// What each rank ends with: the bytes of one call.
std::vector<std::byte> result_of(Subgroups& ranks, const Problem& problem,
                                 const Composition& composition, const Implementations& catalogue) {
  const int rank = ranks.all().rank();
  std::vector<std::byte> send(problem.message_size.value);
  std::vector<std::byte> receive(send.size());
  fill_send({problem, ranks.all().size(), 0, DataPattern::exact, 3}, rank, send);
  const auto operation = prepare_mesh_reduce(ranks, {problem, 0, {send, receive}}, composition, {},
                                             catalogue, soon_enough());
  operation->start();
  operation->wait(soon_enough());
  return receive;
}

TEST(MeshReduce, AllFormsGiveTheSameBytesWhereNothingIsRounded) {
  const Implementations catalogue = make_catalogue();
  std::atomic<int> compared = 0;
  for (const int size : compared_sizes) {
    ChosenVariants known;
    run_ranks(size, [&](Communicator& communicator) {
      const Capability capability = detect_capability(catalogue, communicator);
      Subgroups ranks(communicator);
      std::size_t turn = 0;
      for (const MeshReduction& shape : meshes_of(size))
        for (const DataType type : {DataType::i32, DataType::bf16})
          for (const ReduceOp op : {ReduceOp::sum, ReduceOp::prod, ReduceOp::max, ReduceOp::min}) {
            const MeshReduction mesh = with_operators(shape, {op});
            const Problem problem = mesh_problem(mesh, type, 101);
            std::vector<std::byte> first;
            for (const auto mode : {CompositionMode::sequential, CompositionMode::merged,
                                    CompositionMode::hierarchical}) {
              const Composition outline = outline_of(mesh, mode, 0);
              if (!why_not_mesh(problem, outline).empty()) continue;
              const auto result =
                  result_of(ranks, problem,
                            choose_composition(problem, outline, communicator, capability,
                                               catalogue, known, turn++),
                            catalogue);
              if (first.empty()) {
                first = result;
              } else {
                EXPECT_TRUE(first == result) << describe(problem) << name_of(mode);
                ++compared;
              }
            }
          }
    });
  }
  EXPECT_GT(compared, 75 * std::ssize(compared_sizes));
}

struct Wrong {
  std::string_view asked;
  std::string_view done;
};

TEST(MeshReduce, WhatIsNotAskedForIsFoundOut) {
  const Implementations catalogue = make_catalogue();
  ChosenVariants known;
  const std::vector<Wrong> wrong{{"0:OP,1:OP", "0:OP"},  // a step is left out
                                 {"0:OP,1:OP", "1:OP"},  //
                                 {"0:OP", "1:OP"},       // along the wrong dimension
                                 {"0:OP", "0:OP,1:OP"},  // ranks of two components are mixed
                                 {"{0,3|1-2|4-5}:OP", "{0-1|2,4|3,5}:OP"},  // among the wrong ranks
                                 {"0:avg,1:avg", "0:sum,1:avg"},            // divided by too little
                                 {"0:avg,1:avg", "0:sum,1:sum"},            // by nothing
                                 {"0:sum,1:avg", "0:avg,1:avg"},            // by too much
                                 {"0:sum,1:avg", "0:avg,1:sum"},   // by the other one's ranks
                                 {"0:sum,1:sum", "0:sum,1:max"}};  // with the wrong operator
  run_ranks(6, [&](Communicator& communicator) {
    const Capability capability = detect_capability(catalogue, communicator);
    Subgroups ranks(communicator);
    const auto expect_fault = [&](const std::string& asked, const std::string& done,
                                  DataType type) {
      const MeshReduction mesh = parse_mesh("2x3", asked);
      const MeshReduction instead = parse_mesh("2x3", done);
      const ConformanceCase test{.problem = mesh_problem(mesh, type, 37)};
      const Problem own = mesh_problem(instead, type, 37);
      const Composition composition =
          choose_composition(own, outline_of(instead, CompositionMode::sequential, 0), communicator,
                             capability, catalogue, known, 0);
      ByMesh implementation(ranks, composition, catalogue);
      implementation.do_instead(instead);
      const std::string fault = find_fault(communicator, implementation,
                                           name_composition("mesh_reduce", composition), test);
      EXPECT_THAT(fault, testing::HasSubstr("element"))
          << describe(test.problem) << " by " << done << ", rank " << communicator.rank();
    };
    for (const DataType type : {DataType::f32, DataType::bf16, DataType::i32})
      for (const Wrong& one : wrong)
        for (const std::string op : {"sum", "prod", "max", "min", "avg"}) {
          const auto with = [&](std::string_view text) {
            std::string out(text);
            for (auto at = out.find("OP"); at != std::string::npos; at = out.find("OP"))
              out.replace(at, 2, op);
            return out;
          };
          const bool has_op = one.asked.find("OP") != std::string_view::npos;
          if (has_op || op == "sum") expect_fault(with(one.asked), with(one.done), type);
        }
  });
}

/// What takes buffers on devices.
Implementations device_catalogue() {
  Implementations all = make_catalogue();
  std::erase_if(all, [](const auto& one) { return !one->runs_on_device(); });
  return all;
}

TEST(MeshReduce, OnDevicesPaddedAndDividedThere) {
  const Implementations catalogue = device_catalogue();
  ChosenVariants known;
  PretendedDevice device;
  const std::vector<Device*> devices(4, &device);
  MeshRuns all;
  run_ranks(
      4,
      [&](Communicator& communicator) {
        const Capability capability = detect_capability(catalogue, communicator);
        {
          Subgroups ranks(communicator);
          for (const std::string steps : {"0:sum,1:sum", "0:sum,1:avg"})
            for (const DataType type : {DataType::f32, DataType::bf16})
              for (const auto mode : {CompositionMode::sequential, CompositionMode::merged,
                                      CompositionMode::hierarchical})
                for (const std::size_t elements : {33UL, 64UL}) {
                  const MeshReduction mesh = parse_mesh("2x2", steps);
                  for (const bool in_place : {false, true}) {
                    ConformanceCase test{.problem = mesh_problem(mesh, type, elements), .calls = 2};
                    test.problem.in_place = in_place;
                    const Composition composition =
                        choose_composition(test.problem, outline_of(mesh, mode, 0), communicator,
                                           capability, catalogue, known, 0);
                    EXPECT_EQ(find_fault(communicator, ByMesh(ranks, composition, catalogue),
                                         name_composition("mesh_reduce", composition), test),
                              "")
                        << describe(test.problem) << " " << name_of(mode);
                  }
                }
        }
        communicator.barrier(soon_enough());
      },
      {}, devices);
  EXPECT_EQ(device.count_allocations(), 0U);
}

/// Ranks of two kinds, in turn.
Members unlike_members(int ranks) {
  Members members{.kinds = {{"x86_64-avx2", {"a"}}, {"x86_64-avx2", {"b"}}}, .kind_of_rank = {}};
  for (int rank = 0; rank < ranks; ++rank) members.kind_of_rank.push_back(rank % 2);
  return members;
}

/// Two variants of one protocol that all can run; the same one twice where there are none.
std::pair<Variant, Variant> alike_in_protocol(const Problem& problem, const Topology& topology,
                                              const Capability& capability,
                                              const Implementations& catalogue) {
  std::map<std::string, Variant> by_protocol;
  for (const auto& one : catalogue) {
    if (one->collective() != problem.collective || one->runs_on_device()) continue;
    for (const Variant& variant : one->variants(problem, topology, capability)) {
      if (!one->supports(problem, topology, capability, variant)) continue;
      const auto [known, is_new] =
          by_protocol.try_emplace(one->protocol(problem, variant), variant);
      if (!is_new) return {known->second, variant};
    }
  }
  return {by_protocol.begin()->second, by_protocol.begin()->second};
}

TEST(MeshReduce, RanksThatAreUnlikeDoTheMergedOne) {
  const Implementations catalogue = make_catalogue();
  run_ranks(4, [&](Communicator& communicator) {
    const Capability capability = detect_capability(catalogue, communicator);
    const Members members = unlike_members(4);
    Subgroups ranks(communicator);
    for (const std::string steps : {"0:sum,1:sum", "0:avg,1:avg", "0:sum,1:avg", "0:max,1:max"})
      for (const DataType type : {DataType::f32, DataType::bf16})
        for (const bool in_place : {false, true}) {
          ConformanceCase test{.problem = mesh_problem(parse_mesh("2x2", steps), type, 21)};
          test.problem.in_place = in_place;
          int divisor = 0;
          const auto merged = merged_problem(test.problem, divisor);
          ASSERT_TRUE(merged.has_value());
          EXPECT_EQ(divisor, steps == "0:sum,1:avg" ? 2 : 1);
          const auto of_kind = [&](int kind, PartRole role, const Variant& variant) {
            return Part{.role = role,
                        .kinds = {digest_of_value(members.kinds[static_cast<std::size_t>(kind)])},
                        .variant = variant,
                        .step = {}};
          };
          const auto [one, other] = alike_in_protocol(
              *merged, topology_of(communicator, capability), capability, catalogue);
          const Composition substituted{
              .mode = CompositionMode::substituted,
              .parts = {of_kind(0, PartRole::whole, one), of_kind(1, PartRole::whole, other)}};
          Composition grouped{.mode = CompositionMode::grouped, .parts = {}};
          const Grouping grouping = crossed_grouping(*merged);
          for (const int kind : {0, 1}) {
            grouped.parts.push_back(of_kind(kind, PartRole::before, *grouping.inside[0].before));
            grouped.parts.push_back(of_kind(kind, PartRole::after, *grouping.inside[0].after));
          }
          grouped.parts.push_back(
              {.role = PartRole::bridge, .kinds = {}, .variant = grouping.bridge, .step = {}});
          for (const Composition& composition : {substituted, grouped}) {
            EXPECT_EQ(why_not_mesh(test.problem, composition), "");
            EXPECT_EQ(find_fault(communicator, ByMesh(ranks, composition, catalogue, members),
                                 name_composition("mesh_reduce", composition), test),
                      "")
                << describe(test.problem) << " " << name_of(composition.mode);
          }
        }
  });
}

}  // namespace
}  // namespace colltune::test
