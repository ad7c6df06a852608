// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The public collectives, over threads.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <thread>

#include "checked_calls.h"
#include "collectives_in_c.h"
#include "colltune/collectives/collectives.h"
#include "on_threads.h"

namespace colltune {
namespace {

using test::all_calls;
using test::failure_of;
using test::of_unequal_counts;
using test::on_threads;
using test::sum_once;
using test::table_for;
using test::TableOnDisk;
using test::WantedCall;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class OverThreads : public ::testing::TestWithParam<int> {};
class WinnersOverThreads : public ::testing::TestWithParam<int> {};

TEST_P(OverThreads, PlainCallsGiveTheReferencesResults) {
  const std::vector<WantedCall> asked = all_calls(GetParam(), GetParam() <= 4);
  EXPECT_THAT(
      on_threads(GetParam(), {},
                 [&](Collectives& collectives) {
                   EXPECT_EQ(collectives.size(), GetParam());
                   expect_all(collectives, asked);
                   EXPECT_EQ(
                       expect_all_persistent(collectives, std::span(asked).first(asked.size() / 8)),
                       0);
                   EXPECT_EQ(expect_all_persistent(collectives, of_unequal_counts(asked)), 0);
                 }),
      Each(""));
}

TEST_P(WinnersOverThreads, GiveTheReferencesResults) {
  const TableOnDisk table(table_for(GetParam()));
  const std::vector<WantedCall> asked = all_calls(GetParam(), GetParam() <= 4);
  EXPECT_THAT(on_threads(GetParam(), {.table = table.path(), .numerics = ProgramNumerics::any},
                         [&](Collectives& collectives) {
                           expect_all(collectives, asked);
                           EXPECT_THAT(collectives.report(),
                                       AllOf(HasSubstr("generation 1, table "), HasSubstr("cpu.")));
                         }),
              Each(""));
}

TEST_P(WinnersOverThreads, GiveTheReferencesResultsInPersistentCalls) {
  const int ranks = GetParam();
  const TableOnDisk table(table_for(ranks));
  std::vector<WantedCall> asked;
  for (const WantedCall& one : all_calls(ranks, ranks <= 2))
    if (one.call.data_type == DataType::f32) asked.push_back(one);
  EXPECT_THAT(on_threads(ranks, {.table = table.path(), .numerics = ProgramNumerics::any},
                         [&](Collectives& collectives) {
                           EXPECT_GT(expect_all_persistent(collectives, asked),
                                     static_cast<int>(asked.size()) / 4);
                           // The same in memory that all ranks map: by variants for such memory.
                           std::vector<SymmetricBuffer> memory;
                           EXPECT_GT(expect_all_persistent(collectives, std::span(asked).first(8),
                                                           [&](std::size_t bytes) {
                                                             if (bytes == 0)
                                                               return std::span<std::byte>();
                                                             memory.push_back(
                                                                 collectives.allocate({bytes}));
                                                             return memory.back().bytes();
                                                           }),
                                     0);
                         }),
              Each(""));
}

INSTANTIATE_TEST_SUITE_P(Ranks, OverThreads, ::testing::Values(1, 2, 4, 8));
INSTANTIATE_TEST_SUITE_P(Ranks, WinnersOverThreads, ::testing::Values(2, 4, 8));

TEST(Collectives, RunsDirectAccessOnSymmetricMemoryAlone) {
  const TableOnDisk table(table_for(2));
  EXPECT_THAT(on_threads(2, {.table = table.path()},
                         [](Collectives& collectives) {
                           int direct = 0;
                           for (std::size_t block = 12; block <= 49152; block *= 4) {
                             const SymmetricBuffer both = collectives.allocate({3 * block});
                             std::vector<std::byte> outside(2 * block);
                             CollectiveCall call{.collective = Collective::all_gather,
                                                 .count = block,
                                                 .send = both.bytes().data(),
                                                 .receive = both.bytes().subspan(block).data()};
                             const std::string variant = collectives.prepare(call).variant();
                             EXPECT_THAT(variant, StartsWith("cpu.all_gather_"));
                             if (variant.find("access=direct") != std::string::npos) ++direct;
                             // A buffer of one rank lies elsewhere: all ranks take the other way.
                             if (collectives.rank() == 1) call.receive = outside.data();
                             EXPECT_THAT(collectives.prepare(call).variant(),
                                         AllOf(StartsWith("cpu.all_gather_"),
                                               ::testing::Not(HasSubstr("access=direct"))));
                           }
                           EXPECT_GT(direct, 0);
                         }),
              Each(""));
}

TEST(Collectives, KeepsSeveralPersistentCallsUnderWay) {
  const TableOnDisk table(table_for(2));
  for (const CollectivesOptions& options :
       {CollectivesOptions{}, CollectivesOptions{.table = table.path()}})
    EXPECT_THAT(on_threads(2, options,
                           [&](Collectives& collectives) {
                             std::array<int, 2> one{};
                             std::array<int, 2> other{};
                             PersistentCall first =
                                 collectives.prepare({Collective::all_reduce, DataType::i32,
                                                      ReduceOp::sum, 0, 2, one.data(), one.data()});
                             PersistentCall second =
                                 collectives.prepare({Collective::broadcast, DataType::i32,
                                                      ReduceOp::none, 1, 2, nullptr, other.data()});
                             for (int turn = 1; turn <= 20; ++turn) {
                               one = {turn, collectives.rank()};
                               other = {collectives.rank() * turn, 0};
                               first.start();
                               second.start();
                               first.wait();
                               second.wait();
                               EXPECT_EQ(one, (std::array{2 * turn, 1}));
                               EXPECT_EQ(other, (std::array{turn, 0}));
                             }
                             EXPECT_THAT(failure_of([&] { first.wait(); }),
                                         AllOf(StartsWith("9: "), HasSubstr("was not started")));
                             first.start();
                             EXPECT_THAT(failure_of([&] { first.start(); }),
                                         AllOf(StartsWith("9: "), HasSubstr("wait for it first")));
                             first.wait();
                           }),
                Each(""));
}

TEST(Collectives, KeepsACallAndMemoryLongerThanItself) {
  RankThreads group(2);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < 2; ++rank)
    threads.emplace_back([&, rank] {
      std::optional<Collectives> collectives(std::in_place, group, rank);
      SymmetricBuffer memory = collectives->allocate({sizeof(int)});
      int* const own = reinterpret_cast<int*>(memory.bytes().data());
      PersistentCall call = collectives->prepare(
          {Collective::all_reduce, DataType::i32, ReduceOp::sum, 0, 1, own, own});
      collectives.reset();
      *own = rank + 1;
      call.start();
      call.wait();
      EXPECT_EQ(*own, 3);
    });
}

TEST(Collectives, MapsSymmetricMemoryOfAllRanks) {
  EXPECT_THAT(on_threads(3, {},
                         [](Collectives& collectives) {
                           const SymmetricBuffer memory = collectives.allocate({100});
                           ASSERT_EQ(memory.bytes().size(), 100U);
                           EXPECT_EQ(memory.bytes()[99], std::byte{0});
                           memory.bytes()[99] = std::byte(collectives.rank() + 1);
                           sum_once(collectives);
                           for (int rank = 0; rank < 3; ++rank)
                             EXPECT_EQ(memory.part(rank)[99], std::byte(rank + 1));
                           EXPECT_THAT(failure_of([&] { (void)memory.part(3); }),
                                       HasSubstr("the part of rank 3; allowed are 0 to 2"));
                           EXPECT_THAT(failure_of([&] { (void)collectives.allocate({}); }),
                                       HasSubstr("at least 1 byte"));
                           EXPECT_THAT(failure_of([&] {
                                         (void)collectives.allocate(
                                             {static_cast<std::uint64_t>(8 + collectives.rank())});
                                       }),
                                       AllOf(StartsWith("3: "), HasSubstr("unlike amounts")));
                           sum_once(collectives);
                         }),
              Each(""));
}

TEST(Collectives, RunsInC) {
  for (const int ranks : {1, 2, 4}) {
    colltune_rank_threads* group = nullptr;
    ASSERT_EQ(colltune_rank_threads_create(ranks, nullptr, &group, nullptr), 0);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < ranks; ++rank)
      threads.emplace_back([&, rank] {
        colltune_error error{.struct_size = sizeof error, .code = 0, .message = {}};
        colltune_collectives* collectives = nullptr;
        ASSERT_EQ(colltune_collectives_of_threads(group, rank, &collectives, &error), 0)
            << error.message;
        EXPECT_STREQ(misuse_collectives_in_c(collectives), nullptr);
        EXPECT_STREQ(use_collectives_in_c(collectives), nullptr);
        colltune_collectives_free(collectives);
      });
    threads.clear();
    colltune_rank_threads_free(group);
  }
}

TEST(Collectives, RefusesOptionsInC) {
  colltune_rank_threads* group = nullptr;
  colltune_error error{.struct_size = sizeof error, .code = 0, .message = {}};
  colltune_collectives_options options{};
  EXPECT_EQ(colltune_rank_threads_create(2, &options, &group, &error), 3);
  EXPECT_THAT(error.message, HasSubstr("set it to sizeof(colltune_collectives_options)"));
  options.struct_size = sizeof options;
  options.numerics = "mine";
  EXPECT_EQ(colltune_rank_threads_create(2, &options, &group, &error), 3);
  EXPECT_THAT(error.message, HasSubstr("library, any, same_bits, rank_order"));
  EXPECT_EQ(group, nullptr);
  options.numerics = "any";
  EXPECT_EQ(colltune_rank_threads_create(2, &options, nullptr, &error), 3);
  EXPECT_EQ(colltune_rank_threads_create(0, &options, &group, &error), 3);
  EXPECT_THAT(error.message, HasSubstr("a group of 0 threads"));
  struct {
    colltune_collectives_options known;
    int unknown;
  } newer{{}, 1};
  newer.known.struct_size = sizeof newer;
  EXPECT_EQ(colltune_rank_threads_create(2, &newer.known, &group, &error), 3);
  EXPECT_THAT(error.message, HasSubstr("update it"));
}

TEST(RankThreads, GivesEachRankOnce) {
  RankThreads group(1);
  EXPECT_THAT(failure_of([&] { Collectives collectives(group, 1); }),
              HasSubstr("rank 1 of a group of 1 threads; allowed are 0 to 0"));
  const Collectives collectives(group, 0);
  EXPECT_THAT(failure_of([&] { Collectives again(group, 0); }),
              HasSubstr("rank 0 of this group of threads has its collectives already"));
}

TEST(RankThreads, NamesASettingOfTheEnvironmentThatIsNone) {
  ::setenv("COLLTUNE_MEMORY", "much", 1);
  EXPECT_EQ(failure_of([] { const RankThreads group(2); }),
            "3: COLLTUNE_MEMORY=much must be a size, for example 256MiB");
  ::unsetenv("COLLTUNE_MEMORY");
}

TEST(Collectives, TakesTheTableOfTheEnvironment) {
  const TableOnDisk table(table_for(2));
  ::setenv("COLLTUNE_TABLE", table.path().c_str(), 1);
  EXPECT_THAT(on_threads(2, {},
                         [](Collectives& collectives) {
                           sum_once(collectives);
                           EXPECT_THAT(collectives.report(), HasSubstr("1 calls on"));
                         }),
              Each(""));
  // An option goes before it.
  EXPECT_THAT(on_threads(2, {.table = ""}, sum_once), Each(""));
  ::unsetenv("COLLTUNE_TABLE");
}

TEST(Collectives, PrintsTheReportOfRank0IfAsked) {
  ::setenv("COLLTUNE_REPORT", "1", 1);
  testing::internal::CaptureStderr();
  EXPECT_THAT(on_threads(2, {}, sum_once), Each(""));
  const std::string printed = testing::internal::GetCapturedStderr();
  ::unsetenv("COLLTUNE_REPORT");
  EXPECT_THAT(printed, AllOf(StartsWith("colltune: report of rank 0: 0 calls"),
                             HasSubstr("1 calls left to the library: all_reduce")));
  EXPECT_THAT(printed, ::testing::Not(HasSubstr("rank 1")));
}

TEST(Collectives, ReportsTheTimesOfItsCalls) {
  EXPECT_THAT(on_threads(2, {},
                         [](Collectives& collectives) {
                           for (int i = 0; i < 5; ++i) sum_once(collectives);
                           EXPECT_THAT(collectives.report(), HasSubstr("Estimated from 5 calls"));
                           const std::array<float, 3> own{1, 1, 1};
                           std::array<float, 6> all{};
                           PersistentCall call =
                               collectives.prepare({.collective = Collective::all_gather,
                                                    .count = own.size(),
                                                    .send = own.data(),
                                                    .receive = all.data()});
                           for (int i = 0; i < 6; ++i) {
                             call.start();
                             call.wait();
                           }
                           EXPECT_THAT(collectives.report(),
                                       AllOf(HasSubstr("Estimated from 11 calls"),
                                             HasSubstr("6 persistent calls, "),
                                             HasSubstr("each  left to the library: all_gather")));
                         }),
              Each(""));
}

TEST(Collectives, FailsOnAllRanksWithoutTheTable) {
  EXPECT_THAT(on_threads(3, {.table = "/nowhere/cluster.ctt"}, sum_once),
              Each(AllOf(StartsWith("9: "), HasSubstr("/nowhere/cluster.ctt"))));
  std::string content = table_for(2);
  const TableOnDisk table(content);
  EXPECT_THAT(on_threads(2, {.table = table.path(), .table_digest = "00ff"}, sum_once),
              Each(AllOf(StartsWith("9: "), HasSubstr("has the digest "), HasSubstr("00ff"))));
  content[content.size() / 2] ^= 1;
  const TableOnDisk damaged(content);
  EXPECT_THAT(on_threads(2, {.table = damaged.path()}, sum_once), Each(StartsWith("15: ")));
  const TableOnDisk no_table("nothing of the kind");
  EXPECT_THAT(on_threads(2, {.table = no_table.path()}, sum_once), Each(StartsWith("9: ")));
}

TEST(Collectives, SaysThatATableHasNothingForItsRanks) {
  const TableOnDisk table(table_for(2));
  EXPECT_THAT(on_threads(3, {.table = table.path()},
                         [](Collectives& collectives) {
                           sum_once(collectives);
                           EXPECT_THAT(
                               collectives.report(),
                               HasSubstr("not used: everything: the table has nothing for"));
                         }),
              Each(""));
}

TEST(Collectives, LeavesOrdersOfAddingAsAsked) {
  const TableOnDisk table(table_for(4));
  EXPECT_THAT(on_threads(4, {.table = table.path(), .numerics = ProgramNumerics::library},
                         [](Collectives& collectives) {
                           sum_once(collectives);
                           EXPECT_THAT(collectives.report(),
                                       HasSubstr("COLLTUNE_NUMERICS=library"));
                         }),
              Each(""));
}

TEST(Collectives, KeepsToTheLimitOfMemoryAndGoesOn) {
  const TableOnDisk table(table_for(2));
  EXPECT_THAT(
      on_threads(2, {.table = table.path(), .memory = Bytes{16384}},
                 [](Collectives& collectives) {
                   // Neither staging winners nor the plain kernel fit; on all ranks.
                   int refused = 0;
                   for (std::size_t block = 12; block <= 786432; block *= 4) {
                     const std::vector<std::byte> send(block);
                     std::vector<std::byte> receive(2 * block);
                     const std::string failure = failure_of([&] {
                       collectives.all_gather(send.data(), receive.data(), block, DataType::u8);
                     });
                     if (failure.empty()) continue;
                     ++refused;
                     EXPECT_THAT(failure, AllOf(StartsWith("8: "), HasSubstr("limit of 32KiB")));
                   }
                   EXPECT_GT(refused, 0);
                   EXPECT_THAT(collectives.report(), HasSubstr("not run on 1 communicator(s)"));
                   EXPECT_THAT(failure_of([&] { (void)collectives.allocate({1 << 20}); }),
                               AllOf(StartsWith("8: "), HasSubstr("limit of 32KiB")));
                   const SymmetricBuffer small = collectives.allocate({1024});
                 }),
      Each(""));
}

/// f32 of `bytes`, the sum of all ranks' numbers, by a persistent reduction over `mesh`.
std::string sum_over(Collectives& collectives, const MeshReduction& mesh, std::size_t bytes,
                     bool in_place) {
  std::vector<float> own(bytes / sizeof(float));
  std::vector<float> other(own.size());
  std::vector<float>& sum = in_place ? own : other;
  PersistentCall call = collectives.prepare(MeshReductionCall{.mesh = mesh,
                                                              .data_type = DataType::f32,
                                                              .count = own.size(),
                                                              .send = own.data(),
                                                              .receive = sum.data()});
  for (int turn = 1; turn <= 3; ++turn) {
    std::ranges::fill(own, static_cast<float>(turn * (collectives.rank() + 1)));
    call.start();
    call.wait();
    const int ranks = collectives.size();
    EXPECT_THAT(sum, Each(static_cast<float>(turn * ranks * (ranks + 1) / 2)));
  }
  return call.variant();
}

TEST(Collectives, ReducesOverAMesh) {
  const TableOnDisk table(table_for(4));
  EXPECT_THAT(
      on_threads(
          4, {.table = table.path()},
          [](Collectives& collectives) {
            const MeshReduction both = parse_mesh("2x2", "0:sum,1:sum");
            const std::array forms{"sequential", "merged", "hierarchical", "sequential"};
            for (std::size_t i = 0; i < forms.size(); ++i)
              for (const bool in_place : {false, true})
                EXPECT_THAT(sum_over(collectives, both, test::planted_mesh_sizes[i], in_place),
                            StartsWith(std::string(forms[i]) + ".mesh_reduce{"));
            // Between sizes with unlike winners, beyond what was measured, another mesh.
            EXPECT_EQ(sum_over(collectives, both, 512, false), "");
            EXPECT_EQ(sum_over(collectives, both, 1 << 20, true), "");
            EXPECT_EQ(sum_over(collectives, parse_mesh("2x2", "1:sum,0:sum"), 64, false), "");
            EXPECT_EQ(sum_over(collectives, parse_mesh("4", "0:sum"), 64, false), "");
          }),
      Each(""));
}

TEST(Collectives, ReducesOverGroupsOfAMeshByPlainSteps) {
  EXPECT_THAT(
      on_threads(4, {},
                 [](Collectives& collectives) {
                   // Rank 3 is alone in the first step; the second joins 2 and 3.
                   const MeshReduction mesh = parse_mesh("4", "{0-2|3}:max,{0|1|2-3}:sum");
                   for (const bool in_place : {false, true}) {
                     int own = 0;
                     int other = 0;
                     int& to = in_place ? own : other;
                     PersistentCall call =
                         collectives.prepare(MeshReductionCall{mesh, DataType::i32, 1, &own, &to});
                     for (int turn = 1; turn <= 2; ++turn) {
                       own = turn * (collectives.rank() + 1);
                       call.start();
                       call.wait();
                       EXPECT_EQ(to, turn * (collectives.rank() < 2 ? 3 : 7));
                     }
                   }
                   EXPECT_THAT(failure_of([&] {
                                 (void)collectives.prepare(
                                     MeshReductionCall{.mesh = parse_mesh("2x3", "0:sum")});
                               }),
                               HasSubstr("a mesh 2x3 has 6 ranks; the communicator has 4"));
                   EXPECT_THAT(failure_of([&] { (void)collectives.prepare(MeshReductionCall{}); }),
                               StartsWith("3: "));
                   EXPECT_THAT(
                       failure_of([&] {
                         (void)collectives.prepare(MeshReductionCall{.mesh = mesh, .count = 1});
                       }),
                       StartsWith("3: "));
                   sum_once(collectives);
                 }),
      Each(""));
}

TEST(Collectives, GoesOnAfterAnArgumentThatNoRankCouldGive) {
  EXPECT_THAT(
      on_threads(2, {},
                 [](Collectives& collectives) {
                   int one = 1;
                   EXPECT_THAT(failure_of([&] {
                                 collectives.all_reduce(&one, &one, 1, static_cast<DataType>(12),
                                                        ReduceOp::sum);
                               }),
                               AllOf(StartsWith("3: "), HasSubstr("12 is no data type")));
                   EXPECT_THAT(failure_of([&] {
                                 collectives.run({.collective = Collective::broadcast,
                                                  .reduce_op = ReduceOp::sum,
                                                  .count = 1,
                                                  .receive = &one});
                               }),
                               HasSubstr("broadcast with the operator sum: it takes none"));
                   EXPECT_THAT(
                       failure_of([&] { collectives.broadcast(&one, 1, DataType::i32, 2); }),
                       HasSubstr("the root is rank 2; allowed are 0 to 1"));
                   sum_once(collectives);
                 }),
      Each(""));
}

TEST(Collectives, EndsOnAllRanksIfOneGivesNoBuffer) {
  for (const bool overlaps : {false, true}) {
    const auto failures = on_threads(3, {}, [&](Collectives& collectives) {
      sum_once(collectives);
      std::array<std::byte, 24> buffer{};
      std::byte* send = buffer.data() + 16;
      if (collectives.rank() == 1) send = overlaps ? buffer.data() + 2 : nullptr;
      const auto gather = [&] { collectives.all_gather(send, buffer.data(), 4, DataType::u8); };
      const auto expected =
          collectives.rank() != 1 ? AllOf(StartsWith("10: "), HasSubstr("of rank"))
          : overlaps              ? AllOf(StartsWith("3: "), HasSubstr("not as in place"))
                                  : AllOf(StartsWith("3: "), HasSubstr("rank 1 needs a buffer"));
      EXPECT_THAT(failure_of(gather), expected);
      EXPECT_THAT(failure_of(gather), AllOf(StartsWith("9: "), HasSubstr("has failed before: ")));
    });
    EXPECT_THAT(failures, Each(""));
  }
}

TEST(Collectives, PreparesNothingIfARankGivesNoBuffer) {
  EXPECT_THAT(
      on_threads(
          2, {},
          [](Collectives& collectives) {
            int one = 1;
            int all = 0;
            EXPECT_THAT(
                failure_of([&] {
                  (void)collectives.prepare({Collective::all_reduce, DataType::i32, ReduceOp::sum,
                                             0, 1, &one, collectives.rank() == 0 ? &all : nullptr});
                }),
                AllOf(StartsWith("3: "),
                      HasSubstr(collectives.rank() == 0 ? "another rank's buffers are not valid"
                                                        : "needs a buffer to receive 4 bytes")));
            sum_once(collectives);
          }),
      Each(""));
}

TEST(Collectives, NamesBothSidesOfCallsThatDiffer) {
  const auto failures = on_threads(2, {}, [](Collectives& collectives) {
    int one = 0;
    sum_once(collectives);
    collectives.broadcast(&one, 1, DataType::i32, 1);
    // Neither can end: each waits for what the other does not do.
    if (collectives.rank() == 0)
      collectives.broadcast(&one, 1, DataType::i32, 1);
    else
      sum_once(collectives);
  });
  EXPECT_THAT(failures,
              ::testing::Contains(AllOf(StartsWith("9: "), HasSubstr("as their call 3"),
                                        HasSubstr("rank 0 broadcast of 4 bytes, root 1"),
                                        HasSubstr("rank 1 all_reduce f32 sum of 24 bytes"))));
  EXPECT_THAT(failures, Each(::testing::AnyOf(StartsWith("9: "), StartsWith("10: "))));
}

TEST(RankThreads, AbandonEndsTheWaitsOfOthers) {
  RankThreads group(2);
  std::jthread other([&] {
    Collectives collectives(group, 1);
    group.abandon();
  });
  EXPECT_THAT(failure_of([&] {
                Collectives collectives(group, 0);
                for (;;) sum_once(collectives);
              }),
              StartsWith("10: "));
}

}  // namespace
}  // namespace colltune
