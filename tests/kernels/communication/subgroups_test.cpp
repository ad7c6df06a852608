// SPDX-FileCopyrightText: The colltune authors
// SPDX-License-Identifier: Apache-2.0

#include "colltune/kernels/communication/subgroups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "colltune/vocabulary/error.h"
#include "composition/mesh_checks.h"
#include "support/run_ranks.h"

namespace colltune::test {
namespace {

using testing::ElementsAre;

TEST(Subgroups, HoldTheRanksThatGoTogether) {
  run_ranks(5, [](Communicator& communicator) {
    Subgroups ranks(communicator);
    const Subgroups::Group& group = ranks.of({0, 1, 0, 2, 1}, soon_enough());
    const int rank = communicator.rank();
    if (rank == 3) {
      EXPECT_THAT(group.members, ElementsAre(3));
    } else if (rank % 2 == 0 && rank < 4) {
      EXPECT_THAT(group.members, ElementsAre(0, 2));
    } else {
      EXPECT_THAT(group.members, ElementsAre(1, 4));
    }
    EXPECT_EQ(group.communicator->size(), static_cast<int>(group.members.size()));
    EXPECT_EQ(group.members[static_cast<std::size_t>(group.communicator->rank())], rank);
    EXPECT_GT(group.making, std::chrono::nanoseconds(0));
    EXPECT_EQ(group.communicator->all_reduce_max(rank, soon_enough()), group.members.back());
  });
}

TEST(Subgroups, AreMadeOnce) {
  run_ranks(4, [](Communicator& communicator) {
    Subgroups ranks(communicator);
    const Communicator* const first = ranks.of({0, 0, 1, 1}, soon_enough()).communicator.get();
    const auto making = ranks.of({0, 0, 1, 1}, soon_enough()).making;
    (void)ranks.of({0, 1, 0, 1}, soon_enough());
    // Alone: whoever split again would wait for the others.
    if (communicator.rank() == 2) {
      const Subgroups::Group& again = ranks.of({0, 0, 1, 1}, soon_enough());
      EXPECT_EQ(again.communicator.get(), first);
      EXPECT_EQ(again.making, making);
    }
    EXPECT_EQ(ranks.kept(), 2U);
    communicator.barrier(soon_enough());
  });
}

TEST(Subgroups, AllRanksAreTheCallersOwnCommunicator) {
  run_ranks(3, [](Communicator& communicator) {
    Subgroups ranks(communicator);
    EXPECT_EQ(&ranks.all(), &communicator);
    // Alone: nothing is split.
    if (communicator.rank() != 1) return;
    const Subgroups::Group& group = ranks.of({0, 0, 0}, soon_enough());
    EXPECT_EQ(group.communicator.get(), &communicator);
    EXPECT_THAT(group.members, ElementsAre(0, 1, 2));
    EXPECT_EQ(group.making, std::chrono::nanoseconds(0));
  });
}

TEST(Subgroups, AreNotKeptWithoutEndAndStayWhileSomethingRunsOnThem) {
  const Implementations catalogue = make_catalogue();
  ChosenVariants known;
  run_ranks(4, [&](Communicator& communicator) {
    const Capability capability = detect_capability(catalogue, communicator);
    Subgroups ranks(communicator);
    const Problem problem = mesh_problem(parse_mesh("2x2", "1:sum"), DataType::i32, 16);
    const Composition composition =
        choose_composition(problem, outline_of(*problem.mesh, CompositionMode::merged, 0),
                           communicator, capability, catalogue, known, 0);
    const VerifiedCall call{problem, 4, 0, DataPattern::exact, 1};
    std::vector<std::byte> send(64);
    std::vector<std::byte> receive(64);
    const auto operation = prepare_mesh_reduce(ranks, {problem, 0, {send, receive}}, composition,
                                               {}, catalogue, soon_enough());
    const std::weak_ptr<Communicator> used = ranks.of({0, 0, 1, 1}, soon_enough()).communicator;
    const std::weak_ptr<Communicator> unused = ranks.of({0, 1, 0, 1}, soon_enough()).communicator;
    for (int other = 0; other < static_cast<int>(Subgroups::most_kept); ++other) {
      EXPECT_LE(ranks.kept(), Subgroups::most_kept);
      (void)ranks.of({0, 0, 2 + other, 2 + other}, soon_enough());
      // Asked for again and again: it stays.
      (void)ranks.of({0, 0, 2, 2}, soon_enough());
    }
    EXPECT_EQ(ranks.kept(), Subgroups::most_kept);
    EXPECT_TRUE(unused.expired());
    EXPECT_FALSE(used.expired());
    // Its groups are not kept any more; it works on.
    fill_send(call, communicator.rank(), send);
    operation->start();
    operation->wait(soon_enough());
    EXPECT_FALSE(find_mismatch(call, communicator.rank(), Rounding::exact, receive));
    EXPECT_NE(ranks.of({0, 0, 1, 1}, soon_enough()).communicator, used.lock());
    EXPECT_EQ(ranks.kept(), Subgroups::most_kept);
  });
}

TEST(Subgroups, OfAnotherNumberOfRanksAreRefused) {
  run_ranks(2, [](Communicator& communicator) {
    Subgroups ranks(communicator);
    for (const auto& groups : {std::vector<int>{}, std::vector{0}, std::vector{0, 0, 1}}) {
      try {
        (void)ranks.of(groups, soon_enough());
        ADD_FAILURE() << groups.size();
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), StatusCode::invalid_argument);
        EXPECT_EQ(error.what(),
                  "groups of " + std::to_string(groups.size()) + " ranks are asked for among 2");
      }
    }
    EXPECT_EQ(ranks.kept(), 0U);
  });
}

TEST(Subgroups, WhatMakingThemTookIsSaidOnceForEach) {
  const Implementations catalogue = make_catalogue();
  ChosenVariants known;
  run_ranks(4, [&](Communicator& communicator) {
    const Capability capability = detect_capability(catalogue, communicator);
    Subgroups ranks(communicator);
    const Problem problem = mesh_problem(parse_mesh("2x2", "0:sum,1:sum"), DataType::i32, 16);
    std::vector<std::byte> send(64);
    std::vector<std::byte> receive(64);
    const auto time_of = [&](CompositionMode mode) {
      const Composition composition = choose_composition(
          problem, outline_of(*problem.mesh, mode, 1), communicator, capability, catalogue, known, 0);
      return prepare_mesh_reduce(ranks, {problem, 0, {send, receive}}, composition, {}, catalogue,
                                 soon_enough())
          ->communicators_time();
    };
    const auto both = time_of(CompositionMode::hierarchical);
    const auto inside = ranks.of({0, 0, 1, 1}, soon_enough()).making;
    const auto across = ranks.of({0, 1, 0, 1}, soon_enough()).making;
    EXPECT_EQ(ranks.kept(), 2U);
    EXPECT_EQ(both, inside + across);
    EXPECT_EQ(time_of(CompositionMode::sequential), inside + across);
    EXPECT_EQ(time_of(CompositionMode::merged), std::chrono::nanoseconds(0));
  });
}

}  // namespace
}  // namespace colltune::test
