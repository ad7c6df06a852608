// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0
// The tuner library as NCCL loads it, with a force: what a sweep does.

#include "tuner_fixture.h"

namespace colltune::test {
namespace {

using nccl::Algorithm;
using nccl::Choice;
using nccl::Function;
using nccl::Protocol;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ForceTest : public TunerTest {};

TEST_F(ForceTest, EachNcclFindsTheNewestInterfaceThatItKnows) {
  for (const int version : {4, 5, 6}) {
    const LoadedTuner one(COLLTUNE_NCCL_TUNER, version);
    EXPECT_EQ(one.interface_version(), version);
    EXPECT_EQ(one.name(), "colltune");
    EXPECT_FALSE(one.has_chunk_size());
    const TunedCommunicator communicator(one, 8, 2, capture, 0xABCD);
    ASSERT_EQ(communicator.result(), nccl::result_success);
    const colltune_nccl_communicator facts = newest();
    EXPECT_EQ(facts.interface_version, version);
    EXPECT_EQ(facts.ranks, 8U);
    EXPECT_EQ(facts.nodes, 2U);
    EXPECT_EQ(facts.identity, version == 4 ? 0U : 0xABCDU);
    EXPECT_EQ(facts.table_state, colltune_nccl_table_none);
  }
  EXPECT_EQ(control.list(nullptr, 0), 0U) << "finalized communicators are gone";
  EXPECT_EQ(control.interface_number(), COLLTUNE_NCCL_TUNER_INTERFACE);
}

TEST_F(ForceTest, EveryEntryOfEveryCollectiveIsForcedByEveryInterface) {
  for (const int version : {4, 5, 6}) {
    const LoadedTuner one(COLLTUNE_NCCL_TUNER, version);
    const TunedCommunicator communicator(one, 8, 1);
    const std::uint64_t number = newest().number;
    for (const Function function : all_functions)
      for (int entry = 0; entry < nccl::algorithm_count * nccl::protocol_count; ++entry) {
        const Choice choice{
            static_cast<Algorithm>(entry / nccl::protocol_count),
            static_cast<Protocol>(entry % nccl::protocol_count),
            nccl::takes_channels_on_trust(static_cast<Algorithm>(entry / nccl::protocol_count))
                ? 0
                : 1 + entry};
        const colltune_nccl_force force = force_of(choice);
        ASSERT_EQ(control.force(number, &force), 0);
        Costs costs = Costs::of(5);
        int channels = 0;
        EXPECT_EQ(communicator.ask({.function = function, .bytes = 4096}, costs, channels),
                  nccl::result_success);
        EXPECT_EQ(costs, only(choice, 12.5F)) << entry;
        EXPECT_EQ(channels, choice.channels);
      }
  }
}

TEST_F(ForceTest, WhatNcclMarksUnavailableIsNeverForced) {
  const TunedCommunicator communicator(tuner, 8, 1);
  const std::uint64_t number = newest().number;
  ASSERT_EQ(control.observe(number, 1), 0);
  for (int entry = 0; entry < nccl::algorithm_count * nccl::protocol_count; ++entry) {
    const Choice choice{static_cast<Algorithm>(entry / nccl::protocol_count),
                        static_cast<Protocol>(entry % nccl::protocol_count)};
    const colltune_nccl_force force = force_of(choice);
    ASSERT_EQ(control.force(number, &force), 0);
    Costs costs = Costs::of(5);
    costs.at(choice.algorithm, choice.protocol) = nccl::cost_ignored;
    const Costs before = costs;
    int channels = 0;
    communicator.ask({.bytes = 4096}, costs, channels);
    EXPECT_EQ(costs, before) << entry;
    EXPECT_EQ(channels, 0);
    colltune_nccl_call seen{};
    ASSERT_EQ(control.last_call(number, &seen), 0);
    EXPECT_EQ(seen.outcome, colltune_nccl_force_unavailable);
    EXPECT_EQ(seen.available, ((1U << 21) - 1) & ~(1U << entry));
    EXPECT_EQ(seen.count, static_cast<std::uint64_t>(entry) + 1);
  }
}

TEST_F(ForceTest, OtherCollectivesAndCommunicatorsKeepTheirChoice) {
  const TunedCommunicator other(tuner, 8, 1);
  const TunedCommunicator communicator(tuner, 8, 1);
  colltune_nccl_force force = force_of({Algorithm::tree, Protocol::ll, 4});
  force.functions = 1U << static_cast<int>(Function::all_reduce);
  ASSERT_EQ(control.force(newest().number, &force), 0);
  for (const Function function : all_functions)
    for (const TunedCommunicator* const asked : {&other, &communicator}) {
      Costs costs = Costs::of(5);
      int channels = -3;
      asked->ask({.function = function, .bytes = 1}, costs, channels);
      const bool is_forced = asked == &communicator && function == Function::all_reduce;
      EXPECT_EQ(costs == Costs::of(5), !is_forced);
      EXPECT_EQ(channels, is_forced ? 4 : -3);
    }
}

TEST_F(ForceTest, WhatNoTunerIsAskedAboutIsLeftAlone) {
  const TunedCommunicator communicator(tuner, 8, 1);
  const colltune_nccl_force force = force_of({Algorithm::ring, Protocol::ll, 4});
  ASSERT_EQ(control.force(newest().number, &force), 0);
  for (const int function : {-1, 5, 8, 1000}) {
    Costs costs = Costs::of(5);
    int channels = 9;
    communicator.ask({.function = static_cast<Function>(function)}, costs, channels);
    EXPECT_EQ(costs, Costs::of(5)) << function;
    EXPECT_EQ(channels, 9);
  }
  // Without a context, a table, rows or columns.
  int channels = 9;
  const auto ask = tuner.get_coll_info();
  float cost = 5;
  auto** const table = reinterpret_cast<float**>(&cost);  // NOLINT
  EXPECT_EQ(ask(nullptr, 4, 1, 1, table, 1, 1, 0, &channels), nccl::result_success);
  EXPECT_EQ(ask(communicator.context(), 4, 1, 1, nullptr, 7, 3, 0, &channels),
            nccl::result_success);
  EXPECT_EQ(ask(communicator.context(), 4, 1, 1, table, 0, 3, 0, &channels), nccl::result_success);
  EXPECT_EQ(ask(communicator.context(), 4, 1, 1, table, 1, 1, 0, &channels), nccl::result_success)
      << "a table too small for the entry";
  EXPECT_EQ(cost, 5);
  EXPECT_EQ(channels, 9);
  EXPECT_EQ(tuner.finalize(nullptr), nccl::result_success);
}

TEST_F(ForceTest, ATableOfAnotherShapeIsIndexedByItsOwn) {
  const TunedCommunicator communicator(tuner, 8, 1);
  const colltune_nccl_force force = force_of({Algorithm::nvls, Protocol::ll128, 4});
  ASSERT_EQ(control.force(newest().number, &force), 0);
  constexpr int algorithms = 9;
  constexpr int protocols = 4;
  std::vector<float> costs(algorithms * protocols, 5.0F);
  int channels = 0;
  tuner.get_coll_info()(communicator.context(), 4, 1, 1,
                        reinterpret_cast<float**>(costs.data()),  // NOLINT
                        algorithms, protocols, 0, &channels);
  std::vector<float> expected(algorithms * protocols, nccl::cost_avoided);
  expected[4 * protocols + 1] = 12.5F;
  EXPECT_EQ(costs, expected);
}

TEST_F(ForceTest, CollNetIsNotAskedForChannels) {
  const TunedCommunicator communicator(tuner, 8, 2);
  for (const Algorithm algorithm : {Algorithm::collnet_direct, Algorithm::collnet_chain}) {
    const Choice choice{algorithm, Protocol::simple, 64};
    const colltune_nccl_force force = force_of(choice);
    ASSERT_EQ(control.force(newest().number, &force), 0);
    Costs costs = Costs::of(5);
    int channels = 0;
    communicator.ask({.bytes = 1 << 20}, costs, channels);
    EXPECT_EQ(costs, only(choice, 12.5F));
    EXPECT_EQ(channels, 0);
  }
}

TEST_F(ForceTest, ForcesThatNcclCannotBeAskedForAreRefused) {
  const TunedCommunicator communicator(tuner, 8, 1);
  const std::uint64_t number = newest().number;
  const auto refused = [&](auto change) {
    colltune_nccl_force force = force_of({Algorithm::ring, Protocol::ll, 4});
    change(force);
    return control.force(number, &force);
  };
  EXPECT_EQ(refused([](auto& force) { force.algorithm = 7; }), 3);
  EXPECT_EQ(refused([](auto& force) { force.algorithm = -2; }), 3);
  EXPECT_EQ(refused([](auto& force) { force.algorithm = -1; }), 3) << "the protocol is left";
  EXPECT_EQ(refused([](auto& force) { force.protocol = 3; }), 3);
  EXPECT_EQ(refused([](auto& force) { force.protocol = -1; }), 3);
  EXPECT_EQ(refused([](auto& force) { force.channels = 65; }), 3);
  EXPECT_EQ(refused([](auto& force) { force.channels = -1; }), 3);
  EXPECT_EQ(refused([](auto& force) { force.time_us = -1; }), 3);
  EXPECT_EQ(refused([](auto& force) { force.functions = 1U << 5; }), 3);
  colltune_nccl_force force{};
  EXPECT_EQ(control.forced(number, &force), 9) << "none was set";
  force = force_of({Algorithm::ring, Protocol::ll, 4});
  EXPECT_EQ(control.force(number + 1, &force), 5) << "no such communicator";
  EXPECT_EQ(control.force(number, &force), 0);
  colltune_nccl_force read{};
  ASSERT_EQ(control.forced(number, &read), 0);
  EXPECT_EQ(read.id, 77U);
  EXPECT_EQ(read.channels, 4);
  EXPECT_EQ(control.force(number, nullptr), 0);
  EXPECT_EQ(control.forced(number, &read), 9);
}

TEST_F(ForceTest, WhatWasSeenIsReadBack) {
  const TunedCommunicator communicator(tuner, 8, 1);
  const std::uint64_t number = newest().number;
  colltune_nccl_call seen{};
  Costs costs = Costs::of(nccl::cost_ignored);
  int channels = 0;
  communicator.ask({.bytes = 1}, costs, channels);
  EXPECT_EQ(control.last_call(number, &seen), 9) << "nobody asked for it";
  ASSERT_EQ(control.observe(number, 1), 0);
  EXPECT_EQ(control.last_call(number, &seen), 9);
  costs.at(Algorithm::ring, Protocol::ll) = 9;
  costs.at(Algorithm::tree, Protocol::simple) = 3;
  costs.at(Algorithm::nvls, Protocol::simple) = 3;  // the first of equals is taken
  const Costs own = costs;
  const std::size_t large = (std::size_t{5} << 30) + 4;
  communicator.ask({Function::reduce_scatter, large, 6, 1}, costs, channels);
  ASSERT_EQ(control.last_call(number, &seen), 0);
  EXPECT_EQ(seen.count, 1U);
  EXPECT_EQ(seen.bytes, large);
  EXPECT_EQ(seen.function, static_cast<int>(Function::reduce_scatter));
  EXPECT_EQ(seen.pipe_operations, 6);
  EXPECT_EQ(seen.registered, 1);
  EXPECT_EQ(seen.outcome, colltune_nccl_left);
  EXPECT_EQ(seen.available, (1U << 2) | (1U << 3) | (1U << 14));
  EXPECT_EQ(seen.own_algorithm, static_cast<int>(Algorithm::tree));
  EXPECT_EQ(seen.own_protocol, static_cast<int>(Protocol::simple));
  EXPECT_EQ(seen.algorithm, seen.own_algorithm);
  EXPECT_EQ(seen.force_id, 0U);

  const colltune_nccl_force force = force_of({Algorithm::ring, Protocol::ll, 16}, 40, 5);
  ASSERT_EQ(control.force(number, &force), 0);
  costs = own;
  communicator.ask({.bytes = 64}, costs, channels);
  ASSERT_EQ(control.last_call(number, &seen), 0);
  EXPECT_EQ(seen.count, 2U);
  EXPECT_EQ(seen.outcome, colltune_nccl_forced);
  EXPECT_EQ(seen.force_id, 5U);
  EXPECT_EQ(seen.own_algorithm, static_cast<int>(Algorithm::tree));
  EXPECT_EQ(seen.algorithm, static_cast<int>(Algorithm::ring));
  EXPECT_EQ(seen.protocol, static_cast<int>(Protocol::ll));
  EXPECT_EQ(seen.channels, 16);

  costs = Costs::of(nccl::cost_ignored);
  communicator.ask({.bytes = 64}, costs, channels);
  ASSERT_EQ(control.last_call(number, &seen), 0);
  EXPECT_EQ(seen.own_algorithm, -1);
  EXPECT_EQ(seen.available, 0U);
  EXPECT_EQ(control.observe(number + 1, 1), 5);
  EXPECT_EQ(control.last_call(number + 1, &seen), 5);
}

TEST_F(ForceTest, ACommunicatorIsClaimedOnce) {
  const TunedCommunicator other(tuner, 8, 1);
  const TunedCommunicator communicator(tuner, 8, 1);
  const std::uint64_t number = newest().number;
  EXPECT_EQ(newest().is_claimed, 0);
  EXPECT_EQ(control.claim(number), 0);
  EXPECT_EQ(newest().is_claimed, 1);
  EXPECT_EQ(control.claim(number), 6) << "it is somebody's";
  EXPECT_EQ(control.claim(number + 1), 5);
  EXPECT_EQ(control.claim(number - 1), 0) << "the other one was not touched";
}

TEST_F(ForceTest, OneThreadAtATimeSearches) {
  ASSERT_EQ(control.begin_search(), 0);
  EXPECT_EQ(control.begin_search(), 9);
  control.end_search();
  EXPECT_EQ(control.begin_search(), 0);
  control.end_search();
}

TEST_F(ForceTest, RestrictionsOfTheEnvironmentAreReportedOncePerCommunicator) {
  setenv("NCCL_ALGO", "allreduce:tree", 1);
  setenv("NCCL_PROTO", "^LL128", 1);
  const TunedCommunicator communicator(tuner, 8, 1, capture);
  for (int call = 0; call < 3; ++call) {
    Costs costs = Costs::of(5);
    int channels = 0;
    communicator.ask({.bytes = 4}, costs, channels);
  }
  EXPECT_THAT(log_lines(),
              ElementsAre(AllOf(HasSubstr("INFO"), HasSubstr("NCCL_ALGO=allreduce:tree")),
                          AllOf(HasSubstr("INFO"), HasSubstr("NCCL_PROTO=^LL128"))));
}

TEST(TunerLibrary, OnceClosedItStaysWithWhatItKnows) {
  std::uint64_t number = 0;
  void* context = nullptr;
  {
    const LoadedTuner one(COLLTUNE_NCCL_TUNER, 5);
    ASSERT_EQ(one.init(&context, 1, 4, 1, nullptr), nccl::result_success);
    number = newest_of(TunerControl(one)).number;
  }
  const LoadedTuner again(COLLTUNE_NCCL_TUNER, 5);
  const TunerControl control(again);
  EXPECT_EQ(newest_of(control).number, number);
  EXPECT_EQ(again.finalize(context), nccl::result_success);
  EXPECT_EQ(again.finalize(context), nccl::result_success) << "twice does no harm";
  const TunedCommunicator next(again, 4, 1);
  EXPECT_EQ(newest_of(control).number, number + 1) << "numbers are not used again";
}

}  // namespace
}  // namespace colltune::test
