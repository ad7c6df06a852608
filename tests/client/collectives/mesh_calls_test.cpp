// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// Single mesh reductions of the public collectives, over threads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "colltune/collectives/collectives.h"
#include "on_threads.h"

namespace colltune {
namespace {

using test::failure_of;
using test::on_threads;
using test::sum_once;
using test::table_for;
using test::TableOnDisk;
using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::Contains;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

/// f32 on buffers of their own: all ranks' numbers, summed over all of them.
void expect_sum(Collectives& collectives, MeshReductionCall& call, std::size_t count, bool in_place,
                int turn) {
  std::vector<float> own(count, static_cast<float>(turn * (collectives.rank() + 1)));
  std::vector<float> other(in_place ? 0 : count);
  std::vector<float>& sum = in_place ? own : other;
  call.count = count;
  call.send = own.data();
  call.receive = sum.data();
  collectives.mesh_reduce(call);
  const int ranks = collectives.size();
  const auto expected = static_cast<float>(turn * ranks * (ranks + 1) / 2);
  EXPECT_EQ(std::ranges::find_if(sum, [&](float one) { return one != expected; }), sum.end())
      << count << " elements" << (in_place ? ", in place" : "");
}

TEST(MeshCalls, RunTheFormsOfTheTable) {
  const TableOnDisk table(table_for(4));
  EXPECT_THAT(
      on_threads(4, {.table = table.path()},
                 [](Collectives& collectives) {
                   MeshReductionCall call{.mesh = parse_mesh("2x2", "0:sum,1:sum")};
                   std::mt19937 random(7);
                   for (int turn = 1; turn <= 60; ++turn) {
                     const auto bytes = test::planted_mesh_sizes[random() % 4];
                     expect_sum(collectives, call, bytes / sizeof(float), random() % 2 == 0, turn);
                   }
                   const std::string report = collectives.report();
                   for (const char* const form : {"sequential", "merged", "hierarchical"})
                     EXPECT_THAT(report, HasSubstr(std::string("  ") + form + ".mesh_reduce{"));
                   EXPECT_THAT(report, Not(HasSubstr("left to the library: mesh_reduce")));
                   EXPECT_THAT(report, HasSubstr(" mesh reductions"));
                   // What the MPI library does, threads do without.
                   EXPECT_THAT(report, HasSubstr("mpi.all_gather is neither a kernel"));
                 }),
      Each(""));
}

TEST(MeshCalls, RunStepByStepWithoutAForm) {
  const TableOnDisk table(table_for(4));
  EXPECT_THAT(on_threads(4, {.table = table.path()},
                         [](Collectives& collectives) {
                           // Between sizes with unlike winners, beyond what was measured, another
                           // order of the steps.
                           MeshReductionCall known{.mesh = parse_mesh("2x2", "0:sum,1:sum")};
                           MeshReductionCall other{.mesh = parse_mesh("2x2", "1:sum,0:sum")};
                           for (int turn = 1; turn <= 6; ++turn) {
                             expect_sum(collectives, known, 128, turn % 2 == 0, turn);
                             expect_sum(collectives, other, 16, turn % 2 == 0, turn);
                             expect_sum(collectives, known, 300'000, false, turn);
                           }
                           EXPECT_THAT(collectives.report(), HasSubstr("18 mesh reductions"));
                         }),
              Each(""));
}

TEST(MeshCalls, TakeAnySizeTypeAndPlaceInTurn) {
  EXPECT_THAT(on_threads(4, {},
                         [](Collectives& collectives) {
                           // Rank 3 is alone in the first step; the second joins 2 and 3.
                           const MeshReduction mesh = parse_mesh("4", "{0-2|3}:max,{0|1|2-3}:sum");
                           std::mt19937 random(3);
                           for (int turn = 1; turn <= 40; ++turn) {
                             const bool in_place = random() % 2 == 0;
                             const std::size_t count = random() % 3000;
                             const int expected = turn * (collectives.rank() < 2 ? 3 : 7);
                             const auto reduce = [&](auto number, DataType type) {
                               using Number = decltype(number);
                               std::vector<Number> own(
                                   count, static_cast<Number>(turn * (collectives.rank() + 1)));
                               std::vector<Number> result(count);
                               auto& to = in_place ? own : result;
                               collectives.mesh_reduce({mesh, type, count, own.data(), to.data()});
                               EXPECT_THAT(to, Each(static_cast<Number>(expected)));
                             };
                             if (random() % 2 == 0)
                               reduce(std::int32_t{}, DataType::i32);
                             else
                               reduce(double{}, DataType::f64);
                           }
                         }),
              Each(""));
}

TEST(MeshCalls, KeepTheLatestMeshes) {
  EXPECT_THAT(
      on_threads(3, {},
                 [](Collectives& collectives) {
                   // More than are kept, each of them twice.
                   for (int turn = 1; turn <= 2; ++turn)
                     for (int dimension = 0; dimension < 40; ++dimension) {
                       std::string shape;
                       for (int i = 0; i < dimension; ++i) shape += "1x";
                       MeshReductionCall call{
                           .mesh = parse_mesh(shape + "3", std::to_string(dimension) + ":sum")};
                       expect_sum(collectives, call, 5, false, turn);
                     }
                 }),
      Each(""));
}

TEST(MeshCalls, OneRankCopies) {
  EXPECT_THAT(on_threads(1, {},
                         [](Collectives& collectives) {
                           MeshReductionCall call{.mesh = parse_mesh("1x1", "0:sum,1:avg")};
                           expect_sum(collectives, call, 3, false, 1);
                           expect_sum(collectives, call, 3, true, 2);
                         }),
              Each(""));
}

TEST(MeshCalls, GoOnAfterArgumentsThatAreNotValid) {
  EXPECT_THAT(
      on_threads(
          4, {},
          [](Collectives& collectives) {
            int own = 1;
            int all = 0;
            const auto told = [&](const MeshReductionCall& call) {
              return failure_of([&] { collectives.mesh_reduce(call); });
            };
            EXPECT_THAT(told({parse_mesh("2x3", "0:sum"), DataType::i32, 1, &own, &all}),
                        HasSubstr("a mesh 2x3 has 6 ranks; the communicator has 4"));
            EXPECT_THAT(told({}), StartsWith("3: "));
            EXPECT_THAT(told({parse_mesh("4", "0:sum"), static_cast<DataType>(77), 1, &own, &all}),
                        HasSubstr("77 is no data type"));
            // Other meshes, other sizes: all are told, and nobody is left behind.
            const char* const steps = collectives.rank() == 1 ? "1:sum,0:sum" : "0:sum,1:sum";
            EXPECT_THAT(told({parse_mesh("2x2", steps), DataType::i32, 1, &own, &all}),
                        AllOf(StartsWith("3: the ranks ask for different mesh reductions"),
                              HasSubstr(steps)));
            const std::array<int, 2> two{1, 1};
            std::array<int, 2> sums{};
            EXPECT_THAT(told({parse_mesh("4", "0:sum"), DataType::i32,
                              collectives.rank() == 2 ? 2U : 1U, two.data(), sums.data()}),
                        StartsWith("3: the ranks ask for different mesh reductions"));
            MeshReductionCall right{.mesh = parse_mesh("2x2", "0:sum,1:sum")};
            expect_sum(collectives, right, 10, false, 1);
            sum_once(collectives);
          }),
      Each(""));
}

TEST(MeshCalls, NameBothSidesOfCallsThatDiffer) {
  const auto failures = on_threads(2, {}, [](Collectives& collectives) {
    MeshReductionCall one{.mesh = parse_mesh("2", "0:sum")};
    MeshReductionCall other{.mesh = parse_mesh("2", "0:sum,0:max")};
    expect_sum(collectives, one, 4, false, 1);
    expect_sum(collectives, other, 4, false, 1);
    // Neither can end: each waits for what the other does not do.
    expect_sum(collectives, collectives.rank() == 0 ? one : other, 4, false, 2);
    sum_once(collectives);
  });
  EXPECT_THAT(failures, Each(AnyOf(StartsWith("9: "), StartsWith("10: "))));
  EXPECT_THAT(failures,
              Contains(AllOf(StartsWith("9: "), HasSubstr("as their call 3"),
                             HasSubstr("rank 0 mesh_reduce f32 of 16 bytes, over mesh 1"),
                             HasSubstr("rank 1 mesh_reduce f32 of 16 bytes, over mesh 2"))));
}

TEST(MeshCalls, NameAMeshBesideAPlainCall) {
  const auto failures = on_threads(2, {}, [](Collectives& collectives) {
    MeshReductionCall mesh{.mesh = parse_mesh("2", "0:sum")};
    expect_sum(collectives, mesh, 4, false, 1);
    sum_once(collectives);
    if (collectives.rank() == 0)
      expect_sum(collectives, mesh, 4, false, 1);
    else
      sum_once(collectives);
  });
  EXPECT_THAT(failures, Contains(AllOf(StartsWith("9: "),
                                       HasSubstr("mesh_reduce f32 of 16 bytes, over mesh 1"),
                                       HasSubstr("all_reduce f32 sum of 24 bytes"))));
}

}  // namespace
}  // namespace colltune
